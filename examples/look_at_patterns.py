"""Do names of patterns say what their maps show? A sheet of random nodes of the tree, to be judged by eye.

    python examples/look_at_patterns.py x.atlas sheet.png --nodes 10 --seed 0

Each row is a node that is a cluster in some cut into up to 60 clusters: its name and sentence, the mean of its maps,
the maps nearest to its center, and maps drawn at random. The same atlas and seed give the same sheet.
"""

import argparse

import numpy as np

import headatlas as ha
from headatlas import wording
from headatlas.atlas import summaries
from headatlas.atlas.trees import named_nodes, node_levels, node_maps
from headatlas.plot.style import MAPS_NOTE, SMALL, TEXT, Page, draw_map, fit
from headatlas.stages.correlate.exemplars import exemplars
from headatlas.stages.correlate.summary import pattern

SIDE, GAP, WORDS, ROW = 1.0, 0.1, 3.4, 1.42
EACH = 4  # typical maps, and random ones


def drawn_nodes(atlas, of, count, rng):
    """Random nodes of all cuts, but the root, in the order of their numbers."""
    table = atlas.table("nodes", of)
    parent = table["parent"].to_pylist()
    nodes = [node for node in node_levels(table) if parent[node] is not None]
    return sorted(rng.choice(nodes, min(count, len(nodes)), replace=False).tolist())


def members(atlas, of, node):
    """The maps (example, layer, head) of a node, and the distance of their vectors from the mean of them."""
    row = atlas.table("nodes", of).slice(node, 1).to_pylist()[0]
    leaves = atlas.read("leaves", of=of)
    places = np.argwhere((leaves >= row["first_leaf"]) & (leaves <= row["last_leaf"]))
    vectors = atlas.read("features", of=atlas.source("cluster", of))[tuple(places.T)].astype(np.float32)
    return places, np.linalg.norm(vectors - vectors.mean(0), axis=1)


def shown_maps(atlas, of, node, rng):
    """Typical maps of a node, then random ones."""
    places, distance = members(atlas, of, node)
    slot = places[:, 1] * 1000 + places[:, 2]
    typical = exemplars(distance, places[:, 0], slot, EACH)
    return np.concatenate([places[typical], places[rng.choice(len(places), min(EACH, len(places)), replace=False)]])


def draw_row(page, top, row, mean, places, maps):
    name = fit(row["name"], WORDS - 0.2, TEXT + 1, bold=True)
    page.text(0, top, "\n".join([f"node {row['node']}", *name]), size=TEXT + 1, weight="bold", linespacing=1.2)
    sentence = fit(pattern(row), WORDS - 0.2, SMALL)[:6]
    page.text(0, top + 0.2 + 0.18 * len(name), "\n".join(sentence), size=SMALL, linespacing=1.3)
    draw_map(page.axes(WORDS, top, SIDE, SIDE), mean, page.look)
    for number, (place, values) in enumerate(zip(places.tolist(), maps, strict=True)):
        left = WORDS + (number + 1) * (SIDE + GAP) + (0.2 if number < EACH else 0.4)
        draw_map(page.axes(left, top, SIDE, SIDE), values, page.look)
        page.text(left, top + SIDE + 0.03, f"{wording.head_name(*place[1:])}, example {place[0]}", size=SMALL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("atlas")
    parser.add_argument("picture")
    parser.add_argument("--of", help="a clustering by method tree; the latest by default")
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    atlas, rng = ha.open(arguments.atlas), np.random.default_rng(arguments.seed)
    of = arguments.of or atlas.latest("cluster")
    nodes = drawn_nodes(atlas, of, arguments.nodes, rng)
    rows = named_nodes(atlas, of)
    means = dict(zip(node_levels(atlas.table("nodes", of)), node_maps(atlas, of), strict=True))
    title = f"{len(nodes)} random nodes of “{of}”, seed {arguments.seed}: mean, typical maps, random maps"
    page = Page(WORDS + (1 + 2 * EACH) * (SIDE + GAP) + 0.5, len(nodes) * ROW, title, MAPS_NOTE, dark=False)
    for number, node in enumerate(nodes):
        places = shown_maps(atlas, of, node, rng)
        draw_row(page, number * ROW, rows[node], means[node], places, summaries.pooled(atlas, places))
    ha.plot.save(page.figure, arguments.picture)


if __name__ == "__main__":
    main()
