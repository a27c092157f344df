"""Where the model of an atlas is on this machine. Nothing is loaded, and nothing is downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headatlas.models import packaged


def candidates(facts: dict[str, Any], requested: str | None) -> list[str]:
    """What may be loaded for a model, the most likely first: a packaged model, or folders with a model.

    `facts` are those of the model in the header of an atlas; `requested` is to be loaded in its place.
    """
    if requested is not None:
        names = [requested]
    else:
        names = [name for name in (packaged.source(facts["name"]), facts.get("source"), facts["name"]) if name]
    local = [find_local(name, None if requested else facts.get("revision")) for name in names]
    return list(dict.fromkeys(location for location in local if location is not None))


def find_local(name: str, revision: str | None = None) -> str | None:
    """What to load for this name without a network connection; None if it is not on this machine."""
    if name in packaged.NAMES:
        return name if packaged.installed(name) else None
    folder = Path(name).expanduser()
    if (folder / "config.json").is_file():
        return str(folder.resolve())
    return _cached(name, revision)


def _cached(name: str, revision: str | None) -> str | None:
    """The folder of a model of the hub that was downloaded before."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        config = try_to_load_from_cache(name, "config.json", revision=revision)
    except (HFValidationError, OSError, ValueError):
        return None
    return str(Path(config).parent) if isinstance(config, str) else None
