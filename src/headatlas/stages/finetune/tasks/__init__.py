"""Tasks, one file each: the folder is the registry.

A file defines a class with the options (`Task`) and a public function of the task's name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headatlas import registry
from headatlas.stages.finetune.task import Task

DEFAULT = "questions"

_tasks = registry.methods(__name__, Task, first=DEFAULT)
CLASSES: dict[str, type[Task]] = {name: task for name, (task, _) in _tasks.items()}
TASKS: dict[str, Callable[..., Any]] = {name: function for name, (_, function) in _tasks.items()}
