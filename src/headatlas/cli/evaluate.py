"""The command `evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headatlas.cli.base import Data, Limit, QkTokens, Scheduler, Seed, Workers, app, check_output
from headatlas.errors import OptionError

if TYPE_CHECKING:
    from headatlas.evaluate.evaluation import Evaluation

TABLES = (".csv", ".parquet")

Model = Annotated[str, typer.Argument(help="Folder or hub name of a model that was trained to answer questions.")]
Threshold = Annotated[
    str, typer.Option(help="How much better no answer must score than the best answer to be given: a number or never.")
]
Collect = Annotated[str | None, typer.Option(help="Path of an atlas to collect in the same forward passes.")]


@app.command(
    epilog="""[bold]Examples[/bold]

    headatlas evaluate qa squad:dev-v2.0.json

    headatlas evaluate qa squad:dev-v2.0.json --collect qa.atlas -o predictions.json --table predictions.csv"""
)
def evaluate(
    model: Model,
    data: Data,
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="Write the predictions as the official script reads them.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="Write one row per question, as .csv or .parquet.")] = None,
    limit: Limit = None,
    threshold: Threshold = "auto",
    collect: Collect = None,
    resolution: Annotated[int, typer.Option(help="Side of the pooled maps of the atlas.")] = 32,
    qk_tokens: QkTokens = 20_000,
    seed: Seed = 0,
    workers: Workers = 0,
    scheduler: Scheduler = None,
) -> None:
    """Answer questions and print the scores of the official SQuAD script. Run it again to continue after a stop."""
    from headatlas import data as reader
    from headatlas import evaluate as stage

    for path, flag, suffixes in ((output, "-o", (".json",)), (table, "--table", TABLES)):
        if path is not None:
            check_output(path, suffixes, flag)
    if collect is None and (workers or scheduler):
        raise OptionError("--workers and --scheduler are for collecting: give an atlas with --collect, or omit them")
    evaluation = stage.questions(
        model, reader.load(data, limit=limit), threshold=_threshold(threshold), collect=collect, resolution=resolution,
        qk_tokens=qk_tokens, seed=seed, workers=workers, scheduler=scheduler,
    )  # fmt: skip
    if output is not None:
        Path(output).expanduser().write_text(evaluation.answers_json + "\n", encoding="utf-8")
    if table is not None:
        _write_table(evaluation, Path(table).expanduser())
    typer.echo(json.dumps(evaluation.scores, indent=2))
    for line in evaluation.lines:
        typer.echo(line)
    if collect is not None:
        typer.echo(f"Next: headatlas features {collect} · headatlas cluster {collect} · headatlas correlate {collect}")


def _threshold(word: str) -> Any:
    if word in ("auto", "never"):
        return word
    try:
        return float(word)
    except ValueError:
        raise OptionError(f"--threshold {word}: give a number, auto or never") from None


def _write_table(evaluation: Evaluation, path: Path) -> None:
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(evaluation.predictions, path)
        return
    from headatlas.cli.inspect import write_csv

    with path.open("w", encoding="utf-8", newline="") as file:
        write_csv(iter([evaluation.predictions]), file)
