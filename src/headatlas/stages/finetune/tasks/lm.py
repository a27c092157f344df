"""Language modeling: the next token, or masked ones, by what the model is."""

from __future__ import annotations

from collections.abc import Sequence
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
class LanguageModeling(Task):
    """Tokens of texts."""

    name: ClassVar[str] = "lm"
    help: ClassVar[str] = "predict the next token of a text, or masked ones, by what the model is"
    unit: ClassVar[str] = "text"

    text_column: str | None = option(None, help="Column with the text.")
    max_tokens: int = option(256, least=8, help=MAX_TOKENS)

    def automatic(self, config: Any) -> str:
        """A score of each token of the vocabulary."""
        from headatlas.stages.finetune.language_features import automatic

        return automatic(config)

    def load(self, spec: Any, limit: int | None) -> Dataset:
        """A dataset of texts."""
        return checked(spec, self.text_column, limit)

    def training_items(self, datasets: Sequence[Dataset], seed: int) -> Items:
        """All texts."""
        from headatlas.stages.finetune.language_features import read_texts

        return read_texts(datasets)

    def evaluation_items(self, dataset: Dataset, training: Items) -> Items:
        """All texts."""
        return self.training_items([dataset], 0)

    def encoder(self, model: TaskNetwork) -> Encoder[Any]:
        """Windows with the tokens to predict."""
        from headatlas.stages.finetune.language_features import language_encoder

        return language_encoder(model, self.max_tokens)


@public(LanguageModeling.options(), RETURNS, LEADING, *MORE)
def lm(
    model: Name,
    data: Any,
    folder: Name,
    *,
    evaluation: Any = None,
    evaluator: Evaluator | None = None,
    from_scratch: bool = False,
    text_column: str | None = None,
    max_tokens: int = 256,
    **shared: Unpack[Shared],
) -> Result:
    """Train a model to predict tokens of texts: the next one, or masked ones, by what the model is."""
    from headatlas.stages.finetune.stage import finetune

    request = Request(LanguageModeling(text_column, max_tokens), **shared)
    return finetune(model, data, folder, request, evaluation, evaluator, from_scratch)
