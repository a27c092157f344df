"""The page in a real browser: atlases to show, servers for them, and a check that no error occurs."""

from __future__ import annotations

import functools
import http.server
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image, ImageDraw
from transformers import T5Config, T5Model, ViTConfig, ViTImageProcessorPil, ViTModel

import headatlas as ha
from headatlas.web.export import export
from support.browser import FLAGS, chromium, launched
from support.families import VOCABULARY
from support.shared import shared_atlas, shared_folder

SHIFTS = """window.shifts_ = 0; new PerformanceObserver(list => list.getEntries().forEach(shift => {
  if (!shift.hadRecentInput) window.shifts_ += shift.value; })).observe({ type: "layout-shift", buffered: true });"""
NASTY = [
    "<img src=x onerror=alert(1)><script>alert(2)</script> & <b>bold</b>",
    "שלום עולם, this goes مرحبا both ways",
    "🙂🙃 emoji 👩‍👩‍👧 and a very long word " + "a" * 10_000,
    "\"; drop table heads; -- ' {{7*7}} ${7*7}",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The system's Chromium."""
    if chromium() is None:
        assert not os.environ.get("CI"), "tests of the page need Chromium"
        pytest.skip("NO BROWSER: the page is not tested. Run `make browser`, or name one in HEADATLAS_BROWSER")
    with launched() as running:
        yield running


@pytest.fixture(scope="session")
def blind(browser: Any) -> Iterator[Any]:
    """A browser that cannot draw with WebGL."""
    flags = [*FLAGS, "--disable-gpu", "--disable-3d-apis"]
    running = browser.browser_type.launch(executable_path=chromium(), args=flags)
    yield running
    running.close()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> ha.Atlas:
    """What `headatlas demo` makes, without null models; HEADATLAS_DEMO names an existing one."""
    if existing := os.environ.get("HEADATLAS_DEMO"):
        return ha.open(existing)
    return shared_atlas(
        tmp_path_factory,
        "demo",
        lambda home: ha.pipeline.run("packaged", "sample", home / "demo.atlas", projection="tsne"),
    )


def draw_pictures(folder: Path, number: int) -> Path:
    """Discs and bars of several colors on several gray backgrounds, one folder per shape."""
    for n in range(number):
        image = Image.new("RGB", (96, 72), (200 - 9 * (n % 8), 205, 210))
        pen = ImageDraw.Draw(image)
        kind = "discs" if n % 2 else "bars"
        if n % 2:
            pen.ellipse((10 + 3 * n % 40, 12, 42 + 3 * n % 40, 44), fill=(180, 60 + 9 * n % 90, 50))
        else:
            pen.rectangle((8, 14 + 2 * n % 30, 88, 26 + 2 * n % 30), fill=(40, 80, 120 + 7 * n % 90))
        (folder / kind).mkdir(parents=True, exist_ok=True)
        image.save(folder / kind / f"{n:02}.png")
    return folder


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> ha.Atlas:
    """A small untrained vision transformer on pictures of discs and bars, every stage."""
    return shared_atlas(tmp_path_factory, "images", _make_images)


def _make_images(home: Path) -> None:
    size = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
    with torch.random.fork_rng():
        torch.manual_seed(3)
        ViTModel(ViTConfig(**size, image_size=48, patch_size=8, initializer_range=0.3)).save_pretrained(home / "vit")
    ViTImageProcessorPil(size={"height": 48, "width": 48}).save_pretrained(home / "vit")
    pictures = draw_pictures(home / "pictures", 24)
    finish(ha.collect.maps(str(home / "vit"), f"images:{pictures}", home / "images.atlas"))


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> ha.Atlas:
    """A small untrained encoder-decoder on texts that would break a page that does not escape them."""
    return shared_atlas(tmp_path_factory, "pairs", _make_pairs)


def _make_pairs(home: Path) -> None:
    size = {"d_model": 24, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 3, "vocab_size": VOCABULARY}
    with torch.random.fork_rng():
        torch.manual_seed(4)
        T5Model(T5Config(**size, decoder_start_token_id=0)).save_pretrained(home / "t5")
    from conftest import word_tokenizer  # which imports these fixtures

    word_tokenizer().save_pretrained(home / "t5")
    texts = [*NASTY, *(example.text for example in ha.data.load("sample", limit=8))]
    finish(ha.collect.maps(str(home / "t5"), ha.data.load(texts), home / "pairs.atlas", max_tokens=48))


def finish(atlas: ha.Atlas) -> None:
    """Run the stages after collect, with fast settings."""
    ha.features.image(atlas, "pooled")
    ha.cluster.kmeans(atlas, k=4)
    ha.correlate.clusters(atlas)
    ha.project.pca(atlas)


@contextmanager
def file_server(folder: Path) -> Iterator[str]:
    """A plain local file server."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def serving(atlas: ha.Atlas, **options: Any) -> Iterator[str]:
    """The URL of an atlas, served."""
    shown = ha.web.open(atlas, **options)
    try:
        yield shown.url
    finally:
        shown.close()


@contextmanager
def as_files(atlas: ha.Atlas, folder: Path) -> Iterator[str]:
    """The URL of an atlas, exported into a subfolder of a plain file server."""
    export(atlas, folder / "site", full=0)
    with file_server(folder) as url:
        yield f"{url}site/"


@contextmanager
def looking(
    browser: Any, *, theme: str = "light", size: tuple[int, int] = (1280, 800), **options: Any
) -> Iterator[Any]:
    """A page on which any error of the console, any exception and any request that fails makes the test fail."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=theme, accept_downloads=True, **options
    )
    context.add_init_script(SHIFTS)  # counts layout shifts
    page, problems = context.new_page(), []
    page.set_default_timeout(20_000)
    page.on("console", lambda message: noise(message) or problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(f"exception: {error}"))
    page.on(
        "requestfailed",
        lambda request: "ABORTED" in (request.failure or "") or problems.append(f"{request.url}: {request.failure}"),
    )
    page.on("response", lambda answer: answer.status < 400 or problems.append(f"{answer.status} {answer.url}"))
    page.allowed = problems  # a test that causes an error on purpose removes it
    try:
        yield page
        assert not problems, problems
    finally:
        context.close()


def noise(message: Any) -> bool:
    """Whether to ignore a message: from the software renderer, or neither an error nor a warning."""
    return (
        message.type not in ("error", "warning") or "GPU stall" in message.text or "swiftshader" in message.text.lower()
    )


@pytest.fixture(scope="session")
def live(demo: ha.Atlas) -> Iterator[str]:
    """The demo, served."""
    with serving(demo) as url:
        yield url


@pytest.fixture(scope="session")
def exported(demo: ha.Atlas, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The demo as files, in a subfolder of a plain file server."""
    folder = shared_folder(tmp_path_factory, "export", lambda folder: export(demo, folder / "site", full=3))
    with file_server(folder) as url:
        yield f"{url}site/"


@pytest.fixture(params=["live light", "exported dark"])
def place(request: pytest.FixtureRequest) -> tuple[str, str, bool]:
    """The URL of the page, its theme, and whether it is live: both kinds and both themes, in two walks."""
    kind, theme = request.param.split()
    return request.getfixturevalue("live" if kind == "live" else "exported"), theme, kind == "live"
