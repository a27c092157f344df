"""What does fine-tuning on SQuAD change in the heads of a model? The numbers of docs/finetune.md and docs/compare.md.

    python examples/squad_before_after.py FOLDER MODEL --train TRAIN.json … --dev dev-v2.0.json [--minutes 70] [--json]

Two seeds of the model are trained, each as long as `--minutes`. Of the articles to evaluate with, every fifth only
chooses the threshold for "no answer"; the questions on every third passage of the others are scored. Both seeds and
the model before are collected on one question of every second passage, and compared. What is in FOLDER already is
not computed again.
"""

import argparse
import json
from pathlib import Path

import headatlas as ha

RECIPE = {"unanswerable": 0.33, "max_tokens": 256, "overlap": 64, "dropout": 0.0, "learning_rate": 1.5e-4}
KEPT = {"evaluate_every": 250, "save_every": 250, "threads": 1}
CHOOSING = 5  # every such article chooses the threshold


def parts(dev: Path, folder: Path) -> dict[str, str]:
    """Three files of questions: to choose the threshold, to score, and to collect."""
    articles = json.loads(dev.read_text())["data"]
    rest = [article for number, article in enumerate(articles) if number % CHOOSING]
    selected = {
        "choose": _part(articles[::CHOOSING], 3, None),
        "score": _part(rest, 3, None),
        "collect": _part(rest, 2, 1),
    }
    for name, data in selected.items():
        (folder / f"{name}.json").write_text(json.dumps({"version": "v2.0", "data": data}))
    return {name: f"squad:{folder / name}.json" for name in selected}


def _part(articles: list[dict], spacing: int, questions: int | None) -> list[dict]:
    """Every so many passages of each article, with some of their questions, in turn from another place."""
    chosen = []
    for article in articles:
        passages = article["paragraphs"][::spacing]
        chosen.append(
            {**article, "paragraphs": [_some(passage, place, questions) for place, passage in enumerate(passages)]}
        )
    return chosen


def _some(passage: dict, place: int, count: int | None) -> dict:
    asked = passage["qas"]
    if count is None:
        return passage
    start = place % len(asked)
    return {**passage, "qas": (asked[start:] + asked[:start])[:count]}


def train(options: argparse.Namespace, seed: int) -> Path:
    """A fine-tuned model."""
    data = [f"squad:{path}" for path in options.train]
    folder = options.folder / f"qa{seed}"
    shared = {"evaluation": f"squad:{options.dev}", "minutes": options.minutes, "seed": seed}
    ha.finetune.questions(options.model, data, folder, **shared, **RECIPE, **KEPT)
    return folder


def measure(options: argparse.Namespace) -> dict:
    """Scores of both seeds, and what changed."""
    data, found, atlases = parts(options.dev, options.folder), {}, []
    for seed in range(2):
        model = train(options, seed)
        threshold = ha.evaluate.questions(model, data["choose"]).facts["best_f1_difference"]
        scored = ha.evaluate.questions(model, data["score"], threshold=threshold)
        path = options.folder / f"tuned{seed}.atlas"
        ha.evaluate.questions(model, data["collect"], threshold=threshold, collect=path)
        atlases.append(ha.open(path))
        plain = ha.evaluate.questions(model, data["score"]).scores
        found[f"seed {seed}"] = {"threshold": threshold, "at 0": plain, "scores": scored.score_table.to_pylist()}
    base = ha.collect.maps(options.model, data["collect"], options.folder / "base.atlas")
    ha.features.image(base)
    ha.cluster.tree(base)
    ha.correlate.clusters(base)
    ha.compare.models(base, atlases[0], noise=[atlases[1]], name="tuned")
    return {**found, "summary": ha.compare.summary(base, "tuned")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("model")
    parser.add_argument("--train", nargs="+", required=True)
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=70)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    result = measure(options)
    if options.json:
        print(json.dumps(result, indent=1))
        return
    for name, values in result.items():
        if name == "summary":
            print(values)
            continue
        at_zero = ", ".join(f"{key} {values['at 0'][key]:.1f}" for key in ("exact", "f1", "HasAns_f1", "NoAns_f1"))
        print(f"{name}: threshold {values['threshold']:.3g}; at threshold 0: {at_zero}")
        for row in values["scores"]:
            bounds = "" if row["low"] is None else f" [{row['low']:.1f}, {row['high']:.1f}]"
            print(f"  {row['measure']:16} {row['value']:.1f}{bounds}")


if __name__ == "__main__":
    main()
