"""The model an atlas was made with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.errors import ModelError
from headatlas.models import packaged

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas
    from headatlas.models.load import ModelLike
    from headatlas.models.model import Model


def load_model(atlas: Atlas, given: ModelLike | None = None) -> Model:
    """The model an atlas was made with, loaded or, if it is `given`, checked; a model with other weights is refused."""
    from headatlas import models

    facts = atlas.header["model"]
    name = packaged.source(facts["name"]) or facts.get("source") or facts["name"]
    if not isinstance(given, models.Model):
        given = models.load(name if given is None else given, modality=facts.get("modality"))
    if given.hash != facts["hash"]:
        raise ModelError(f"{given.name} is not the model {atlas.files.url} was made with. Give the model itself")
    return given
