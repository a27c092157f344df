"""Which patterns are there without what was learned, and which without word order?

    python benchmarks/null.py wiki.valid.raw [--models packaged SMOLLM2] [--encoders profile] [--seeds 0 1] [--json]

Each model is collected on the first paragraphs of the file, its maps are encoded and clustered with the defaults (a
tree), and maps of null models are assigned to its clusters. Prints a table per model and encoder: the share of each
pattern, by the same rule, for the model itself and for null models (from the lowest to the highest of all seeds), how
many heads have one job, and how similar heads of one layer are. Atlases go to a temporary folder, or to --keep FOLDER,
where a stopped run continues.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import headatlas as ha
from headatlas.wording.nulls import NONE, NULLS, REAL

LEAST_WORDS = 64
MAX_TOKENS = 256


def paragraphs(path: Path, count: int) -> list[str]:
    """The first paragraphs of a WikiText file that are neither short nor headings."""
    lines = (line.strip() for line in path.open(encoding="utf-8"))
    return [line for line in lines if len(line.split()) >= LEAST_WORDS and not line.startswith("= ")][:count]


def measure(atlas: ha.Atlas, model: ha.models.Model, encoder: str, seeds: list[int]) -> dict:
    """Shares, jobs and locality of the model itself and of null models, for each seed."""
    ha.features.image(atlas, encoder)
    ha.cluster.tree(atlas, of=encoder, name=encoder)
    ha.correlate.clusters(atlas, of=encoder, permutations=99)
    names = {row["cluster"]: row["name"] for row in atlas.table("clusters", encoder).to_pylist()}
    runs, seconds = [], []
    for seed in seeds:
        start = time.perf_counter()
        ha.null.references(atlas, of=encoder, examples=10**6, seed=seed, model=model)
        seconds.append(round(time.perf_counter() - start, 1))
        runs.append(
            {name: atlas.table(f"null_{name}", encoder).to_pylist() for name in ("shares", "heads", "locality")}
        )
    return {
        "encoder": encoder,
        "seconds": seconds,
        "patterns": [_pattern(runs, cluster, name) for cluster, name in [*names.items(), (None, NONE)]],
        "heads": sum(row["kind"] == REAL for row in runs[0]["heads"]),
        "one_job": {kind: [_jobs(run["heads"], kind) for run in runs] for kind in (REAL, *NULLS)},
        "same_layer": {kind: [_similar(run["locality"], kind) for run in runs] for kind in (REAL, *NULLS)},
    }


def _pattern(runs: list[dict], cluster: int | None, name: str) -> dict:
    rows = [[row for row in run["shares"] if row["cluster"] == cluster] for run in runs]
    shares = {kind: [row["share"] for run in rows for row in run if row["kind"] == kind] for kind in NULLS}
    intervals = {row["kind"]: [row["low"], row["high"]] for row in rows[0]}
    kept = {row["kind"]: row["kept"] for row in rows[0]}
    known = {"name": name, "cluster": cluster, "real": rows[0][0]["share_real"]}
    return known | shares | {"intervals": intervals, "kept": kept}


def _jobs(rows: list[dict], kind: str) -> int:
    return sum(row["one_job"] for row in rows if row["kind"] == kind)


def _similar(rows: list[dict], kind: str) -> list[float]:
    row = next(row for row in rows if row["kind"] == kind and row["neighbors"] == "same layer")
    return [row["similarity"], row["all_pairs"]]


def percent(values: list[float]) -> str:
    low, high = (f"{100 * value:.1f}" for value in (min(values), max(values)))
    return f"{low}%" if low == high else f"{low}–{high}%"


def show(name: str, result: dict) -> None:
    print(f"\n{name}, {result['encoder']}: {result['heads']} heads; {result['seconds']} s per seed\n")
    print(f"| pattern | model | {' | '.join(NULLS.values())} | kept with shuffled words |")
    print(f"| --- |{' ---: |' * (len(NULLS) + 2)}")
    for row in result["patterns"]:
        shares = [percent(row[kind]) for kind in NULLS]
        print(f"| {' | '.join([row['name'], percent([row['real']]), *shares, percent([row['kept']['shuffled']])])} |")
    jobs = ["–".join(map(str, sorted({min(counts), max(counts)}))) for counts in result["one_job"].values()]
    print(f"| *heads with one job* | {' | '.join(jobs)} | |")
    alike = [result["same_layer"][kind][0] for kind in (REAL, *NULLS)]
    print(f"| *similarity in a layer (all pairs)* | {' | '.join(f'{a:.2f} ({b:.2f})' for a, b in alike)} | |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wikitext", type=Path, help="a file with one paragraph per line")
    parser.add_argument("--models", nargs="+", default=["packaged"], help="models as `headatlas collect` takes them")
    parser.add_argument("--encoders", nargs="+", default=["profile"])
    parser.add_argument("--paragraphs", type=int, default=64)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--keep", type=Path, help="folder for the atlases")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    texts = paragraphs(arguments.wikitext, arguments.paragraphs)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.models:
            model = ha.models.load(name)
            path = (arguments.keep or Path(folder)) / f"{model.name}.atlas"
            atlas = ha.collect.maps(model, texts, path, max_tokens=MAX_TOKENS, qk_tokens=0)
            for encoder in arguments.encoders:
                results.append({"model": model.name} | measure(atlas, model, encoder, arguments.seeds))
                if not arguments.json:
                    show(model.name, results[-1])
    if arguments.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
