"""Draw the pictures of README and docs.

headatlas demo
headatlas run packaged squad:dev-v2.0.json -o squad.atlas
python examples/pictures.py demo.atlas squad.atlas docs/images
"""

import sys
from pathlib import Path

import headatlas as ha

TEXT = "The cat sat on the mat, and the dog lay next to it."


def main(demo: str, squad: str, folder: str) -> None:
    small, large = ha.open(demo), ha.open(squad)
    attention = ha.models.attention("packaged", TEXT)
    figures = {
        "head": ha.plot.head(small, 2, 9, of="tree"),
        "map": ha.plot.map(attention, 2, 9),
        "clusters": ha.plot.clusters(small, of="kmeans", most=10),
        "squad-clusters": ha.plot.clusters(large, of="kmeans", most=12, exemplars=3),
        "squad-layers": ha.plot.layers(large, of="kmeans"),
        "squad-heads": ha.plot.heads(large, of="kmeans"),
    }
    for name, figure in figures.items():
        ha.plot.save(figure, Path(folder) / f"{name}.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
