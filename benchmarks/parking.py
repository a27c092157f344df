"""Do heads with a role rest on separators, or on the first token, where they have nothing to attend to?

    python benchmarks/parking.py wiki.valid.raw [--models packaged SMOLLM2] [--count 40] [--json]

Prints, for each model, how much attention its heads put on both, and one row per role by content that some head has:
attention of its heads to what they rest on, where the role does not apply and where it does, the difference above
chance, that of the other heads of their layers, p over heads, and how many heads put a larger share there of the
attention that is not on keys of the role.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from detectors import MAX_TOKENS, collected, paragraphs

import headatlas as ha
from headatlas.wording.heads import head_name
from headatlas.wording.numbers import p_value

COLUMNS = (
    "role", "rests on", "heads that rest more", "without a key", "with one", "above chance", "other heads", "p",
    "also of what is left", "strongest",
)  # fmt: skip


def measured(model: ha.models.Model, texts: list[str]) -> dict:
    """The facts of a model, with means over the heads of each role, and the strongest head."""
    atlas = collected(model, texts, MAX_TOKENS)
    start = time.process_time()
    table = ha.probe.parking(atlas, examples=len(texts), model=model).to_pandas()
    seconds = time.process_time() - start
    facts = atlas.facts("probe", "parking")
    for role in facts["roles"]:
        heads = table[table.role & (table.detector == role["detector"]) & (table.rest == role["rest"])]
        best = heads.sort_values("effect").iloc[-1]
        role |= {name: float(heads[name].mean()) for name in ("applies", "otherwise")}
        role["best"] = head_name(int(best["layer"]), int(best["head"]))
        role["best_effect"] = [float(best[name]) for name in ("effect", "effect_low", "effect_high")]
    return {"seconds": round(seconds, 1), "texts": len(texts), **facts}


def show(name: str, found: dict) -> None:
    shares = ", ".join(f"{rest} {share:.3f}" for rest, share in found["rests"].items())
    print(f"\n{name}: {found['texts']} texts, {found['seconds']} s of CPU time; attention of all heads: {shares}\n")
    print(f"| {' | '.join(COLUMNS)} |\n{'| --- ' * len(COLUMNS)}|")
    for row in found["roles"]:
        effect, low, high = row["best_effect"]
        cells = [
            f"`{row['detector']}`", row["rest"], f"{row['parking']} of {row['heads']}", f"{row['otherwise']:.3f}",
            f"{row['applies']:.3f}", f"{row['effect']:.3f}", f"{row['others']:.3f}", p_value(row["p"]),
            f"{row['beyond']} of {row['heads']}", f"{row['best']}: {effect:.3f} [{low:.3f}, {high:.3f}]",
        ]  # fmt: skip
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--models", nargs="+", default=["packaged"])
    parser.add_argument("--count", type=int, default=40, help="paragraphs")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    texts, results = paragraphs(arguments.texts, arguments.count), {}
    for name in arguments.models:
        model = ha.models.load(name)
        results[model.name] = measured(model, texts)
        if not arguments.json:
            show(model.name, results[model.name])
    if arguments.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
