"""Evaluate a model that answers questions: predictions, and the scores of the official SQuAD script."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from headatlas import data, model_names, progress
from headatlas.data import Dataset
from headatlas.errors import OptionError
from headatlas.evaluate.scorer import score, unanswered
from headatlas.wording import evaluation as wording

if TYPE_CHECKING:
    from headatlas.evaluate.evaluation import Evaluation
    from headatlas.evaluate.gold import Questions

__all__ = ["evaluator", "gold_answers", "questions", "score", "training_evaluator", "unanswered"]

DatasetLike = Dataset | str | os.PathLike[str]
ThresholdLike = float | Literal["auto", "never"]


def __dir__() -> list[str]:
    return sorted(__all__)


def questions(
    model: str | os.PathLike[str],
    dataset: DatasetLike,
    *,
    threshold: ThresholdLike = "auto",
    collect: str | os.PathLike[str] | None = None,
    resolution: int = 32,
    qk_tokens: int = 20_000,
    seed: int = 0,
    workers: int = 0,
    scheduler: str | None = None,
) -> Evaluation:
    """Answer the questions of a dataset, and score the answers.

    Parameters
    ----------
    model : str or path
        A folder or hub name of a model with a trained head for question answering.
    dataset : Dataset, str or path
        Questions in SQuAD format: `squad:FILE` or `sample:questions`.
    threshold : float, "auto" or "never"
        A question gets no answer if the score of "no answer" exceeds that of the best answer by more than this.
        `auto` is 0, or `never` where every question has an answer, as in SQuAD v1.1.
    collect : str or path, optional
        Path of an atlas to collect in the same forward passes, as `collect.maps` does. After a stop, the same call
        continues.
    resolution, qk_tokens, workers, scheduler
        As `collect.maps` takes them, for the atlas.
    seed : int
        Random seed of the bootstrap over passages, and of the collection.

    Returns
    -------
    Evaluation
        `scores` are the numbers of the official script, `predictions` is a table with one row per question.
    """
    from headatlas.stages.collect import Options, check

    name, texts = os.fspath(model), data.load(dataset)
    _check(threshold, seed)
    options = Options(resolution=resolution, qk_tokens=qk_tokens, seed=seed)
    if collect is not None:
        texts = texts.held()  # its questions are kept anyway, and a collection would read them twice more
        check(name, texts, collect, options, workers)
    listed = _read(texts)
    model_names.check(name)
    model_names.check_question_head(name)
    limit = _threshold(listed, threshold)
    from headatlas.evaluate import stage  # which imports torch: mistakes are reported before that

    if collect is None:
        evaluation = stage.evaluate_alone(name, texts, listed, limit, seed)
    else:
        evaluation = stage.evaluate_and_collect(name, texts, listed, collect, options, limit, workers, scheduler)
    for line in wording.problem_lines(evaluation.facts):
        progress.say(line)
    return evaluation


def evaluator(
    model: Any, tokenizer: Any, dataset: DatasetLike, limit: int | None = None, seed: int = 0
) -> dict[str, float]:
    """The scores of a network in memory, or of a model by its folder, on some questions.

    Parameters
    ----------
    model : transformers network, str or path
        A network with a head for question answering; its attention and its mode are left as they are.
    tokenizer
        The tokenizer of a network in memory; None for a folder.
    dataset : Dataset, str or path
        Questions in SQuAD format.
    limit : int, optional
        Number of questions, drawn with `seed`; all if not given.
    seed : int
        Random seed.

    Returns
    -------
    dict
        The numbers of the official script.
    """
    if isinstance(model, str | os.PathLike):
        from headatlas.models.load import resolve
        from headatlas.models.question_head import read_question_network

        name = os.fspath(model)
        model, tokenizer = read_question_network(*resolve(name)), tokenizer or name
    return training_evaluator(tokenizer, dataset, limit, seed)(model, 0)


def training_evaluator(
    tokenizer: Any, dataset: DatasetLike, limit: int | None = None, seed: int = 0
) -> Callable[[Any, int], dict[str, float]]:
    """A function of a network and a step that returns scores, to be called in mid-training; see `evaluator`.

    The tokenizer can be given by the name of its model.
    """
    from headatlas.evaluate import stage
    from headatlas.models.load import read_tokenizer, resolve

    texts = data.load(dataset)
    drawn = _read(texts).drawn(limit, seed)
    if isinstance(tokenizer, str | os.PathLike):
        tokenizer = read_tokenizer(*resolve(os.fspath(tokenizer), weights=False), None)
    scores = stage.network_scores(texts, drawn, _threshold(drawn, "auto"), seed)
    return lambda network, step: scores(network, tokenizer)


def gold_answers(dataset: DatasetLike) -> dict[str, tuple[str, ...]]:
    """The gold answers of each question by its id, as `score` takes them.

    >>> golds = gold_answers("sample:questions")
    >>> golds["tides-0-0"], sum(not answers for answers in golds.values())
    (('crabs',), 100)
    """
    return _read(data.load(dataset)).golds


def _read(texts: Dataset) -> Questions:
    from headatlas.evaluate.gold import read_questions

    return read_questions(texts)


def _threshold(listed: Questions, threshold: ThresholdLike) -> float | None:
    """The threshold as a number; None if every question is answered."""
    if threshold == "auto":
        return None if listed.all_answerable else 0.0
    return None if threshold == "never" else float(threshold)


def _check(threshold: ThresholdLike, seed: int) -> None:
    if not isinstance(threshold, int | float) and threshold not in ("auto", "never"):
        raise OptionError(f"threshold {threshold!r}: give a number, auto or never")
    if isinstance(threshold, int | float) and not math.isfinite(threshold):
        raise OptionError(f"threshold {threshold}: give a finite number; never answers every question")
    if seed < 0:
        raise OptionError(f"seed {seed}: it cannot be negative")
