"""From a model and questions to an evaluation: the part that needs torch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from headatlas import __version__, models, progress
from headatlas.atlas import engine, parts
from headatlas.atlas.blocks import block_ranges
from headatlas.atlas.store import Atlas
from headatlas.data import Dataset, Window
from headatlas.evaluate.answers import Answers, Threshold
from headatlas.evaluate.candidates import Candidate
from headatlas.evaluate.evaluation import Evaluation, evaluated
from headatlas.evaluate.forward import evaluating, network_answers
from headatlas.evaluate.gold import Questions
from headatlas.evaluate.observed import AnswerBlock, AnswerObserver, joined
from headatlas.models.load import resolve
from headatlas.models.model import Model
from headatlas.models.question_head import question_reader, read_question_head, read_question_network
from headatlas.stages.collect import Options
from headatlas.stages.collect.stage import collect

STAGE, NAME = "evaluate", "squad"


def evaluate_alone(name: str, dataset: Dataset, questions: Questions, threshold: Threshold, seed: int) -> Evaluation:
    """Evaluate a model by the fastest way through its network."""
    source, label = resolve(name)
    model = question_reader(read_question_network(source, label), label, source=source)
    with progress.bar("answering", len(questions.listed), "questions") as advance:
        answers = network_answers(model, questions.listed, dataset.window or Window(), advance)
    return evaluated(questions, answers, threshold, seed)


def evaluate_and_collect(
    name: str,
    dataset: Dataset,
    questions: Questions,
    path: str | os.PathLike[str],
    options: Options,
    threshold: Threshold,
    workers: int,
    scheduler: str | None,
) -> Evaluation:
    """Evaluate a model in the forward passes of a collection; whatever of both exists is used."""
    model, head = models.load(name, modality="text"), read_question_head(name)
    recipe = {"threshold": threshold, "seed": options.seed}
    inputs = {"head": head.hash}
    elsewhere = bool(workers) or scheduler is not None

    @contextmanager
    def observing(atlas: Atlas) -> Iterator[AnswerObserver | None]:
        with engine.result(atlas, STAGE, NAME, recipe, inputs=inputs) as result:
            yield None if result.finished else AnswerObserver(result.place, name, None if elsewhere else head)

    atlas = collect(model, dataset, path, options, workers, scheduler, observing)
    earlier = _earlier(atlas, inputs)
    with engine.result(atlas, STAGE, NAME, recipe, inputs=inputs) as result:
        if not result.finished and earlier is not None:
            _write(result, questions, threshold, options.seed, *earlier)
        elif not result.finished:
            observer = AnswerObserver(result.place, name, head)
            _answer(result, model, observer, questions, threshold, options.seed)
    return read_evaluation(atlas)


def _answer(
    result: engine.Result, model: Model, observer: AnswerObserver, questions: Questions, threshold: Threshold, seed: int
) -> None:
    """Answer what was collected before without being observed; then join all parts."""
    atlas = result.handle
    ranges = block_ranges(atlas.collection["counts"]["examples"], atlas.collection["block"])

    def join(table: pa.Table) -> tuple[dict[str, pa.Table], dict[str, Any]]:
        answers, spans = joined(table.to_pylist(), questions.listed)
        evaluation = evaluated(questions, answers, threshold, seed)
        return evaluation.tables | {"answer_spans": spans}, evaluation.facts

    work = AnswerBlock(observer, atlas, model, ranges)
    parts.run(result, work, ranges, "answering", join, unit="examples")


def _earlier(atlas: Atlas, inputs: Mapping[str, Any]) -> tuple[pa.Table, pa.Table] | None:
    """The predictions and spans of a result with another threshold or seed."""
    entry = atlas.results(STAGE).get(NAME)
    if entry is None or entry["recipe"]["inputs"] != inputs or entry["recipe"]["version"] != __version__:
        return None
    return atlas.table("predictions", NAME), atlas.table("answer_spans", NAME)


def _write(
    result: engine.Result, questions: Questions, threshold: Threshold, seed: int, table: pa.Table, spans: pa.Table
) -> None:
    """Decide again which of the stored answers to give."""
    answers: list[Answers | None] = [None] * len(questions.listed)
    for row in table.select(["question", "no_answer_score", "nbest"]).to_pylist():
        best = (Candidate(entry["start"], entry["stop"], entry["score"]) for entry in row["nbest"])
        answers[row["question"]] = Answers(row["no_answer_score"], tuple(c for c in best if c.start is not None))
    evaluation = evaluated(questions, answers, threshold, seed)
    tables = evaluation.tables | {"answer_spans": spans}
    files = [result.write_table(name, content) for name, content in tables.items()]
    result.write_manifest(engine.TABLES, files, evaluation.facts)  # as when parts are joined: the same bits
    result.finish(evaluation.facts)


def read_evaluation(atlas: Atlas) -> Evaluation:
    """The evaluation that an atlas holds."""
    of = atlas.needed(STAGE, None)
    return Evaluation(atlas.table("predictions", of), atlas.table("scores", of), atlas.facts(STAGE, of), atlas)


def network_scores(
    dataset: Dataset, questions: Questions, threshold: Threshold, seed: int
) -> Callable[[Any, Any], dict[str, float]]:
    """A function that scores a network in memory with its tokenizer."""

    def scores(network: Any, tokenizer: Any) -> dict[str, float]:
        plain = _unwrapped(network)
        with evaluating(plain):
            model = question_reader(plain, type(plain).__name__, tokenizer)
            answers = network_answers(model, questions.listed, dataset.window or Window())
        return evaluated(questions, answers, threshold, seed).scores

    return scores


def _unwrapped(network: Any) -> Any:
    """The network itself, without what training in parallel or with adapters puts around it."""
    network = getattr(network, "module", network)
    return network.get_base_model() if hasattr(network, "get_base_model") else network
