"""Head t-SNE: a text as one head sees it, and what to compare it with.

>>> from headatlas import tsne
>>> cat = tsne.heads("packaged", "The cat sat on the mat.", heads=[(0, 2), (3, 10)], restarts=8)
>>> sorted(cat.layouts)
[(0, 2), (3, 10)]
"""

from headatlas.numeric.quantiles import Axis, axis
from headatlas.stages.tsne.activity import Activity, activity, chains, maximum_attention
from headatlas.stages.tsne.affinity import Affinity, affinity
from headatlas.stages.tsne.align import align
from headatlas.stages.tsne.experiments import compare, robustness
from headatlas.stages.tsne.heads import Layouts
from headatlas.stages.tsne.hidden import States
from headatlas.stages.tsne.kernel import layouts
from headatlas.stages.tsne.stage import heads, hidden
from headatlas.stages.tsne.summary import compared, robust
from headatlas.stages.tsne.word_lists import words

__all__ = [
    "Activity", "Affinity", "Axis", "Layouts", "States", "activity", "affinity", "align", "axis", "chains", "compare",
    "compared", "heads", "hidden", "layouts", "maximum_attention", "robust", "robustness", "words",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
