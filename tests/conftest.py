"""What many tests share: tokenizers trained on the sample corpus, small networks of every family, and real models."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from transformers import AutoModel, BertTokenizer, PreTrainedTokenizerFast

from headatlas import data, models
from headatlas.data import Example
from headatlas.models import Encoded, Model
from headatlas.models.batch import Batch, image_batch, text_batch
from headatlas.models.encode import encode
from support.compared import compared  # noqa: F401 - fixtures
from support.families import FAMILIES, Family
from support.nulls import null_atlas, null_copy, null_images, packaged_model  # noqa: F401 - fixtures
from support.pages import blind, browser, demo, exported, images, live, pairs, place  # noqa: F401 - fixtures
from support.served import passes  # noqa: F401 - fixtures
from support.trained_tokenizers import BYTES, END, SPECIALS, WORDS

torch.set_num_threads(1)

ROOT = Path(__file__).parents[1]

TEXTS = [
    Example("sentence", text="The tide turns, and the children walk out."),
    Example("question", text="Who rang the bell?"),
    Example("long", text="The keeper of the light wrote down every ship that passed before the storm."),
    Example("short", text="Rain."),
    Example("pair", text="Who rang?", pair="A man rang the bell of the church."),
]


@cache
def word_tokenizer() -> PreTrainedTokenizerFast:
    """Pieces of words between [CLS] and [SEP], as BERT has them."""
    return PreTrainedTokenizerFast(
        tokenizer_file=str(WORDS),
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{name}_token": token for name, token in SPECIALS.items()},
    )


@cache
def byte_tokenizer() -> PreTrainedTokenizerFast:
    """Pieces of bytes without special tokens around them, as GPT-2 has them."""
    return PreTrainedTokenizerFast(
        tokenizer_file=str(BYTES), eos_token=END, model_input_names=["input_ids", "attention_mask"]
    )


@dataclass(frozen=True)
class Small:
    """A loaded small network beside an untouched copy of it that attends eagerly."""

    family: Family
    model: Model
    eager: Any
    pictures: tuple[str, ...]

    @property
    def examples(self) -> list[Encoded]:
        return [encode(self.model, example)[0] for example in TEXTS]

    @property
    def batch(self) -> Batch:
        """Examples of different lengths, padded."""
        return image_batch(self.model, self.pictures) if self.model.grid else text_batch(self.model, self.examples)

    @property
    def batches_of_one(self) -> list[Batch]:
        if self.model.grid:
            return [image_batch(self.model, [picture]) for picture in self.pictures]
        return [text_batch(self.model, [example]) for example in self.examples]


FOLDER = Path(__file__).parent
SLOW = {  # files that `make quick` leaves out
    "stages/test_kills.py",
    "stages/test_resume.py",
    "stages/test_encoder.py",
    "stages/test_evaluate.py",
    "stages/test_compare.py",
    "stages/test_compare_heads.py",
    "stages/test_features_vision.py",
    "stages/test_cluster_scale.py",
    "stages/test_collect_families.py",
    "stages/test_gmm.py",
    "stages/test_null.py",
    "stages/test_null_runs.py",
    "stages/test_tsne.py",
    "stages/test_tsne_kernel.py",
    "stages/test_tsne_stored.py",
    "storm/test_storm.py",
    "unit/test_build.py",
    "unit/test_cli_stages.py",
    "unit/test_frontend.py",
    "unit/test_models_exact.py",
    "unit/test_models_load.py",
    "web/test_web_security.py",
    "web/test_web_tsne.py",
    "web/test_web_tsne_points.py",
    "web/test_web_export.py",
    "web/test_web_live.py",
    "web/test_web_layers.py",
    "unit/test_cli_options.py",
}


def _turn(name: str, slow: bool) -> int:
    """When tests have their turn: long ones first, so that no worker is left alone with them at the end.

    One file that does not need the demo comes before those of the browser: another worker makes the demo meanwhile.
    """
    folder = name.partition("/")[0]
    if name == "stages/test_kills.py":
        return 0
    if folder == "browser":
        return 1
    return 2 if slow else 3 if folder in ("stages", "storm", "web") else 4


def pytest_configure(config: pytest.Config) -> None:
    """Let workers take groups in the order of collection, not those with most tests first."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests and those of the page. Tests of one file share fixtures, so they run in one process."""
    turns = {}
    for item in items:
        fixtures, name = getattr(item, "fixturenames", ()), item.path.relative_to(FOLDER).as_posix()
        in_docs = "examples_in_the_docs" in item.name
        if "browser" in fixtures or "demo" in fixtures:
            item.add_marker(pytest.mark.browser)
        item.add_marker(pytest.mark.xdist_group(item.name if in_docs else name))
        if name in SLOW or in_docs:
            item.add_marker(pytest.mark.slow)
        turns[item] = _turn(name, name in SLOW or in_docs)
    items.sort(key=turns.__getitem__)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Three pictures of noise that are not square."""
    folder, rng = tmp_path_factory.mktemp("pictures"), torch.Generator().manual_seed(1)
    for number in range(3):
        noise = torch.randint(0, 256, (40, 50, 3), generator=rng, dtype=torch.uint8)
        Image.fromarray(noise.numpy()).save(folder / f"{number}.png")
    return tuple(str(folder / f"{number}.png") for number in range(3))


@pytest.fixture(scope="session")
def load_small(pictures: tuple[str, ...]) -> Callable[[Family], Small]:
    """Make a network of a family, load it, and keep an untouched copy."""

    def make(family: Family) -> Small:
        network = family.network()
        eager = copy.deepcopy(network)
        eager.set_attn_implementation("eager")
        modality = "image" if family.reads == "images" else "text"
        if family.config in ("CLIPConfig", "SiglipConfig"):
            eager = eager.text_model if modality == "text" else eager.vision_model
        tokenizer = {"words": word_tokenizer, "bytes": byte_tokenizer, "images": lambda: None}[family.reads]()
        return Small(family, models.load(network, modality=modality, tokenizer=tokenizer), eager, pictures)

    return make


@pytest.fixture(scope="session")
def small(load_small: Callable[[Family], Small]) -> Callable[[str], Small]:
    """A family by its name, made once."""
    return cache(lambda name: load_small(FAMILIES[name]))


@pytest.fixture(scope="session")
def real() -> Callable[[str], Path]:
    """The folder of a real model: smollm2 or antiberty."""
    return cache(_real)


def _real(name: str) -> Path:
    configured, cached = os.environ.get("HEADATLAS_MODELS"), Path.home() / ".cache" / "headatlas-test-models"
    for folder in [Path(configured)] if configured else [ROOT.parent / ".models", cached]:
        if (folder / name / "config.json").exists():
            return folder / name
    script = ROOT.parent / "shared" / "tools" / "get-models"
    if configured or not script.exists():
        pytest.skip(f"no real model {name}: set HEADATLAS_MODELS to a folder that holds it")
    process = subprocess.run([sys.executable, script, cached, name], capture_output=True, text=True)
    if process.returncode:
        pytest.skip(f"the real model {name} could not be made: {process.stderr.strip()[-300:]}")
    return cached / name


ANTIBODY = "E V Q L V E S G G G L V Q P G G S L R L S C A A S G F T F S S Y A M S W V R Q A P G K G L E W V S"


@pytest.fixture(scope="session")
def load_real(real: Callable[[str], Path]) -> Callable[[str], tuple[Model, Any, list[Example]]]:
    """A real model, an untouched copy that attends eagerly, and texts for it."""

    def make(name: str) -> tuple[Model, Any, list[Example]]:
        source = "packaged" if name == "minilm" else real(name)
        tokenizer = BertTokenizer.from_pretrained(source, do_lower_case=False) if name == "antiberty" else None
        model = models.load(source, tokenizer=tokenizer)
        eager = AutoModel.from_pretrained(model.source, attn_implementation="eager", dtype=torch.float32)
        texts = [*data.load("sample", limit=1), *TEXTS]
        if name == "antiberty":
            texts = [Example(str(length), text=ANTIBODY[:length]) for length in (99, 61, 21, 1)]
        return model, eager, texts

    return make
