"""Extractive question answering: the span of a passage that answers a question, or that there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from headatlas import data as readers
from headatlas.data import Dataset, Window
from headatlas.errors import OptionError
from headatlas.options import option, public
from headatlas.stages.finetune.task import (
    LEADING,
    MAX_TOKENS,
    MORE,
    RETURNS,
    Evaluator,
    Items,
    Name,
    Request,
    Shared,
    Task,
)
from headatlas.wording.finetune import negatives_line

if TYPE_CHECKING:
    from headatlas.models.task_networks import TaskNetwork
    from headatlas.stages.finetune.batches import Encoder
    from headatlas.stages.finetune.stage import Result


@dataclass(frozen=True)
class Questions(Task):
    """Answers in passages."""

    name: ClassVar[str] = "questions"
    help: ClassVar[str] = "find the answer to a question in a passage, or say that there is none"
    unit: ClassVar[str] = "question"

    unanswerable: float = option(
        0.0, least=0, help="Share of unanswerable questions to reach, by changing details and asking other passages."
    )
    max_tokens: int = option(384, least=8, help=MAX_TOKENS)
    overlap: int = option(128, least=0, help="Tokens that two windows of a long passage share.")

    def check(self) -> None:
        """Refuse a share that cannot be reached, and an overlap that is too large."""
        super().check()
        if self.unanswerable >= 1:
            raise OptionError(f"unanswerable {self.unanswerable:g}: give a share below 1")
        Window(self.max_tokens, self.overlap)

    def automatic(self, config: Any) -> str:
        """A score of each token as the first and as the last of the answer."""
        return "AutoModelForQuestionAnswering"

    def load(self, spec: Any, limit: int | None) -> Dataset:
        """A dataset in SQuAD format."""
        return readers.load(spec, limit=limit)

    def training_items(self, datasets: Sequence[Dataset], seed: int) -> Items:
        """Questions whose answer is where the file says, and unanswerable ones."""
        from headatlas.stages.finetune.negatives import with_negatives
        from headatlas.stages.finetune.question_items import read_questions

        read = read_questions(datasets)
        questions, added = with_negatives(read.questions, self.unanswerable, seed)
        unanswerable = sum(question.answer is None for question in questions)
        line = negatives_line(len(questions), unanswerable, added, self.unanswerable)
        facts = {"questions": len(questions), "unanswerable": unanswerable, "made_unanswerable": added}
        left_out = {reason: len(ids) for reason, ids in read.left_out.items()}
        return Items(questions, {**facts, "left_out": left_out}, (*read.lines(), line))

    def evaluation_items(self, dataset: Dataset, training: Items) -> Items:
        """The questions as they are."""
        from headatlas.stages.finetune.question_items import read_questions

        read = read_questions([dataset])
        return Items(read.questions, {"questions": len(read.questions)}, read.lines())

    def encoder(self, model: TaskNetwork) -> Encoder[Any]:
        """Windows with the first and last token of the answer."""
        from headatlas.stages.finetune.question_features import question_features

        window = Window(self.max_tokens, self.overlap)
        return lambda question, seed: question_features(model, question, window)


@public(Questions.options(), RETURNS, LEADING, *MORE)
def questions(
    model: Name,
    data: Any,
    folder: Name,
    *,
    evaluation: Any = None,
    evaluator: Evaluator | None = None,
    from_scratch: bool = False,
    unanswerable: float = 0.0,
    max_tokens: int = 384,
    overlap: int = 128,
    **shared: Unpack[Shared],
) -> Result:
    """Train a model to answer questions on passages, in SQuAD format, and to say where there is no answer."""
    from headatlas.stages.finetune.stage import finetune

    request = Request(Questions(unanswerable, max_tokens, overlap), **shared)
    return finetune(model, data, folder, request, evaluation, evaluator, from_scratch)
