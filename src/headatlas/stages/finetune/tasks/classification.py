"""Classification: one of a few classes for each text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from headatlas.data import Dataset
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
    checked,
)

if TYPE_CHECKING:
    from headatlas.models.task_networks import TaskNetwork
    from headatlas.stages.finetune.batches import Encoder
    from headatlas.stages.finetune.stage import Result


@dataclass(frozen=True)
class Classification(Task):
    """Classes of texts."""

    name: ClassVar[str] = "classification"
    help: ClassVar[str] = "tell which class a text belongs to"
    unit: ClassVar[str] = "text"

    text_column: str | None = option(None, help="Column with the text.")
    label_column: str = option("label", help="Column with the class.")
    max_tokens: int = option(256, least=8, help=MAX_TOKENS)

    def automatic(self, config: Any) -> str:
        """A score of each class."""
        return "AutoModelForSequenceClassification"

    def load(self, spec: Any, limit: int | None) -> Dataset:
        """A table with a text and a class in each row."""
        return checked(spec, self.text_column, limit)

    def training_items(self, datasets: Sequence[Dataset], seed: int) -> Items:
        """Rows with a class."""
        from headatlas.stages.finetune.labeled_texts import read_texts

        return read_texts(datasets, self.label_column)

    def evaluation_items(self, dataset: Dataset, training: Items) -> Items:
        """Rows with one of the classes trained on."""
        from headatlas.stages.finetune.labeled_texts import read_texts

        return read_texts([dataset], self.label_column, training.labels)

    def settings(self, training: Items) -> Mapping[str, Any]:
        """The names of the classes."""
        return {
            "id2label": dict(enumerate(training.labels)),
            "label2id": {label: number for number, label in enumerate(training.labels)},
            "problem_type": "single_label_classification",
        }

    def encoder(self, model: TaskNetwork) -> Encoder[Any]:
        """One window with its class."""
        from headatlas.stages.finetune.labeled_texts import text_features

        return lambda text, seed: text_features(model, text, self.max_tokens)


@public(Classification.options(), RETURNS, LEADING, *MORE)
def classification(
    model: Name,
    data: Any,
    folder: Name,
    *,
    evaluation: Any = None,
    evaluator: Evaluator | None = None,
    from_scratch: bool = False,
    text_column: str | None = None,
    label_column: str = "label",
    max_tokens: int = 256,
    **shared: Unpack[Shared],
) -> Result:
    """Train a model to tell the class of a text, from a table with a text and a class in each row."""
    from headatlas.stages.finetune.stage import finetune

    request = Request(Classification(text_column, label_column, max_tokens), **shared)
    return finetune(model, data, folder, request, evaluation, evaluator, from_scratch)
