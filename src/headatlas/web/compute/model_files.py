"""Where the model of an atlas is to be found on this machine. Nothing is loaded, nothing is fetched from the hub."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from headatlas.models import packaged


def candidates(facts: dict[str, Any], wanted: str | None) -> list[str]:
    """What may be loaded for a model, the likeliest first: `packaged`, or folders that hold one."""
    if wanted is not None:
        names = [wanted]
    else:
        names = ["packaged"] if facts["name"] == packaged.NAME else []
        names += [name for name in (facts.get("source"), facts["name"]) if name]
    found = [at_hand(name, None if wanted else facts.get("revision")) for name in names]
    return list(dict.fromkeys(one for one in found if one is not None))


def at_hand(name: str, revision: str | None = None) -> str | None:
    """What to load for this name without a connection; None if that is not here."""
    if name == "packaged":
        try:
            distribution(packaged.PACKAGE)
        except PackageNotFoundError:
            return None
        return name
    folder = Path(name).expanduser()
    if (folder / "config.json").is_file():
        return str(folder.resolve())
    return _cached(name, revision)


def _cached(name: str, revision: str | None) -> str | None:
    """The folder of a model of the hub that was fetched before."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(name, "config.json", revision=revision)
    except (HFValidationError, OSError, ValueError):
        return None
    return str(Path(found).parent) if isinstance(found, str) else None
