"""What does fine-tuning on SQuAD change in the heads of a model? The numbers of docs/finetune.md and docs/compare.md.

    python examples/squad_before_after.py FOLDER MODEL --train TRAIN.json … --dev dev-v2.0.json [--minutes 80] [--json]

Two seeds of the model are trained, each as long as `--minutes`. Of the articles to evaluate with, every fifth only
chooses the thresholds for "no answer" (the best f1, and the best f1 with a HasAns_f1 of at least 50) and draws the
learning curve; the questions on every third passage of the others are scored. Both seeds and
the model before are collected on one question of every second passage, and compared. What is in FOLDER already is
not computed again.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd

import headatlas as ha

RECIPE = {"unanswerable": 0.4, "max_tokens": 256, "overlap": 64, "dropout": 0.0, "learning_rate": 1.5e-4}
KEPT = {"evaluate_every": 500, "save_every": 500, "threads": 1}
CHOOSING = 5  # every such article chooses the threshold
LEAST = 50  # of HasAns_f1 that a threshold must leave there


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


def at(rows: pd.DataFrame, threshold: float) -> dict[str, tuple[float, float, float]]:
    """Scores with a threshold, from the best answer to every question, with 95% intervals over passages."""
    silent = (rows.difference > threshold).to_numpy()
    draws = np.random.default_rng(0).multinomial(rows.passage.nunique(), _even(rows), 1000)
    scores = {}
    for measure in ("exact", "f1"):
        value = np.where(silent, ~rows.answerable, rows[measure])
        for prefix, chosen in (("", rows.id != ""), ("HasAns_", rows.answerable), ("NoAns_", ~rows.answerable)):
            sums, counts = (np.bincount(rows.passage, part, draws.shape[1]) for part in (value * chosen, chosen))
            low, high = np.percentile(draws @ sums / (draws @ counts), [2.5, 97.5])
            scores[f"{prefix}{measure}"] = tuple(float(100 * each) for each in (sums.sum() / counts.sum(), low, high))
    return scores


def _even(rows: pd.DataFrame) -> np.ndarray:
    present = np.bincount(rows.passage) > 0
    return present / present.sum()


def best_threshold(rows: pd.DataFrame, least: float) -> float:
    """The threshold with the best f1 among those that leave at least so much of HasAns_f1."""
    order = rows.sort_values("difference")
    has, no = order.answerable.to_numpy(), (~order.answerable).to_numpy()
    found = np.cumsum(order.f1 * has)
    f1 = found + (order.f1 * no).cumsum() + no.sum() - np.cumsum(no)
    allowed = 100 * found / has.sum() >= least
    return float(order.difference.iloc[int(np.where(allowed, f1, -1).argmax())])


def answers(model: Path, data: str) -> pd.DataFrame:
    """The best answer to every question, whatever its score."""
    return ha.evaluate.questions(model, data, threshold="never").predictions.to_pandas().dropna(subset="difference")


def scored(model: Path, data: dict[str, str]) -> dict:
    """Scores at thresholds that were chosen on other articles, and at 0."""
    choosing, scoring = answers(model, data["choose"]), answers(model, data["score"])
    thresholds = {"0": 0.0, "best f1": best_threshold(choosing, 0), "HasAns_f1": best_threshold(choosing, LEAST)}
    never = 100 * float((~scoring.answerable).mean())
    rows = {name: {"threshold": value, **at(scoring, value)} for name, value in thresholds.items()}
    return {"questions": len(scoring), "never answering": never, "area": area(scoring), **rows, "all": trade(scoring)}


def trade(rows: pd.DataFrame) -> list[dict[str, float]]:
    """What each threshold gives: to look at, not to choose by."""
    thresholds = np.quantile(rows.difference, np.linspace(0, 1, 51))
    scores = [(float(threshold), at(rows, threshold)) for threshold in thresholds]
    return [{"threshold": value, "HasAns_f1": row["HasAns_f1"][0], "f1": row["f1"][0]} for value, row in scores]


def area(rows: pd.DataFrame) -> float:
    """How well the score of "no answer" tells the unanswerable questions; 0.5 is chance."""
    ranks, no = rows.difference.rank(), ~rows.answerable
    return float((ranks[no].sum() - no.sum() * (no.sum() + 1) / 2) / (no.sum() * (~no).sum()))


def measure(options: argparse.Namespace) -> dict:
    """Scores of both seeds, on the way and at the end, and what changed."""
    data, found, atlases = parts(options.dev, options.folder), {}, []
    for seed in range(2):
        model = train(options, seed)
        steps = sorted(model.glob("steps/*"))
        curve = {path.name: answers(path, data["choose"]) for path in steps}
        found[f"seed {seed}"] = scored(model, data)
        rows = [json.loads(line) for line in (model / "metrics.jsonl").open()]
        read = {row["step"]: row["examples"] for row in rows if row["kind"] == "training"}
        found[f"seed {seed}"]["curve"] = [
            {"step": int(name), "questions": read.get(int(name), 0), **_curve(rows)} for name, rows in curve.items()
        ]
        path = options.folder / f"tuned{seed}.atlas"
        threshold = found[f"seed {seed}"]["HasAns_f1"]["threshold"]
        ha.evaluate.questions(model, data["collect"], threshold=threshold, collect=path)
        atlases.append(ha.open(path))
    base = ha.collect.maps(options.model, data["collect"], options.folder / "base.atlas")
    ha.features.image(base)
    ha.cluster.tree(base)
    ha.correlate.clusters(base)
    ha.compare.models(base, atlases[0], noise=[atlases[1]], name="tuned")
    return {**found, "summary": ha.compare.summary(base, "tuned")}


def _curve(rows: pd.DataFrame) -> dict[str, float]:
    """f1 of all best answers where there is one, the best f1 over thresholds, and the area."""
    plain, best = at(rows, float("inf")), at(rows, best_threshold(rows, 0))
    return {"HasAns_f1 if all are answered": plain["HasAns_f1"][0], "best f1": best["f1"][0], "area": area(rows)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("model")
    parser.add_argument("--train", nargs="+", required=True)
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=80)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    result = measure(options)
    if options.json:
        print(json.dumps(result, indent=1))
        return
    for name, values in result.items():
        print(values if name == "summary" else f"{name}:\n{json.dumps(values, indent=1)}")


if __name__ == "__main__":
    main()
