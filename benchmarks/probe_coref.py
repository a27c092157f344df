"""How well the best head finds the antecedents of mentions, beside three rules; see docs/probe.md.

    python benchmarks/probe_coref.py packaged coref:litbank.conll.gz coref:gum-dev.conllu.gz gap:gap-development.tsv
    python benchmarks/probe_coref.py packaged gap:gap-development.tsv --examples 200
    python benchmarks/probe_coref.py /models/smollm2 coref:litbank.conll.gz --limit 300 --json scores.json
    python benchmarks/probe_coref.py --heads coref:gum-dev.conllu.gz

Each dataset is collected into a temporary atlas. `--heads` says how often the head word and the kind that are found by
words alone, as for files without trees and tags, are those of a treebank.
"""

import argparse
import json
import tempfile
from pathlib import Path

import headatlas as ha
from headatlas.data import mentions
from headatlas.stages.probe.sieve import BASELINES

COLUMNS = ("accuracy", *BASELINES, "gain")


def scored(model, data, limit, examples):
    """The table of one model on one dataset, and the facts of the result."""
    with tempfile.TemporaryDirectory() as folder:
        dataset = ha.data.load(data, limit=limit)
        atlas = ha.collect.maps(model, dataset, Path(folder) / "x.atlas", resolution=8, qk_tokens=0)
        rows = ha.probe.coref(atlas, **({"examples": examples} if examples else {})).to_pylist()
        return {"model": str(model), "data": data, "facts": atlas.facts("probe", "coref"), "rows": rows}


def show(result):
    """A table for the docs."""
    print(f"\n{result['model']} on {result['data']}: {result['facts']}")
    print(f"| kind | cases | documents | head | {' | '.join(COLUMNS)} |")
    for row in result["rows"]:
        numbers = (f"{row[name]:.3f} [{row[name + '_low']:.3f}, {row[name + '_high']:.3f}]" for name in COLUMNS)
        head = f"L{row['layer']}·H{row['head']}"
        print(f"| {row['kind']} | {row['cases']} | {row['documents']} | {head} | {' | '.join(numbers)} |")


def rule_of_heads(data):
    """How often head words and kinds by words alone are those of the treebank, as shares of all mentions."""
    count = heads = kinds = 0
    for example in ha.data.load(data):
        listed = (example.columns[name] for name in ("mention_start", "mention_stop", "mention_head", "mention_kind"))
        for start, stop, head, kind in zip(*listed, strict=True):
            words = example.words[start:stop]
            place = mentions.head_by_words(words)
            count, heads = count + 1, heads + (start + place == head)
            kinds += mentions.kind_by_words(words, place) == kind
    return {"data": data, "mentions": count, "heads": heads / count, "kinds": kinds / count}


def main():
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arguments", nargs="+", metavar="[MODEL] DATA...")
    parser.add_argument("--heads", action="store_true")
    parser.add_argument("--limit", type=int, help="read only the first examples")
    parser.add_argument("--examples", type=int, help="examples to draw from those that were read")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.heads:
        results = [rule_of_heads(data) for data in given.arguments]
        print(*results, sep="\n")
    else:
        model, *datasets = given.arguments
        results = []
        for data in datasets:
            results.append(scored(model, data, given.limit, given.examples))
            show(results[-1])
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
