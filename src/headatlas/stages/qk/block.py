"""One layer: every head drawn, and written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas import parallel
from headatlas.atlas.writer import Place, Writer, block_name
from headatlas.numeric.threads import single_thread
from headatlas.stages.qk.embedding import Plot, embed_head
from headatlas.stages.qk.notes import joined, layer_note
from headatlas.stages.qk.vectors import read_layer

ARRAYS = {"qk_position": "position", "qk_trust": "trust", "qk_kept": "kept", "qk_norm": "norm", "qk_shape": "shape"}


@dataclass(frozen=True)
class EmbedBlock:
    """The function that is run over the numbers of all layers; returns the number of heads done."""

    place: Place
    rows: NDArray[np.int64]  # of the arrays `query` and `key`
    method: str
    dims: int
    seed: int

    @single_thread("sklearn")
    def __call__(self, number: int) -> int:
        """Draw every head of a layer, and write the arrays and facts."""
        writer = Writer(self.place)
        model = writer.atlas.header["model"]
        layer = model["layers"][number]
        query, key = read_layer(writer.atlas, self.rows, layer)
        plots = []
        for head in range(layer["heads"]):
            parallel.check()
            plots.append(embed_head(query[:, head], key[:, head], self.method, self.dims, self.seed))
        files = [
            file
            for name, field in ARRAYS.items()
            for file in writer.write_blocks(name, number, _stacked(plots, field, model["heads"]))
        ]
        rows = [_row(number, head, plot, layer_note(layer)) for head, plot in enumerate(plots)]
        writer.write_manifest(block_name(number), files, {"heads": rows})
        return len(plots)


def _stacked(plots: list[Plot], field: str, heads: int) -> NDArray[np.float32]:
    """A field of all plots as (1, head, …); NaN for heads that do not exist."""
    values = np.stack([getattr(plot, field) for plot in plots])
    missing = [(0, heads - len(plots))] + [(0, 0)] * (values.ndim - 1)
    return np.pad(values, missing, constant_values=np.nan)[None]


def _row(layer: int, head: int, plot: Plot, note: str) -> dict[str, Any]:
    """A row of `qk_heads` as plain JSON, which has no NaN."""
    facts = {name: None if value != value else value for name, value in plot.facts.items()}
    return {"layer": layer, "head": head} | facts | {"note": joined(note, plot.facts["note"])}
