"""Which points of a plot to call misplaced: by trust, or by the true neighbors that they keep.

    python benchmarks/qk_misplaced.py ATLAS [--heads 0.5 2.9 3.4 5.7] [--tokens 1000 5000]

The same heads are drawn by t-SNE with few and with many tokens. A rule must not call more points misplaced only because
there are more points in the plot: with more points, the 15 nearest are a smaller part of all, and harder to keep.
"""

import argparse

import headatlas as ha
from headatlas.stages.qk.embedding import embed_head
from headatlas.stages.qk.points import choose_points
from headatlas.stages.qk.vectors import read_layer
from headatlas.wording.thresholds import MISPLACED

KEPT = 0.2  # the other rule: a point is misplaced if it keeps less than a fifth of its true neighbors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("atlas")
    parser.add_argument("--heads", nargs="+", default=["0.5", "2.9", "3.4", "5.7"])
    parser.add_argument("--tokens", nargs="+", type=int, default=[1000, 5000])
    options = parser.parse_args()
    atlas = ha.open(options.atlas)
    print(f"head    points  trust   kept  trust < {MISPLACED:g}  kept < {KEPT:g}")
    for name in options.heads:
        layer, head = map(int, name.split("."))
        for tokens in options.tokens:
            rows = choose_points(atlas, tokens, 0).row
            query, key = read_layer(atlas, rows, atlas.header["model"]["layers"][layer])
            plot = embed_head(query[:, head], key[:, head], "tsne", 2, 0)
            trust, kept = plot.facts["trust"], plot.facts["kept"]
            by_trust, by_kept = (plot.trust < MISPLACED).mean(), (plot.kept < KEPT).mean()
            print(f"L{layer}·H{head} {len(plot.trust):9,}  {trust:.3f}  {kept:.3f}  {by_trust:11.1%}  {by_kept:10.1%}")


if __name__ == "__main__":
    main()
