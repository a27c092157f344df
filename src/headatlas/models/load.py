"""Load a model by name: a hub name, a local folder, or a packaged model. Safetensors only, and no remote code."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from headatlas.errors import ModelError, OptionError
from headatlas.model_names import WAYS, check_folder, pickled
from headatlas.models import packaged, projections
from headatlas.models.capture import IMPLEMENTATION
from headatlas.models.model import Grid, Modality, Model
from headatlas.models.patches import crop_of
from headatlas.models.survey import survey

# the learned positions of these families start after the padding index
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
    "lilt",
    "luke",
    "markuplm",
    "roberta-prelayernorm",
    "xmod",
}


ModelLike = Model | str | Path | torch.nn.Module  # what public functions accept, and `load` resolves


def load(name: ModelLike, *, modality: Modality | None = None, tokenizer: Any = None) -> Model:
    """Load a model, and run it once to find its attention layers.

    >>> from headatlas import models
    >>> model = models.load("packaged")
    >>> print(model)
    all-MiniLM-L6-v2 (bert): 6 encoder layers × 12 heads, 32 wide

    Parameters
    ----------
    name : str, path, torch.nn.Module or Model
        A hub name, a local folder, `packaged`, `packaged:vit`, or a transformers network in memory. Such a network is
        not copied: its attention goes through headatlas from then on, with the same results. A loaded model is
        returned.
    modality : {"text", "image"}, optional
        The tower of a model that has both, such as CLIP; by default `text`.
    tokenizer : optional
        The tokenizer of a network in memory, or one to use in place of the model's.

    Returns
    -------
    Model
    """
    if isinstance(name, Model):
        return _loaded(name, modality, tokenizer)
    network: Any
    notes: tuple[str, ...] = ()
    source = revision = None
    if isinstance(name, torch.nn.Module):
        network, label = name, type(name).__name__
        _check_memory(network, label)
    else:
        source, label = resolve(str(name))
        with quiet():
            network, notes = read_network(source, label)
        revision = _revision(source)
    network = network.eval()
    redirect(network)
    tower, modality = _tower(network, modality)
    _check_switched(tower)
    processor = image_size = None
    if modality == "image":
        processor, image_size, guessed = image_processor(source, tower.config)
        notes += guessed
    else:
        tokenizer = read_tokenizer(source, label, tokenizer)
        notes += _unknown_words(tokenizer)
    with quiet():
        result = survey(tower, modality, image_size)
    return Model(
        name=label,
        network=tower,
        modality=modality,
        family=tower.config.model_type,
        route=result.route,
        layers=result.layers,
        layer_of_call=result.layer_of_call,
        max_tokens=longest_text(tower.config, tokenizer),
        tokenizer=tokenizer,
        processor=processor,
        grid=_grid(tower.config, image_size, result.tokens, processor) if image_size else None,
        source=source,
        revision=revision,
        padding=result.padding,
        notes=notes + result.notes,
        _projections=projections.find(tower, result.layers) if result.route == "outputs" else None,
    )


def _loaded(model: Model, modality: Modality | None, tokenizer: Any) -> Model:
    if tokenizer is not None or modality not in (None, model.modality):
        raise OptionError(f"{model.name} is loaded already, with modality {model.modality}: give its name instead")
    return model


def resolve(name: str, weights: bool = True) -> tuple[str, str]:
    """What transformers should load, and the name of the model; its files are checked if its weights are read."""
    if name in packaged.NAMES:
        return str(packaged.folder(name)), packaged.NAMES[name]
    folder = Path(name).expanduser()
    if not folder.is_dir():
        return name, name
    if weights:
        check_folder(name, folder)
    return str(folder.resolve()), folder.resolve().name


def read_network(source: str, label: str) -> tuple[Any, tuple[str, ...]]:
    """The network, and notes about problems in loading it."""
    from transformers import AutoModel

    network, report = pretrained(AutoModel, source, label, attn_implementation="eager")
    if {name for name, _ in network.named_parameters()} <= {*report["missing_keys"]}:
        network, report = _by_architecture(source, label, network) or (network, report)
    missing = sorted(name for name in report["missing_keys"] if "pooler" not in name)
    notes = (f"{len(missing)} weights are missing from its files and were set at random: {', '.join(missing[:3])} …",)
    return network, notes if missing else ()


def _by_architecture(source: str, label: str, network: Any) -> tuple[Any, Any] | None:
    """The base model of the class that wrote the files: LlamaForQuestionAnswering has its own names of weights."""
    import transformers

    names = getattr(network.config, "architectures", None) or [""]
    written_by = getattr(transformers, names[0], None)
    if written_by is None or isinstance(network, written_by):
        return None
    whole, report = pretrained(written_by, source, label, attn_implementation="eager")
    return whole.base_model, report


def pretrained(loader: Any, source: str, label: str, seed: int = 0, **options: Any) -> tuple[Any, dict[str, Any]]:
    """A network by one of the automatic classes of transformers, and its report on missing weights.

    Weights missing from the files, such as a pooler or a new head, are drawn with `seed`: the same in every process.
    """
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network, report = loader.from_pretrained(
                source,
                use_safetensors=True,
                trust_remote_code=False,
                dtype=torch.float32,
                output_loading_info=True,
                **options,
            )
    except Exception as error:  # transformers raises OSError, ValueError, RuntimeError, SafetensorError …
        raise _unloadable(source, label, error) from error
    return network, report


def _unloadable(source: str, label: str, error: Exception) -> ModelError:
    """What an error of transformers means for the user."""
    text = " ".join(str(error).split())
    if "trust_remote_code" in text or "custom code" in text:
        return ModelError(f"{label} needs custom code from the hub, which headatlas never runs")
    if "safetensors" in text and "not" in text:
        return pickled(label, "a pickle (pytorch_model.bin)")
    if Path(source).is_dir():
        return ModelError(f"{label} cannot be loaded from its files. transformers reports: {text[:200]}")
    return ModelError(f"cannot load the model {label!r}; {WAYS}. transformers reports: {text[:200]}")


def _revision(source: str) -> str | None:
    """The commit of a hub model: the name of the cache folder it was read from."""
    from huggingface_hub import try_to_load_from_cache

    config = None if Path(source).is_dir() else try_to_load_from_cache(source, "config.json")
    return Path(config).parent.name if isinstance(config, str) else None


def _check_memory(network: torch.nn.Module, label: str) -> None:
    """Check that a network in memory has the precision and device that `load` uses."""
    for weight in network.parameters():
        if weight.is_floating_point() and (weight.dtype, weight.device.type) != (torch.float32, "cpu"):
            what = f"{weight.dtype} on {weight.device}".removeprefix("torch.")
            raise ModelError(
                f"{label} is {what}, but maps are computed in float32 on the CPU. Pass it as .float().cpu()"
            )


def redirect(network: torch.nn.Module) -> None:
    """Send attention through the registered function; families outside the registry stay as they are."""
    switch: Any = getattr(network, "set_attn_implementation", None)
    if switch is None:
        raise ModelError(f"{type(network).__name__} is not a transformers model")
    with quiet():
        try:
            switch(IMPLEMENTATION)
        except (ValueError, ImportError, AttributeError):
            switch("eager")


def _check_switched(tower: Any) -> None:
    """Check for eager attention, which alone gives maps, in a family outside the registry."""
    implementation = tower.config._attn_implementation
    if implementation not in (IMPLEMENTATION, "eager"):
        family = tower.config.model_type
        raise ModelError(
            f"{family} was created with {implementation} attention. Create it with attn_implementation='eager'"
        )


def _tower(network: Any, modality: Modality | None) -> tuple[Any, Modality]:
    towers: dict[Modality, Any] = {
        "text": getattr(network, "text_model", None),
        "image": getattr(network, "vision_model", None),
    }
    if all(tower is not None for tower in towers.values()):
        chosen = modality or "text"
        return towers[chosen], chosen
    reads: Modality = "image" if network.main_input_name == "pixel_values" else "text"
    if modality is not None and modality != reads:
        kinds = {"text": "text", "image": "images"}
        raise ModelError(f"{network.config.model_type} reads {kinds[reads]}, but the data are {kinds[modality]}")
    if reads == "text" and network.main_input_name != "input_ids":
        raise ModelError(
            f"{network.config.model_type} reads {network.main_input_name}; only text and images are supported"
        )
    return network, reads


def read_tokenizer(source: str | None, label: str, tokenizer: Any) -> Any:
    """The given tokenizer, or that of the model."""
    from transformers import AutoTokenizer

    if tokenizer is None and source is None:
        raise ModelError(f"{label} is a network in memory and needs its tokenizer: load(network, tokenizer=…)")
    try:
        with quiet():
            tokenizer = tokenizer or AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    except (OSError, ValueError, KeyError, TypeError, ImportError) as error:
        raise ModelError(
            f"{label} has no tokenizer that can be loaded: {' '.join(str(error).split())[:200]}"
        ) from error
    if len(set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens)) < 2:
        # without files, transformers makes a tokenizer that knows no words
        raise ModelError(f"{label} has no tokenizer: tokenizer.json or a vocabulary is missing from its folder")
    if not tokenizer.is_fast:
        raise ModelError(
            f"{label} has only a slow tokenizer; save a tokenizer.json in its folder (pip install tokenizers)"
        )
    return tokenizer


def _unknown_words(tokenizer: Any) -> tuple[str, ...]:
    """A note if the tokenizer cannot read its vocabulary: usually it lowercases text, but the vocabulary is cased."""
    words = sorted(word for word in tokenizer.get_vocab() if word.isalpha())[:50]
    unknown = [
        word for word in words if tokenizer(word, add_special_tokens=False).input_ids == [tokenizer.unk_token_id]
    ]
    if len(unknown) <= len(words) / 2:
        return ()
    what = f"its tokenizer treats {len(unknown)} of {len(words)} words of its vocabulary as unknown"
    return (f'{what}. If case matters, put {{"do_lower_case": false}} into its tokenizer_config.json',)


def longest_text(config: Any, tokenizer: Any) -> int:
    """The longest text the model takes: the smaller of what its positions and its tokenizer allow."""
    config = config.get_text_config()
    limits = (getattr(config, name, None) for name in ("max_position_embeddings", "n_positions", "max_sequence_length"))
    positions = next((limit for limit in limits if isinstance(limit, int) and limit > 0), 1_000_000)  # XLNet: -1
    if config.model_type in SHIFTED:
        positions -= (getattr(config, "pad_token_id", None) or 0) + 1
    return int(min(positions, getattr(tokenizer, "model_max_length", None) or 1_000_000, 1_000_000))


def image_processor(source: str | None, config: Any) -> tuple[Any, tuple[int, int], tuple[str, ...]]:
    """The model's image processor, its output height and width, and a note if it had to be guessed."""
    from transformers import AutoImageProcessor, ViTImageProcessorPil

    processor: Any = None
    notes: tuple[str, ...] = ()
    if source is not None:
        try:
            with quiet():
                processor = AutoImageProcessor.from_pretrained(source, backend="pil", trust_remote_code=False)
        except (OSError, ValueError):
            processor = None
    if processor is None:
        size = getattr(config, "image_size", 224)
        height, width = (size, size) if isinstance(size, int) else tuple(size)
        processor = ViTImageProcessorPil(size={"height": height, "width": width})
        notes = (f"its image processor is missing: images are scaled to {height} × {width}, values from -1 to 1",)
    height, width = output_size(processor)
    if output_size(processor, (96, 64)) != (height, width):
        processor.size = type(processor.size)(height=height, width=width)
        notes += (f"its image processor keeps the shape of images: they are scaled to {height} × {width} instead",)
    return processor, (height, width), notes


def output_size(processor: Any, size: tuple[int, int] = (64, 64)) -> tuple[int, int]:
    """Height and width of what an image processor makes of images of this size."""
    from PIL import Image

    blank = processor(images=Image.new("RGB", size), return_tensors="pt")["pixel_values"]
    return int(blank.shape[-2]), int(blank.shape[-1])


def _grid(config: Any, image_size: tuple[int, int], tokens: int, processor: Any) -> Grid:
    patch = getattr(config, "patch_size", None)
    if patch is None or config.model_type == "yolos":
        raise ModelError(f"the tokens of {config.model_type} are not special tokens followed by one grid of patches")
    tall, wide = (patch, patch) if isinstance(patch, int) else tuple(patch)
    rows, columns = image_size[0] // tall, image_size[1] // wide
    count = tokens - rows * columns
    if count < 0:
        raise ModelError(
            f"{config.model_type} merges or drops patches: {tokens} tokens for a grid of {rows} × {columns}"
        )
    second = ["[DIST]"] if config.model_type == "deit" else []
    names = (["[CLS]"] + second + [f"[REG{i}]" for i in range(count)])[:count]
    return Grid(tuple(names), rows, columns, crop_of(processor))


@contextmanager
def quiet() -> Iterator[None]:
    """Silence messages of transformers that are expected here: missing heads, eager attention, small files."""
    from transformers.utils import logging as transformers_logging

    level, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity(logging.CRITICAL)
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()
