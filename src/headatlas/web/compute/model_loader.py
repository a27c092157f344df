"""The model of an atlas: whether it is available, and the model itself, loaded at first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.errors import HeadatlasError
from headatlas.web.api.errors import RequestError
from headatlas.web.compute import model_files

if TYPE_CHECKING:
    from headatlas.atlas.store import Atlas
    from headatlas.models.model import Model


class ModelLoader:
    """Loads the model of an atlas. `requested` is a model, or the name of one, to use in place of the atlas's."""

    def __init__(self, requested: str | Model | None = None) -> None:
        self._name = requested if isinstance(requested, str) else None
        self._given = requested is not None and self._name is None  # a model in memory: no other is looked for
        self._model: Model | None = None if isinstance(requested, str) else requested
        self._refused: dict[str, str] = {}  # hash of an atlas's model: why it cannot be loaded
        self.version = 0  # changes when `state` may have changed

    def state(self, atlas: Atlas) -> tuple[bool, str]:
        """Whether full maps can probably be computed, and if not, why and what to do; nothing is loaded for it."""
        facts = atlas.header["model"]
        if facts["hash"] in self._refused:
            return False, self._refused[facts["hash"]]
        if self._model is not None or model_files.candidates(facts, self._name):
            return True, ""
        command = _command(atlas)
        if self._name is not None:
            return False, f"There is no model {self._name} on this machine. Give the folder with the model: {command}"
        return False, f"Full maps need the model {facts['name']}, which is not available. Run: {command}"

    def load(self, atlas: Atlas) -> Model:
        """The model of this atlas. Call it in one thread only."""
        facts = atlas.header["model"]
        if facts["hash"] in self._refused:
            raise RequestError(503, self._refused[facts["hash"]])
        if self._model is not None and self._model.hash == facts["hash"]:
            return self._model
        from headatlas import models

        problems = [] if self._model is None else [f"{self._model.name} has other weights"]
        for name in [] if self._given else model_files.candidates(facts, self._name):
            try:
                model = models.load(name, modality=facts.get("modality"))
            except HeadatlasError as error:
                problems.append(str(error))
                continue
            if model.hash == facts["hash"]:
                self._model = model
                return model
            problems.append(f"{name} has other weights")
        raise self._refuse(atlas, problems)

    def _refuse(self, atlas: Atlas, problems: list[str]) -> RequestError:
        facts, command = atlas.header["model"], _command(atlas)
        message = f"The model of this atlas, {facts['name']}, is not available: {'; '.join(problems)}."
        self._refused[facts["hash"]] = f"{message} Run: {command}"
        self.version += 1
        return RequestError(503, message, command=command)


def _command(atlas: Atlas) -> str:
    return f"headatlas serve {atlas.files.url} --model FOLDER"
