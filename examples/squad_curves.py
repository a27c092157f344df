"""A figure of what `squad_before_after.py --json` printed: how scores grow with training, and what thresholds trade.

python examples/squad_curves.py RESULT.json -o curves.png
"""

import argparse
import json
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headatlas.plot.style import CATEGORIES, TEXT, TITLE, theme

LOOK = theme(dark=False)
LEARNED = {
    "HasAns_f1 if all are answered": "f1 where there is an answer,\nall questions answered",
    "best f1": "best f1",
}
CHOSEN = {"0": "threshold 0", "best f1": "best f1 elsewhere", "HasAns_f1": "HasAns_f1 ≥ 50 elsewhere"}


def prepare(axes: Axes, title: str, x: str) -> None:
    axes.set_title(title, fontsize=TITLE, loc="left", color=LOOK.ink)
    axes.set_xlabel(x, fontsize=TEXT, color=LOOK.muted)
    axes.tick_params(labelsize=TEXT, colors=LOOK.muted, length=0)
    axes.grid(color=LOOK.hairline, linewidth=0.6)
    axes.spines[:].set_visible(False)


def draw_learning(axes: Axes, seeds: dict[str, dict]) -> None:
    """Scores on the articles that choose, by questions read; one line per seed."""
    prepare(axes, "Articles that choose thresholds, while training", "questions read")
    for color, (key, label) in zip(CATEGORIES, LEARNED.items(), strict=False):
        for number, found in enumerate(seeds.values()):
            rows = found["curve"]
            points = [row["questions"] for row in rows], [row[key] for row in rows]
            axes.plot(*points, color=color, marker="o", markersize=3, label=None if number else label)
    axes.set_ylim(0, 80)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("score", fontsize=TEXT, color=LOOK.muted)
    axes.legend(fontsize=TEXT, frameon=False, labelcolor=LOOK.ink)


def draw_trade(axes: Axes, seeds: dict[str, dict]) -> None:
    """f1 against f1 where there is an answer, over all thresholds, on the articles that are scored."""
    prepare(axes, "Other articles, at every threshold", "HasAns_f1")
    colors = dict(zip(seeds, CATEGORIES[2:], strict=False))
    for name, found in seeds.items():
        line = [row["HasAns_f1"] for row in found["all"]], [row["f1"] for row in found["all"]]
        axes.plot(*line, color=colors[name], label=name)
    for marker, (key, label) in zip("s^o", CHOSEN.items(), strict=True):
        axes.plot([], [], marker, color=LOOK.muted, markersize=5, label=label)
        for name, found in seeds.items():
            axes.plot(found[key]["HasAns_f1"][0], found[key]["f1"][0], marker, color=colors[name], markersize=5)
    never = next(iter(seeds.values()))["never answering"]
    axes.axhline(never, color=LOOK.muted, linewidth=0.8, linestyle="--", label="never answering")
    axes.set_ylabel("f1", fontsize=TEXT, color=LOOK.muted)
    axes.legend(fontsize=TEXT, frameon=False, labelcolor=LOOK.ink)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    result = json.loads(options.result.read_text())
    seeds = {name: found for name, found in result.items() if name.startswith("seed")}
    figure = Figure((9.2, 3.4), layout="constrained", facecolor=LOOK.paper)
    learning, trade = figure.subplots(1, 2)
    draw_learning(learning, seeds)
    draw_trade(trade, seeds)
    figure.savefig(options.output, dpi=160)


if __name__ == "__main__":
    main()
