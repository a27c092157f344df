"""The model an atlas was made with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.errors import ModelError
from headatlas.models import packaged

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas
    from headatlas.models.model import Model


def load_model(atlas: Atlas, given: Model | str | None = None) -> Model:
    """The model an atlas was made with, loaded or, if it is `given`, checked; a model with other weights is refused."""
    from headatlas import models

    facts = atlas.header["model"]
    name = "packaged" if facts["name"] == packaged.NAME else facts.get("source") or facts["name"]
    if given is None or isinstance(given, str):
        name = given or name
        given = models.load(name, modality=facts.get("modality"))
    else:
        name = given.name
    if given.hash != facts["hash"]:
        raise ModelError(f"{name} is not the model {atlas.files.url} was made with. Give the model itself")
    return given
