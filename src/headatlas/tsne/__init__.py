"""Head t-SNE: a text as one head sees it, and what to hold beside it.

>>> from headatlas import tsne
>>> found = tsne.heads("packaged", "The cat sat on the mat.", heads=[(0, 2), (3, 10)], restarts=8)
>>> sorted(found.layouts)
[(0, 2), (3, 10)]
"""

from headatlas.quantile import Axis, axis
from headatlas.tsne.activity import Activity, activity, chains, maximum_attention
from headatlas.tsne.affinity import Affinity, affinity
from headatlas.tsne.align import align
from headatlas.tsne.experiments import compare, robustness
from headatlas.tsne.heads import Layouts, heads
from headatlas.tsne.hidden import States, hidden
from headatlas.tsne.kernel import layouts
from headatlas.tsne.summary import compared, robust
from headatlas.tsne.words import words

__all__ = [
    "Activity", "Affinity", "Axis", "Layouts", "States", "activity", "affinity", "align", "axis", "chains", "compare",
    "compared", "heads", "hidden", "layouts", "maximum_attention", "robust", "robustness", "words",
]  # fmt: skip
