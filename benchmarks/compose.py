"""Which heads connect: the strongest pairs of a model, and the rank of those that feed one head.

    python benchmarks/compose.py MODEL [--into LAYER HEAD] [--top 5] [--json]

All pairs of heads in different layers are ranked by the score of their weights, kind by kind. Beside each earlier head
is its attention to the previous token: the mean over a passage of our corpus that is read twice in a row.
"""

from __future__ import annotations

import argparse
import json


def trial_of(model):
    from headatlas import data
    from headatlas.models.batch import text_batch
    from headatlas.models.encode import encode

    passage = next(iter(data.load("sample"))).text[:300]
    return text_batch(model, encode(model, data.Example("0", text=f"{passage} {passage}"))[:1])


def previous_weights(model, trial):
    from headatlas.models import capture

    record = capture.Record()
    capture.run(model, trial.inputs, record)
    return {layer: maps[0].diagonal(-1, 1, 2).mean(-1).tolist() for layer, maps in record.maps.items()}


def ranked(model, trial):
    """Rows of each kind of composition, strongest first."""
    from headatlas.models.head_weights import head_weights
    from headatlas.stages.probe.composed import KINDS, connections

    previous, rows = previous_weights(model, trial), {kind: [] for kind in KINDS}
    for each in connections(model.layers, head_weights(model, trial)):
        first, second, found = each["layer_a"], each["layer_b"], each["found"]
        for a, scores in enumerate(found.score.tolist()):
            for b, score in enumerate(scores):
                numbers = {"score": score, "baseline": found.baseline, "previous": previous[first][a]}
                rows[each["kind"]].append({"from": [first, a], "to": [second, b]} | numbers)
    for kind in KINDS:
        rows[kind].sort(key=lambda row: -row["score"])
        rows[kind] = [row | {"rank": rank + 1} for rank, row in enumerate(rows[kind])]
    return rows


def show(row):
    (layer, head), (later, reader) = row["from"], row["to"]
    pair = f"L{layer}·H{head} → L{later}·H{reader}"
    print(f"  {row['rank']:>6}  {pair:24}{row['score']:.3f}   previous token {row['previous']:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--into", nargs=2, type=int, metavar=("LAYER", "HEAD"))
    parser.add_argument("--top", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    from headatlas import models

    model = models.load(given.model)
    report = {}
    for kind, rows in ranked(model, trial_of(model)).items():
        into = [row for row in rows if row["to"] == given.into][: given.top]
        report[kind] = {"pairs": len(rows), "baseline": rows[0]["baseline"], "top": rows[: given.top], "into": into}
    if given.json:
        print(json.dumps(report, indent=1))
    else:
        for kind, part in report.items():
            print(f"{kind} composition, {part['pairs']:,} pairs, random rotations {part['baseline']:.3f}")
            for row in [*part["top"], *part["into"]]:
                show(row)
