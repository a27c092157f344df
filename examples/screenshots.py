"""Pictures of the page for README and docs: every tab, light and dark.

    make screenshots
    python examples/screenshots.py --series FOLDER/seed1-step0.atlas

Runs the demo if demo.atlas is missing, serves it, and takes screenshots with Chromium. With `--series`, takes only
those of the tab Compare, of an atlas that `examples/train_series.py` made.
"""

import argparse
import io
import re
import sys
from pathlib import Path

from PIL import Image

import headatlas as ha
from headatlas.cli.run import DEMO_PROBES

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from support.browser import launched, until  # noqa: E402

WIDTH, HEIGHT = 1440, 900
PLACES = {
    "overview": "#/overview",
    "maps": "#/maps",
    "clusters": "#/clusters",
    "cluster": "#/clusters/10?cluster=10",
    "head": "#/head/0.2?head=0.2",
    "examples": "#/examples",
    "example": "#/examples/0?example=0&heads=0.2,3.5",
    "data": "#/data",
    "tsne": "#/tsne/0?example=0&head=1.8",
    "probe": "#/probe/detect",
    "qk": "#/qk?q=the",
    "qk-head": "#/qk/2.9?head=2.9&view=single&point=40&color=frequency",
    "qk-sentence": "#/qk/2.9?view=sentence&head=2.9&example=133&as=arcs&token=52,2",
    "qk-average": "#/qk/1.7?view=average&head=1.7",
}
SERIES_PLACES = {"compare": "#/compare/series?step=10&head=1.0"}
IMAGE_PLACES = {"qk-image": "#/qk/3.3?view=image&head=3.3&example=4&flow=strongest"}


def shoot(page, url: str, place: str) -> bytes:
    """A screenshot of the page once it is complete."""
    page.goto("about:blank")
    page.goto(f"{url}{place}")
    page.wait_for_load_state("networkidle")
    until(page, "document.querySelectorAll('.skeleton').length === 0", 60)
    if place.startswith(("#/maps", "#/qk")) and not re.search(
        "view=(sentence|image|average)", place
    ):  # these draw points
        until(page, "performance.getEntriesByName('points:complete').length", 60)
    page.wait_for_timeout(500)
    return page.screenshot()


def save(picture: bytes, target: Path) -> None:
    """Compress a picture without losing colors."""
    Image.open(io.BytesIO(picture)).convert("RGB").save(target, optimize=True)
    print(f"{target.relative_to(ROOT)}  {target.stat().st_size / 1000:.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=Path, help="an atlas with the comparison of a series")
    options = parser.parse_args()
    if options.series:
        shoot_all(ha.open(options.series), SERIES_PLACES)
        return
    demo = {"projection": "tsne", "null": True, "probes": DEMO_PROBES}
    atlas = ha.pipeline.run("packaged", "sample", ROOT / "demo.atlas", **demo)
    images = ha.collect.maps("packaged:vit", ha.data.load("sample:images", limit=100), ROOT / "demo-images.atlas")
    for each, places in ((atlas, PLACES), (images, IMAGE_PLACES)):
        ha.qk.embed(each)
        shoot_all(each, places)


def shoot_all(atlas: ha.Atlas, places: dict[str, str]) -> None:
    """Screenshots of some places of the page, light and dark."""
    served = ha.web.open(atlas)
    try:
        with launched() as browser:
            for theme in ("light", "dark"):
                page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=theme)
                for name, place in places.items():
                    save(shoot(page, served.url, place), ROOT / "docs" / "images" / f"page-{name}-{theme}.png")
                page.close()
    finally:
        served.close()


if __name__ == "__main__":
    main()
