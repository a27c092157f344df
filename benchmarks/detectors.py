"""Which heads have a role, and how often would chance alone give one?

    python benchmarks/detectors.py wiki.valid.raw [--models packaged SMOLLM2] [--count 64] [--draws 20] [--json]

Prints two tables for each model. The first has the number of heads of each role on the paragraphs of the file, and the
strongest head. The second has the share of heads with p < 0.05 where there is nothing to find, since the tokens that a
detector is told about are not those that the model read:

- shuffled: the model reads the tokens of a text in random order, and the detector gets another random order of them
- other text: the model reads a text, and the detector gets the tokens of another text, which keep their own order
- repeated: the model reads repeated random tokens, and the detector gets others, repeated at another distance

each with the test of `probe detect`, which shifts tokens, and for comparison with one that shuffles them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

import headatlas as ha
from headatlas.models.encode import Encoded
from headatlas.models.groups import text_groups
from headatlas.models.shuffle import shifted, shuffled
from headatlas.stages.probe.detection import DRAWS, text_rows
from headatlas.stages.probe.detectors import BY_NAME, REPEATED, TEXTS
from headatlas.stages.probe.repeated import Sequences
from headatlas.stages.probe.roles import tested
from headatlas.stages.probe.source import MOST_TOKENS, ExampleMaps, Source
from headatlas.wording.heads import head_name

LEAST_WORDS = 64
MAX_TOKENS = 128
SAME_TOKENS = 64  # of each text in the second table: all are longer
SEQUENCES = 24
LABELS = ["shuffled", "repeated", "other"]

Draw = Callable[[Encoded, int, int], Encoded]  # of chance: labels, number of the text, number of the draw


def paragraphs(path: Path, count: int) -> list[str]:
    """The first paragraphs of a WikiText file that are neither short nor headings."""
    lines = (line.strip() for line in path.open(encoding="utf-8"))
    return [line for line in lines if len(line.split()) >= LEAST_WORDS and not line.startswith("= ")][:count]


def collected(model: ha.models.Model, texts: list[str], tokens: int) -> ha.Atlas:
    url = f"memory://detectors-{model.name}-{tokens}.atlas"
    return ha.collect.maps(model, texts, url, max_tokens=tokens, resolution=8, qk_tokens=0)


def roles(model: ha.models.Model, texts: list[str]) -> dict:
    """Heads of each role, with the strongest."""
    atlas = collected(model, texts, MAX_TOKENS)
    start = time.perf_counter()
    table = ha.probe.detect(atlas, examples=len(texts), model=model).to_pandas()
    seconds = time.perf_counter() - start
    rows = []
    for (detector, on), heads in table.groupby(["detector", "on"], sort=False):
        if not heads.score.notna().any():
            continue
        best = heads.sort_values("effect").iloc[-1]
        name = head_name(int(best["layer"]), int(best["head"]))
        numbers = {key: float(best[key]) for key in ("score", "low", "high", "chance", "p", "q")}
        counts = {"heads": len(heads), "significant": int((heads.q < 0.05).sum()), "roles": int(heads.role.sum())}
        rows.append({"detector": detector, "on": on, **counts, "best": name, **numbers})
    return {"seconds": round(seconds, 1), "rows": rows}


def by_shift(labels: Encoded, number: int, draw: int) -> Encoded:
    return shifted(labels, 1, number, draw)


def by_shuffle(labels: Encoded, number: int, draw: int) -> Encoded:
    return shuffled(labels, 1000 + draw, number)


def false_shares(
    source: Source, examples: list[ExampleMaps], labels: Iterator[list[Encoded]], draw: Draw, on: str = TEXTS
) -> dict[str, list[float]]:
    """Shares of heads with p < 0.05 by detector, one for each set of labels."""
    shares: dict[str, list[float]] = {}
    for each in labels:
        tables = []
        for example, label in zip(examples, each, strict=True):
            draws = [draw(label, example.number, number) for number in range(DRAWS)]
            tables += text_rows(replace(example, encoded=label), source.model.layers, draws, on)
        groups = np.arange(max(example.number for example in examples) + 1)
        heads = pa.concat_tables(tested(source.model.layers, pa.concat_tables(tables), groups, on)).to_pandas()
        heads = heads[[BY_NAME[name].chance == "tokens" for name in heads.detector]].dropna(subset="p")
        for detector, p in heads.groupby("detector", sort=False)["p"]:
            shares.setdefault(detector, []).append(float((p < 0.05).mean()))
    return shares


def calibration(
    model: ha.models.Model, texts: list[str], draws: int, kinds: list[str]
) -> Iterator[tuple[str, str, dict]]:
    """False shares of every way to draw labels that have nothing to do with what was read: labels, chance, shares."""
    source = Source(collected(model, texts, SAME_TOKENS), list(range(len(texts))), model)
    numbers = source.numbers
    read, mixed = list(source.maps(numbers)), list(source.maps(numbers, shuffled_by=0))

    def reshuffled() -> Iterator[list[Encoded]]:
        for draw in range(1, draws + 1):
            yield [shuffled(example.encoded, draw, example.number) for example in mixed]

    def others() -> Iterator[list[Encoded]]:
        for draw in range(draws):
            order = np.random.default_rng(draw).permutation(len(read))
            given = dict(zip(order, np.roll(order, 1), strict=True))
            yield [read[given[place]].encoded for place in range(len(read))]

    if "shuffled" in kinds:
        yield "shuffled", "shift", false_shares(source, mixed, reshuffled(), by_shift)
    if "repeated" in kinds:
        yield "repeated", "redrawn", repeated(source, draws)
    if "other" in kinds:
        yield "other text", "shift", false_shares(source, read, others(), by_shift)
        yield "other text", "shuffle", false_shares(source, read, others(), by_shuffle)


def repeated(source: Source, draws: int) -> dict[str, list[float]]:
    sequences = Sequences(source.model, 0)
    encoded = [sequences.draw(number) for number in range(SEQUENCES)]
    groups = text_groups(source.model, encoded, MOST_TOKENS)
    examples = list(source.maps_of(groups, range(SEQUENCES)))
    labels = ([sequences.draw(each.number, 10_000 + draw) for each in examples] for draw in range(draws))

    def redrawn(label: Encoded, number: int, draw: int) -> Encoded:
        return sequences.draw(number, draw + 1)

    return false_shares(source, examples, labels, redrawn, REPEATED)


def show_roles(name: str, texts: int, found: dict) -> None:
    print(f"\n{name}: {texts} texts, {found['seconds']} s\n")
    print(
        "| role | read | heads with the role | q < 0.05 | strongest | score | interval | chance |\n"
        + "| --- " * 8
        + "|"
    )
    for row in found["rows"]:
        print(
            f"| `{row['detector']}` | {row['on']} | {row['roles']} of {row['heads']} | {row['significant']} | "
            f"{row['best']} | {row['score']:.3f} | {row['low']:.3f} to {row['high']:.3f} | {row['chance']:.3f} |"
        )
    print(
        "\n| labels | chance by | role | heads with p < 0.05, mean over draws | most |\n" + "| --- " * 5 + "|",
        flush=True,
    )


def show_shares(labels: str, way: str, shares: dict) -> None:
    for detector, values in shares.items():
        error = np.std(values, ddof=1) / len(values) ** 0.5
        percent = f"{100 * np.mean(values):.1f}% ± {100 * error:.1f}% | {100 * max(values):.1f}%"
        print(f"| {labels} | {way} | `{detector}` | {percent} |", flush=True)


def measured(model: ha.models.Model, texts: list[str], arguments: argparse.Namespace) -> dict:
    """Both tables of a model, printed as they are ready unless JSON is wanted."""
    found, shares = roles(model, texts), []
    if not arguments.json:
        show_roles(model.name, len(texts), found)
    for labels, way, each in calibration(model, texts[: arguments.null_texts], arguments.draws, arguments.labels):
        shares.append({"labels": labels, "chance": way, "shares": each})
        if not arguments.json:
            show_shares(labels, way, each)
    return {"texts": len(texts), "roles": found, "calibration": shares}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--models", nargs="+", default=["packaged"])
    parser.add_argument("--count", type=int, default=64, help="paragraphs")
    parser.add_argument("--null-texts", type=int, default=24, help="paragraphs of the second table")
    parser.add_argument("--draws", type=int, default=20, help="sets of labels in the second table")
    parser.add_argument("--labels", nargs="+", default=LABELS, choices=LABELS, help="rows of the second table")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    texts, results = paragraphs(arguments.texts, arguments.count), {}
    for name in arguments.models:
        model = ha.models.load(name)
        results[model.name] = measured(model, texts, arguments)
    if arguments.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
