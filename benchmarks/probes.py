"""Probing classifiers of dependency trees: scores of every probe and baseline on a real treebank.

    python benchmarks/probes.py MODEL TRAIN.conllu[.gz] TEST.conllu VECTORS [--sentences 1000] [--seeds 3] [--json]

Whole documents are drawn from the treebank to train on, with a seed, until they have `--sentences` sentences; all are
used. As many sentences are drawn from the one to test on. Both are collected in a temporary folder, or in `--folder`,
where a later run finds them. CPU seconds are those of the analysis, without collecting.
"""

import argparse
import json
import random
import resource
import tempfile
import time
from pathlib import Path

import headatlas as ha
from headatlas.data.files import open_text

SCORES = ("uas", "uas_low", "uas_high", "uas_tree", "uuas", "uas_punctuation", "spread")


def documents(path: str) -> list[list[str]]:
    """The sentences of each document of a CoNLL-U file, as text."""
    found: list[list[str]] = []
    with open_text(path) as stream:
        for sentence in stream.read().strip().split("\n\n"):
            if not found or sentence.startswith("# newdoc"):
                found.append([])
            found[-1].append(sentence)
    return found


def drawn(path: str, sentences: int, seed: int, target: Path) -> str:
    """A file with whole documents drawn at random, at least so many sentences; returns its name as a dataset."""
    chosen: list[str] = []
    order = documents(path)
    random.Random(seed).shuffle(order)
    for document in order:
        if len(chosen) < sentences:
            chosen += document
    target.write_text("\n\n".join(chosen) + "\n\n", encoding="utf-8")
    return f"conllu:{target}"


def measure(arguments: argparse.Namespace, folder: Path) -> dict:
    """The table of the analysis, its facts, and what it cost."""
    folder.mkdir(parents=True, exist_ok=True)
    atlases = []
    for name in ("train", "test"):
        data = drawn(getattr(arguments, name), arguments.sentences, arguments.seed, folder / f"{name}.conllu")
        atlases.append(ha.collect.maps(arguments.model, data, folder / f"{name}.atlas", resolution=8, qk_tokens=0))
    train, test = atlases
    before = time.process_time()
    options = {"seeds": arguments.seeds, "seed": arguments.seed, "examples": 10**6}
    table = ha.probe.classifiers(train, test=test, vectors=arguments.vectors, **options)
    seconds = time.process_time() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    facts = train.facts("probe", "classifiers")
    return {"rows": table.to_pylist(), "facts": facts, "cpu_seconds": round(seconds), "memory_mb": round(memory)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "train", "test", "vectors"):
        parser.add_argument(name)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(arguments, arguments.folder or Path(folder))
    if arguments.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return
    print(f"| probe | {' | '.join(SCORES)} |\n| --- |{' ---: |' * len(SCORES)}")
    for row in found["rows"]:
        numbers = ("" if row[name] is None else f"{100 * row[name]:.1f}" for name in SCORES)
        print(f"| {row['probe']} | {' | '.join(numbers)} |")
    print(f"{found['facts']}\n{found['cpu_seconds']} CPU seconds, {found['memory_mb']} MB")


if __name__ == "__main__":
    main()
