"""The tab Queries & keys under load: 12 × 12 heads with 10,000 points each, in a browser that draws in software.

    python benchmarks/qk_page.py [--folder DIR] [--layers 12] [--heads 12] [--tokens 5000] [--json]

Seconds until the first picture and until the points of all cells are drawn (from the start of the navigation, server
and transfer included), the frames while the reader drags the matrix, and the seconds until a search lights up. It is
an untrained BERT on the corpus of the demo, drawn by PCA; scales and trust are not computed, since the page is neither
faster nor slower by what they are. Medians of `--repeats` fresh pages.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import headatlas as ha
from headatlas.stages.qk import embedding
from headatlas.stages.qk.correlation import Choice
from support.browser import launched, until

MARKED = "name => performance.getEntriesByName(name).at(-1)?.startTime ?? null"
FRAMES = """() => { window.frames_ = []; let last = performance.now();
  const step = now => { window.frames_.push(now - last); last = now; window.going_ = requestAnimationFrame(step); };
  window.going_ = requestAnimationFrame(step); }"""


def build(folder: Path, layers: int, heads: int, tokens: int) -> ha.Atlas:
    """An atlas with plots of an untrained model."""
    import torch
    from transformers import BertConfig, BertModel

    path = folder / f"{layers}x{heads}.atlas"
    if path.exists():
        return ha.open(path)
    size = {"hidden_size": 32 * heads, "num_hidden_layers": layers, "num_attention_heads": heads}
    torch.manual_seed(0)
    packaged = ha.models.load("packaged")
    vocabulary = len(packaged.tokenizer)
    BertModel(BertConfig(**size, intermediate_size=64, vocab_size=vocabulary)).save_pretrained(folder / "bert")
    packaged.tokenizer.save_pretrained(folder / "bert")
    atlas = ha.collect.maps(str(folder / "bert"), "sample", path, resolution=8)
    embedding._preserved = lambda vectors, position: tuple(np.full((3, len(vectors)), 0.5, np.float32))
    embedding.choose_scale = lambda query, key, seed: Choice(1.0, *np.full(4, np.nan))
    ha.qk.embed(atlas, "pca", tokens=tokens)
    return atlas


def visit(browser, url: str) -> dict[str, float]:
    """One fresh page."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_default_timeout(120_000)
    page.goto(f"{url}#/qk")
    measured = {}
    for name in ("first", "complete"):
        measured[name] = until(page, f"({MARKED})('points:{name}')", 120) / 1000
    canvas = page.get_by_test_id("matrix").bounding_box()
    x, y = canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(FRAMES)
    for step in range(40):
        page.mouse.move(x + 5 * step, y + 2 * step)
        page.wait_for_timeout(16)
    page.mouse.up()
    frames = page.evaluate("() => { cancelAnimationFrame(window.going_); return window.frames_.slice(1); }")
    measured |= {"frame_ms": statistics.median(frames), "worst_frame_ms": max(frames)}
    start = time.perf_counter()
    page.get_by_placeholder("the, 2016, ##ing").fill("the")
    until(page, "document.querySelector('h1').textContent.includes('“the” occurs')")
    measured["search"] = time.perf_counter() - start
    page.close()
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="keep the atlas here")
    for name, value in (("layers", 12), ("heads", 12), ("tokens", 5000), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        served = ha.web.open(build(folder, options.layers, options.heads, options.tokens))
        try:
            with launched() as browser:
                visits = [visit(browser, served.url) for _ in range(options.repeats)]
        finally:
            served.close()
    medians = {name: round(statistics.median(each[name] for each in visits), 3) for name in visits[0]}
    print(json.dumps(medians) if options.json else "\n".join(f"{name:16} {value}" for name, value in medians.items()))


if __name__ == "__main__":
    main()
