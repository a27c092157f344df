"""Do the published observations on head t-SNE hold? Both experiments on Wikipedia text, for any models.

    python examples/head_tsne.py wiki.valid.raw OUT packaged path/to/smollm2

Paragraphs of 80 to 110 words are taken at even distances from a WikiText file: `--texts` (8) for the comparison, the
first `--disturbed` (2) of them for robustness. Published: above the first layer head t-SNE has the higher KL and the
higher variance; under disturbance its deviation grows less. Results lie in OUT/MODEL; the same command goes on after a
stop.
"""

import argparse
from collections import Counter
from pathlib import Path

import headatlas as ha

WORDS = range(80, 111)


def paragraphs(path: Path, count: int) -> list[str]:
    """Evenly spaced paragraphs."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    fitting = [line for line in lines if len(line.split()) in WORDS and not line.startswith("= ")]
    return [fitting[number * len(fitting) // count] for number in range(count)]


def pairs(table) -> dict[int, tuple[dict, dict]]:
    """By layer: the row of head t-SNE and that of standard t-SNE."""
    rows = {(row["layer"], row["kind"]): row for row in table.to_pylist()}
    layers = sorted({layer for layer, kind in rows if kind == "standard"})
    return {layer: (rows[layer, "head"], rows[layer, "standard"]) for layer in layers}


def verdict(what: str, by_layer: dict[int, bool]) -> None:
    """In how many layers above the first something holds."""
    above = [holds for layer, holds in by_layer.items() if layer > 0]
    print(f"  {what}: in {sum(above)} of {len(above)} layers above the first; in the first: {by_layer[0]}")


def longest(name: str, texts: list[str]) -> None:
    """Which head has the longest chain on each text."""
    model = ha.models.load(name)
    first = Counter()
    for text in texts:
        row, second = ha.tsne.activity(model, text).ranked("chain")[:2]
        first[f"L{row['layer']}·H{row['head']}"] += 1
        print(f"  longest chain: L{row['layer']}·H{row['head']}, {row['chain']} steps", end="; ")
        print(f"next: L{second['layer']}·H{second['head']}, {second['chain']}")
    print(f"  first: {', '.join(f'{head} on {count}' for head, count in first.most_common())}")


def collected(name: str, texts: list[str], out: Path) -> ha.Atlas:
    """An atlas of these texts, which the experiments run on."""
    return ha.collect.maps(name, texts, out / f"{len(texts)}-texts.atlas")


def compare(name: str, texts: list[str], out: Path, runs: int) -> None:
    """KL of both kinds of t-SNE."""
    table = ha.tsne.compare(collected(name, texts, out), runs=runs)
    ha.plot.save(ha.plot.tsne.compare(table), out / "compare.png")
    by_layer = pairs(ha.tsne.compared(table))
    tokens = sorted(set(table["tokens"].to_pylist()))
    print(
        f"  compared: {len(texts)} texts of {tokens[0]} to {tokens[-1]} tokens, {runs} runs, {table.num_rows:,} layouts"
    )
    for what, key in (
        ("higher median KL", "kl_median"),
        ("higher spread", "spread"),
        ("higher deviation over runs", "deviation"),
    ):
        verdict(what, {layer: head[key] > other[key] for layer, (head, other) in by_layer.items()})
        values = [(head[key], other[key]) for layer, (head, other) in by_layer.items() if layer > 0]
        means = [sum(column) / len(values) for column in zip(*values, strict=True)]
        print(f"    mean of the layers above the first: {means[0]:.4f} against {means[1]:.4f}")


def robustness(name: str, texts: list[str], out: Path, repeats: int) -> None:
    """KL of both kinds with and without replaced tokens."""
    table = ha.tsne.robustness(collected(name, texts, out), examples=range(len(texts)), repeats=repeats)
    ha.plot.save(ha.plot.tsne.robustness(table), out / "robustness.png")
    by_layer = pairs(ha.tsne.robust(table))
    print(f"  disturbed: {len(texts)} texts, {repeats:,} times each, {table.num_rows:,} layouts")
    growth = {
        "as a ratio": lambda row: row["deviation_growth"],
        "by amount": lambda row: row["deviation_added"],
        "by amount, as a share of mean KL": lambda row: row["deviation_added"] / row["mean_without"],
    }
    for how, of in growth.items():
        verdict(f"deviation grows less, {how}", {layer: of(both[0]) < of(both[1]) for layer, both in by_layer.items()})
    for layer, both in by_layer.items():
        parts = (
            "{kind}: mean ×{mean_growth:.3f}, deviation {deviation_without:.4f} → {deviation_with:.4f}".format(**row)
            for row in both
        )
        print(f"    L{layer}: " + "; ".join(parts))


def main() -> None:
    """Both experiments for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wikitext", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--texts", type=int, default=8)
    parser.add_argument("--disturbed", type=int, default=2)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=1000)
    given = parser.parse_args()
    texts = paragraphs(given.wikitext, given.texts)
    for name in given.models:
        print(name, flush=True)
        out = given.out / Path(name).name
        longest(name, texts)
        compare(name, texts, out, given.runs)
        if given.disturbed:
            robustness(name, texts[: given.disturbed], out, given.repeats)


if __name__ == "__main__":
    main()
