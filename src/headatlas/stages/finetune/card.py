"""What the card of a trained model tells, gathered from the run."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from headatlas import __version__
from headatlas.model_names import PACKAGED, PACKAGED_VIT
from headatlas.models.task_networks import TaskNetwork
from headatlas.stages.finetune.task import Items, Request
from headatlas.wording import many
from headatlas.wording.finetune_card import Card

PIPELINES = {  # by the head of the network
    "ForQuestionAnswering": "question-answering",
    "ForSequenceClassification": "text-classification",
    "ForMaskedLM": "fill-mask",
}
LIBRARIES = ("transformers", "torch", "accelerate")


def make_card(
    folder: Path,
    recipe: Mapping[str, Any],
    request: Request,
    model: TaskNetwork,
    items: Items,
    held: Items | None,
    rate: float,
    rows: Sequence[Mapping[str, Any]],
) -> Card:
    """The card of a finished run."""
    base, evaluation = str(recipe["model"]), recipe["evaluation"]
    local = base in (PACKAGED, PACKAGED_VIT) or Path(base).expanduser().is_dir()
    described = {"model", "task", "data", "evaluation", "from_scratch"}
    options = {name: value for name, value in recipe.items() if name not in described} | {"learning_rate": rate}
    return Card(
        name=folder.resolve().name,
        base=model.name if local else base,
        hub=not local,
        pipeline=_pipeline(model.network),
        task=request.task.help,
        unit=request.task.unit,
        data=[dataset["name"] for dataset in recipe["data"]],
        lines=[*items.lines, *(held.lines if held else ())],
        options=options,
        new=model.new,
        machine=_machine(model.network),
        versions={"headatlas": __version__} | {name: version(name) for name in LIBRARIES},
        rows=rows,
        evaluation=evaluation["name"] if evaluation else None,
        made=items.facts.get("made_unanswerable", 0),
    )


def _pipeline(network: Any) -> str:
    name = type(network).__name__
    return next((tag for end, tag in PIPELINES.items() if name.endswith(end)), "text-generation")


def _machine(network: Any) -> str:
    device = next(network.parameters()).device.type
    return f"{many(torch.get_num_threads(), 'thread')} of a {platform.machine()} CPU" if device == "cpu" else device
