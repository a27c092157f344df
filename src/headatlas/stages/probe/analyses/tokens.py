"""Tokens: which tokens heads promote and suppress by what they write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from headatlas.atlas.store import Atlas, AtlasLike
from headatlas.options import option, public
from headatlas.stages.probe.analysis import ATLAS, MODEL, Analysis, Results, Shared
from headatlas.wording.probe_tokens import pair_line, tokens_line

if TYPE_CHECKING:
    import pyarrow as pa

    from headatlas.models.load import ModelLike
    from headatlas.stages.probe.source import Source

MENTIONED = 5  # heads in the findings
RETURNS = """
    pyarrow.Table
        One row per head and token that it promotes or suppresses most, chosen on half of the texts and scored on the
        other half.
"""


@dataclass(frozen=True, kw_only=True)
class PromotedTokens(Analysis):
    """What heads write, read by the unembedding, with the scale of the last normalization frozen."""

    name: ClassVar[str] = "tokens"
    question: ClassVar[str] = "Which tokens does a head promote and suppress by what it writes?"
    table: ClassVar[str] = "probe_tokens"
    block: ClassVar[int] = 4

    examples: int = option(64, help="Examples, drawn with the seed; all if there are no more.", least=1)

    def missing(self, atlas: Atlas) -> str | None:
        """Values must be readable, and the model must read texts from left to right."""
        model = atlas.header["model"]
        if atlas.header["data"]["modality"] == "image" or not all(layer.get("causal") for layer in model["layers"]):
            return "tokens are promoted by models of the next token, and this model is none"
        if model.get("route") != "registry":
            return "what its heads write cannot be read: attention of this family is outside the registry"
        return None

    def part(self, source: Source, numbers: list[int]) -> pa.Table:
        """For each head the sum of what it writes in a block of texts, and its strongest pairs of tokens."""
        from headatlas.stages.probe.promoted import part_table

        return part_table(source, numbers)

    def join(self, source: Source, rows: pa.Table) -> Results:
        """The tokens of each head, and those of its strongest pairs."""
        from headatlas.stages.probe.promoted import joined

        return joined(source, rows)

    def findings(self, atlas: Atlas) -> list[str]:
        """The heads that promote a token most."""
        from headatlas.stages.probe.said import rows

        promoted: Any = rows(atlas, self.table, kind="promoted", rank=0)
        best = sorted(promoted, key=lambda row: -row["score"])[:MENTIONED]
        return [tokens_line(self._tokens(atlas, row["layer"], row["head"]), named=True) for row in best]

    def of_head(self, atlas: Atlas, layer: int, head: int) -> list[str]:
        """The tokens of a head, and of its strongest pair."""
        from headatlas.stages.probe.said import rows

        pairs: Any = rows(atlas, "probe_token_pairs", layer=layer, head=head, rank=0)
        tokens = self._tokens(atlas, layer, head)
        return [tokens_line(tokens), *map(pair_line, pairs)] if tokens else []

    def _tokens(self, atlas: Atlas, layer: int, head: int) -> Any:
        from headatlas.stages.probe.said import rows

        return rows(atlas, self.table, layer=layer, head=head)


@public(PromotedTokens.options(), RETURNS, ATLAS, MODEL)
def tokens(atlas: AtlasLike, *, model: ModelLike | None = None, **shared: Unpack[Shared]) -> pa.Table:
    """Which tokens each head promotes and suppresses: what it writes, through the last normalization and unembedding.

    For models of the next token. The mean of what a head writes over the tokens of all texts, with the scale of the
    last normalization as it is at each token, is read by the unembedding; scores are logits, less their mean over the
    vocabulary. The table `probe_token_pairs` has the tokens that the strongest pairs of tokens promote.
    """
    from headatlas.stages.probe.stage import run

    return run(atlas, PromotedTokens(**shared), model)
