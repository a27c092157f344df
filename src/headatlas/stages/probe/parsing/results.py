"""From sentences to tables: what is trained on which sentences, and how every probe and baseline scores on others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas import parallel
from headatlas.data.word_vectors import WordVectors
from headatlas.numeric.threads import single_thread
from headatlas.stages.probe.measures import PLACE
from headatlas.stages.probe.parsing import baselines
from headatlas.stages.probe.parsing.corpus import DISTANCES, Corpus, Maps, Sentence, distance_maps
from headatlas.stages.probe.parsing.scores import attachment, count, scores
from headatlas.stages.probe.parsing.training import Inputs, fit, parsed, scale_of

Floats = NDArray[np.float64]

HELD = 0.1  # share of the documents to train on that decide when training ends
PROBE, BASELINE = "probe", "baseline"
ATTENTION = "attention"

REAL, WHOLE, TEXT = pa.float64(), pa.int32(), pa.string()
SCORES = [(f"{name}{end}", REAL) for name in ("uas", "uuas") for end in ("", "_low", "_high")]
TABLE = pa.schema([
    ("probe", TEXT), ("role", TEXT), *SCORES, ("uas_tree", REAL), ("uas_punctuation", REAL), ("seeds", WHOLE),
    ("spread", REAL), ("sentences", WHOLE), ("words", WHOLE),
])  # fmt: skip
WEIGHTS = ("down", "up", "root_down", "root_up", "down_effect", "up_effect", "down_spread", "up_spread")
HEADS = pa.schema([*PLACE, *((name, REAL) for name in WEIGHTS)])


@dataclass(frozen=True)
class Design:
    """Sentences to train on and to test on, with the document of each, and how probes are trained."""

    train: list[Sentence]
    train_groups: NDArray[np.int64]
    test: list[Sentence]
    test_groups: NDArray[np.int64]
    seeds: int
    epochs: int
    seed: int

    def held_out(self, number: int) -> tuple[list[Sentence], list[Sentence]]:
        """The sentences to train on, and those that say when to stop, for one of the seeds."""
        names = np.unique(self.train_groups)
        drawn = np.random.default_rng([self.seed, number]).permutation(names)
        held = np.isin(self.train_groups, drawn[: max(1, round(HELD * len(names)))])
        pairs = list(zip(self.train, held, strict=True))
        return [each for each, out in pairs if not out], [each for each, out in pairs if out]


@dataclass(frozen=True)
class Run:
    """A probe that was trained: counts (sentence, count) of its heads and of its tree, and its weights."""

    probe: str
    seed: int
    greedy: Floats
    tree: Floats
    weights: Floats  # (w or u, words or root, head)
    scale: Floats  # (words or root, head) what the maps were multiplied by


def inputs_of(corpus: Corpus, vectors: WordVectors | None, train: Sequence[Sentence]) -> dict[str, Inputs]:
    """What every probe reads, by its name; the scale of the maps is that of the sentences to train on."""
    readers: dict[str, tuple[Maps, int]] = {"distance": (distance_maps, 2 * (len(DISTANCES) + 1))}
    for model, prefix in (("untrained", "untrained_"), ("trained", "")):
        if model in corpus.maps:
            readers[f"{prefix}{ATTENTION}"] = (corpus.maps[model], corpus.heads)
    by_probe = {
        name: Inputs(maps, heads, scale_of(maps, heads, train), {}, 0) for name, (maps, heads) in readers.items()
    }
    if vectors is not None:
        rows = {sentence.example: vectors.of(sentence.form) for sentence in corpus.sentences}
        words = {name: replace(inputs, vectors=rows, width=vectors.width) for name, inputs in by_probe.items()}
        by_probe |= {f"{name}_words": inputs for name, inputs in words.items()}
    return by_probe


def trained(design: Design, inputs: dict[str, Inputs]) -> dict[str, list[Run]]:
    """Every probe with every seed, by probe, in the order of the seeds."""
    tasks = [(name, number) for name in inputs for number in range(design.seeds)]

    @single_thread("torch")
    def run(task: tuple[str, int]) -> Run:
        name, number = task
        train, held = design.held_out(number)
        probe = fit(inputs[name], train, held, design.epochs, design.seed + number)
        greedy, tree = (count(design.test, heads) for heads in parsed(probe, inputs[name], design.test))
        scale = inputs[name].scale.astype(np.float64)
        return Run(name, number, greedy, tree, probe.pair_weights().double().numpy() * scale, scale)

    runs: dict[str, list[Run]] = {name: [] for name in inputs}
    for each in parallel.run(run, tasks):
        runs[each.probe].append(each)
    return {name: sorted(probe_runs, key=lambda each: each.seed) for name, probe_runs in runs.items()}


def rows_of_baselines(design: Design, corpus: Corpus, heads: list[tuple[int, int]]) -> tuple[list[Any], dict[str, Any]]:
    """The parsers that are not trained, and what was chosen for them."""
    offset = baselines.best_offset(design.train)
    maps = corpus.maps["trained"]
    direction, head = baselines.best_head(design.train, maps, corpus.heads)
    guesses = {
        "right_branching": [baselines.at_offset(sentence, 1) for sentence in design.test],
        "best_offset": [baselines.at_offset(sentence, offset) for sentence in design.test],
        "best_head": [baselines.strongest(sentence, maps, head)[direction, 0] for sentence in design.test],
    }
    rows = [row(design, name, [count(design.test, parses)]) for name, parses in guesses.items()]
    layer, number = heads[head]
    chosen = {"layer": layer, "head": number, "direction": "down" if direction == baselines.DOWN else "up"}
    return rows, {"offset": offset, "best_head": chosen}


def row(design: Design, name: str, greedy: Sequence[Floats], trees: Sequence[Floats] = ()) -> dict[str, Any]:
    """The row of a probe or baseline, from its counts with every seed."""
    mean = np.mean(greedy, 0)
    by_seed = [attachment(counts) for counts in greedy]
    return {
        "probe": name,
        "role": PROBE if name.startswith(ATTENTION) else BASELINE,
        **scores(mean, design.test_groups, design.seed),
        "uas_tree": attachment(np.mean(trees, 0)) if len(trees) else None,
        "seeds": len(greedy) if len(trees) else None,
        "spread": float(np.std(by_seed, ddof=1)) if len(by_seed) > 1 else None,
        "sentences": len(design.test),
        "words": int(mean[:, 0].sum()),
    }


def head_rows(runs: Sequence[Run], heads: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """The weights of every head of the model in the probe that sees attention only, averaged over seeds."""
    weights = np.stack([run.weights for run in runs])  # (seed, w or u, words or root, head)
    scale = runs[0].scale[0]
    mean = weights.mean(0)
    effect = np.divide(mean[:, 0], scale, out=np.zeros_like(mean[:, 0]), where=scale > 0)
    spread = weights[:, :, 0].std(0, ddof=1) if len(runs) > 1 else np.full(effect.shape, np.nan)
    columns = [*mean[:, 0], *mean[:, 1], *effect, *spread]
    rows = []
    for place, (layer, head) in enumerate(heads):
        values = [None if np.isnan(column[place]) else float(column[place]) for column in columns]
        rows.append({"layer": layer, "head": head} | dict(zip(WEIGHTS, values, strict=True)))
    return rows
