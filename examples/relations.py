"""Which relations of a treebank have a head of their own? The tables of docs/probe.md.

    python examples/relations.py FOLDER --models packaged SMOLLM2 --data en_ewt-ud-dev.conllu [--json]

Each model is collected on each treebank into FOLDER, unless it is there, and `probe syntax` is run on all sentences.
Head and offset are chosen on one half of the documents and scored on the other. A relation has a head of its own if the
interval of the gain over the best offset is above 0: bold. ↑ is from a word to its head in the tree, ↓ back.
"""

import argparse
import json
from pathlib import Path

import headatlas as ha


def relations(model, treebank: str, folder: Path) -> dict:
    """All relations of a treebank with the best head of a model."""
    path = folder / f"{Path(model.name).name}-{Path(treebank).name.split('.')[0]}.atlas"
    atlas = ha.collect.maps(model, ha.data.load(f"conllu:{treebank}"), path, qk_tokens=0)
    rows = ha.probe.syntax(atlas, model=model, examples=10**6).to_pylist()
    return {"model": model.name, "treebank": Path(treebank).name, **atlas.facts("probe", "syntax"), "relations": rows}


def percent(row: dict, name: str) -> str:
    """A share with its interval."""
    value, low, high = (100 * row[name + end] for end in ("", "_low", "_high"))
    return f"{value:.0f} [{low:.0f}, {high:.0f}]".replace("-", "−")


def best(row: dict) -> str:
    """The best head of a relation with its accuracy and gain, in bold if it beats the best offset."""
    arrow = {"up": "↑", "down": "↓"}[row["direction"]]
    text = f"L{row['layer']}·H{row['head']} {arrow} {percent(row, 'accuracy')}, {percent(row, 'gain')}"
    return f"**{text}**" if row["gain_low"] > 0 else text


def show(treebank: str, tables: list[dict]) -> None:
    """The relations of a treebank, one row each, with models side by side."""
    print(f"\n{treebank}: {tables[0]['examples']} sentences, {tables[0]['words']} words")
    for table in tables:
        rows = [row for row in table["relations"] if row["relation"] != "all"]
        count = sum(row["gain_low"] > 0 for row in rows)
        print(f"{table['model']}: {count} of {len(rows)} relations have a head that beats the best offset")
    names = " | ".join(table["model"] for table in tables)
    print(f"\n| relation | cases | best offset | {names} |\n| --- | ---: | ---: |{' --- |' * len(tables)}")
    by_name = [{row["relation"]: row for row in table["relations"]} for table in tables]
    for name, row in by_name[0].items():
        offset = f"{row['offset']:+d}: {percent(row, 'baseline')}".replace("-", "−")
        print(f"| {name} | {row['cases']} | {offset} | {' | '.join(best(rows[name]) for rows in by_name)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", nargs="+", default=["packaged"])
    parser.add_argument("--data", nargs="+", required=True, help="treebanks in CoNLL-U format")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    models = [ha.models.load(name) for name in arguments.models]
    tables = []
    for treebank in arguments.data:
        found = [relations(model, treebank, arguments.folder) for model in models]
        tables += found
        if not arguments.json:
            show(Path(treebank).name, found)
    if arguments.json:
        print(json.dumps(tables, indent=1))


if __name__ == "__main__":
    main()
