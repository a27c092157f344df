"""Fine-tune a model, or train one from scratch: questions on passages, classes of texts, or tokens of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headatlas.stages.finetune.tasks import TASKS

if TYPE_CHECKING:
    from headatlas.stages.finetune.tasks.classification import classification
    from headatlas.stages.finetune.tasks.lm import lm
    from headatlas.stages.finetune.tasks.questions import questions

__all__ = ["TASKS", "classification", "lm", "questions"]


def __getattr__(name: str) -> Any:
    """The function of each task."""
    if name in TASKS:
        return TASKS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
