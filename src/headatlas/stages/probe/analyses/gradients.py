"""Gradients: does it matter to the loss how much a head attends to separators?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.options import public
from headatlas.stages.probe.analysis import ATLAS, MEASURES, MODEL, MapAnalysis, Measure, Results, Rows, Shared

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.stages.probe.source import Source

UNIT = "loss per weight"


@dataclass(frozen=True, kw_only=True)
class Gradients(MapAnalysis):
    """The size of the gradient of the loss by attention weights, on separators, on the first token and on others."""

    name: ClassVar[str] = "gradients"
    question: ClassVar[str] = "Does it matter to the loss how much a head attends to separators?"
    table: ClassVar[str] = "probe_gradients"
    told: ClassVar[tuple[str, ...]] = ("relative", "to_others")
    measures: ClassVar[tuple[Measure, ...]] = (
        Measure("to_separators", "gradient by attention to separators", "mean |∂ loss / ∂ weight| on separators", UNIT),
        Measure("to_others", "gradient by attention to other tokens", "mean |∂ loss / ∂ weight| on other tokens", UNIT),
        Measure("to_first", "gradient by attention to the first token", "mean |∂ loss / ∂ weight| on it", UNIT),
        Measure(
            "relative", "gradient on separators against other tokens",
            "`to_separators` divided by `to_others`; 1: as much as other tokens",
        ),
        Measure("attention", "attention to separators", "share of attention on special tokens but the first"),
    )  # fmt: skip

    def missing(self, atlas: Atlas) -> str | None:
        """Attention must go through the registry, and the model must read texts."""
        model = atlas.header["model"]
        if atlas.header["data"]["modality"] == "image":
            return "gradients are of a loss on texts, and this atlas has images"
        if model.get("route") != "registry":
            return "gradients cannot be found: attention of this family is outside the registry"
        if any(layer.get("kind") == "cross" for layer in model["layers"]):
            return "gradients are of encoders and of decoders, and this model is both"
        return None

    def rows(self, source: Source, numbers: list[int]) -> Rows:
        """Gradients and attention of every map."""
        from headatlas.stages.probe.gradient_maps import map_rows

        return map_rows(source, numbers, self.seed)

    def join(self, source: Source, rows: pa.Table) -> Results:
        """Means over texts; and whether heads that attend to separators have small gradients there."""
        import numpy as np

        from headatlas.stages.probe.gradient_maps import network_and_loss, parking

        tables, facts = super().join(source, rows)
        table: Any = tables[self.table].to_pandas()
        means = {name: np.asarray(group["mean"], float) for name, group in table.groupby("measure")}
        correlation = parking(means["attention"], means["relative"], self.seed)
        return tables, {**facts, "loss": network_and_loss(source)[1], "parking": correlation}

    def findings(self, atlas: Atlas) -> list[str]:
        """What the loss is of, whether attention to separators matters, and heads at both ends."""
        from headatlas.wording.probe_gradients import loss_line, parking_line

        facts = atlas.facts("probe", self.name)
        return [loss_line(facts["loss"]), parking_line(facts["parking"]), *super().findings(atlas)]


@public(Gradients.options(), MEASURES, ATLAS, MODEL)
def gradients(atlas: AtlasLike, *, model: ModelLike | None = None, **shared: Unpack[Shared]) -> pa.Table:
    """How much the loss changes with attention to separators, and to other tokens, for every head.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://gradients.atlas")
    >>> table = ha.probe.gradients(atlas).to_pandas()
    >>> sorted(set(table.measure))
    ['attention', 'relative', 'to_first', 'to_others', 'to_separators']

    The loss is that of the model's own head, for masked or for next tokens. For an encoder without one, it is how far
    the direction of its pooled output moves if some tokens are masked.
    """
    from headatlas.stages.probe.stage import run

    return run(atlas, Gradients(**shared), model)
