"""The command `finetune`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import typer

from headatlas.cli.base import Model, app
from headatlas.cli.flags import given, takes
from headatlas.data.readers import forms
from headatlas.options import either
from headatlas.stages.finetune.tasks import CLASSES, DEFAULT, TASKS

SCORED = 300  # questions that are scored in an evaluation
OPTIONS = {name: task.options() for name, task in CLASSES.items()}


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas finetune packaged squad:train-v2.0.json --eval squad:dev-v2.0.json --minutes 60 -o qa

    headatlas finetune bert-base-uncased reviews.csv --task classification --label-column stars -o stars

    headatlas finetune ./architecture corpus.txt --task lm --from-scratch --save-every 500 -o new"""
)
@takes(OPTIONS, "task")
def finetune(
    model: Model,
    data: Annotated[list[str], typer.Argument(help=f"One or more of: {forms()}.")],
    output: Annotated[str, typer.Option("-o", "--output", help="Folder of the trained model.")],
    evaluation: Annotated[str | None, typer.Option("--eval", help="Data to evaluate with.")] = None,
    task: Annotated[str, typer.Option(help=either(tuple(TASKS)) + ".")] = DEFAULT,
    from_scratch: Annotated[bool, typer.Option("--from-scratch", help="Start with random weights.")] = False,
    **flags: Any,
) -> None:
    """Train a model on a task. Run the same command again to continue after a stop."""
    from headatlas.stages.finetune.stage import first_process

    options = given(flags, task, OPTIONS, "task")
    evaluator = _scores(model, evaluation, options) if task == "questions" and evaluation else None
    result = TASKS[task](
        model, data, output, evaluation=evaluation, evaluator=evaluator, from_scratch=from_scratch, **options
    )
    if first_process():
        typer.echo(str(result))


def _scores(model: str, evaluation: str, options: dict[str, Any]) -> Callable[[Any, int], dict[str, float]]:
    """The scores of `evaluate` on some of the questions to evaluate with, which are read when they are needed."""

    @cache
    def scores() -> Callable[[Any, int], dict[str, float]]:
        from headatlas import data as reader
        from headatlas import evaluate

        dataset = reader.load(evaluation, limit=options.get("limit"))
        return evaluate.training_evaluator(model, dataset, SCORED, options.get("seed", 0))

    return lambda network, step: scores()(network, step)
