"""The page under load: a million maps, and a model of 48 layers × 32 heads, in a browser that draws in software.

    python benchmarks/web.py [--folder DIR] [--json]

For each atlas: the size of the first answers, the seconds until the first picture and until all points are drawn (from
the start of the navigation, server and network included), the frames while the reader drags the picture, the seconds a
lasso takes, and the memory of the page. Atlases are planted (tests/support/planted.py), then clustered, correlated and
projected by the stages themselves. Medians of `--repeats` fresh pages.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import headatlas as ha
from headatlas.web.api.endpoints import ENDPOINTS
from support.browser import launched, until
from support.planted import TYPICAL, drawn, planted

SHAPES = {"a million maps": (6945, 12, 12), "48 layers × 32 heads": (64, 48, 32)}
MARKED = "name => performance.getEntriesByName(name).at(-1)?.startTime ?? null"
FRAMES = """() => { window.frames_ = []; let last = performance.now();
  const step = now => { window.frames_.push(now - last); last = now; window.going_ = requestAnimationFrame(step); };
  window.going_ = requestAnimationFrame(step); }"""


def build(folder: Path, name: str) -> ha.Atlas:
    examples, layers, heads = SHAPES[name]
    path = folder / f"{layers}x{heads}.atlas"
    if path.exists():
        return ha.open(path)
    preference = np.random.default_rng(0).dirichlet(np.full(len(TYPICAL), 0.3), (layers, heads))
    atlas = planted(path, drawn(preference, examples), block=128)
    ha.cluster.kmeans(atlas, k=len(TYPICAL))
    ha.correlate.clusters(atlas)
    ha.project.pca(atlas)
    return atlas


def memory(browser) -> dict[str, float]:
    """Resident megabytes of the page's process and of the GPU process."""
    measured = {"page": 0.0, "drawing": 0.0}
    session = browser.new_browser_cdp_session()
    for process in session.send("SystemInfo.getProcessInfo")["processInfo"]:
        status = Path(f"/proc/{process['id']}/status").read_text()
        size = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024
        if process["type"] == "renderer":
            measured["page"] = max(measured["page"], size)
        elif process["type"] == "GPU":
            measured["drawing"] = size
    session.detach()
    return measured


def visit(browser, url: str) -> dict[str, float]:
    """One fresh page: the overview, then the maps."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{url}/#/overview")
    until(page, "performance.getEntriesByName('overview:first').length", 60)
    measured = {"overview": page.evaluate(MARKED, "overview:first") / 1000}
    page.close()
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{url}/#/maps")
    until(page, "performance.getEntriesByName('points:first').length", 60)
    measured["first picture"] = page.evaluate(MARKED, "points:first") / 1000
    until(page, "performance.getEntriesByName('points:complete').length", 120)
    measured["all points"] = page.evaluate(MARKED, "points:complete") / 1000
    box = page.locator("canvas").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.evaluate(FRAMES)
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(60):
        page.mouse.move(x + 4 * step, y + 2 * step)
        page.wait_for_timeout(16)
    page.mouse.up()
    frames = page.evaluate("() => { cancelAnimationFrame(window.going_); return window.frames_.slice(1); }")
    measured |= {"frame, median ms": statistics.median(frames), "frame, worst ms": max(frames)}
    measured["lasso"] = lasso(page, x, y)
    measured |= {f"memory {name}, MB": size for name, size in memory(browser).items()}
    page.close()
    return measured


def lasso(page, x: float, y: float) -> float:
    """Seconds from releasing the pointer to the sentence that describes the selection."""
    page.keyboard.down("Shift")
    page.mouse.move(x - 330, y - 300)
    page.mouse.down()
    for dx, dy in ((330, -300), (330, 300), (-330, 300), (-330, -290)):
        page.mouse.move(x + dx, y + dy, steps=5)
    began = time.monotonic()
    page.mouse.up()
    page.keyboard.up("Shift")
    until(page, "document.querySelector('h1').textContent.includes('selected:')", 60)
    return time.monotonic() - began


def answers(url: str) -> dict[str, float]:
    """Seconds and megabytes of the first responses, requested for the first time."""
    measured = {}
    first = [ENDPOINTS.atlas.path(), ENDPOINTS.positions.path(projection="pca")]
    for path in (*first, ENDPOINTS.column.path(column="cluster.kmeans")):
        began = time.monotonic()
        with urllib.request.urlopen(f"{url}/{path}") as answer:
            size = len(answer.read())
        measured[path] = {"seconds": round(time.monotonic() - began, 2), "mb": round(size / 1e6, 2)}
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the atlases are kept; a temporary folder if not given")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows = {}
        for name in SHAPES:
            served = ha.web.open(build(folder, name))
            url = served.url.rstrip("/")
            try:
                row = {"answers": answers(url)}
                with launched() as browser:
                    visits = [visit(browser, url) for _ in range(options.repeats)]
                row |= {key: round(statistics.median(visit[key] for visit in visits), 2) for key in visits[0]}
                rows[name] = row
            finally:
                served.close()
    if options.json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    keys = [key for key in next(iter(rows.values())) if key != "answers"]
    print(f"{'':24}" + "".join(f"{name:>24}" for name in rows))
    for key in keys:
        print(f"{key:24}" + "".join(f"{row[key]:>24,.2f}" for row in rows.values()))
    for path in next(iter(rows.values()))["answers"]:
        cells = (row["answers"][path] for row in rows.values())
        columns = (f"{cell['seconds']:.2f} s, {cell['mb']:.1f} MB" for cell in cells)
        print(f"{path:32}" + "".join(f"{text:>20}" for text in columns))


if __name__ == "__main__":
    main()
