"""What encoders see: kinds of input, patterns, statistics, what heads of different models have in common; and speed.

    python benchmarks/encoders.py --models MODELS --folder FOLDER [--encoders …] [--seed 11] [--json]

MODELS is a folder with the models smollm2 and antiberty; the packaged MiniLM needs none. Texts of planted kinds are
collected into FOLDER first, unless they are there. AntiBERTy reads proteins and gets the letters of the texts, so that
kinds mean little to it: it takes part in 3 and 4 only, as a model on which `profile` was not tuned. Scores, with 95 %
intervals:

1. Input sensitivity. Texts of seven kinds (plain, repeated, shuffled, lists, code, questions, one word). Within each
   head: share of maps whose nearest map is of the same kind, and adjusted mutual information (AMI) of cluster and kind
   with 10 and 30 clusters and at the default cut of the tree (auto), over heads some of whose statistics differ between
   kinds, and over all. Beside it the same for control heads, which do the same on every text: what they show comes
   from the text and not from a head. The margin, real less control, is what counts.
2. Patterns. Adjusted Rand index of KMeans on generated patterns that no encoder was trained on.
3. Readability. R² of ridge regression from vectors to each statistic, by group.
4. Function across models. Mean average precision of finding heads of the other model that do the same.
5. Head retrieval (whether the nearest map of another text is of the same head) and maps per second, for the record.

`pooled` and `stats` are fitted to each atlas, as in the product; for 4 on equally many maps of all models and on the
statistics that all have.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from control_heads import collected
from encoder_scores import (
    Labeler,
    across_models,
    by_kmeans,
    by_tree,
    differing,
    mean_score,
    nearest,
    rand_index,
    readability,
    roles,
    sensitivity,
)
from planted_texts import planted
from unseen_patterns import unseen

import headatlas as ha
from headatlas.data import Example
from headatlas.models.model import Model
from headatlas.numeric.metrics import head_retrieval
from headatlas.stages.features.encoders import NAMES, choose
from headatlas.statistics import statistic

TEXTS = 16  # of each kind
ROUNDS = 5
KS = (10, 30)
MODELS = ("minilm", "smollm2", "antiberty")
PROTEINS = "antiberty"
AMINO_ACIDS = frozenset("ACDEFGHIKLMNPQRSTVWY")


@dataclass
class Maps:
    """Maps of one model on the planted texts: of its heads, and of control heads."""

    pooled: np.ndarray  # (text, head, query, key)
    stats: np.ndarray
    control: tuple[np.ndarray, np.ndarray] | None
    names: list[str]
    kinds: np.ndarray


def load(name: str, model: Model, folder: Path, seed: int) -> Maps:
    """Collect the planted texts with a model, or read what was collected."""
    texts, kinds = planted(TEXTS, seed)
    texts = [spelled(text) for text in texts] if name == PROTEINS else texts
    examples = [Example(str(n), text=text, columns={"kind": kinds[n]}) for n, text in enumerate(texts)]
    atlas = ha.collect.maps(model, examples, folder / f"{name}-{seed}.atlas", qk_tokens=0, max_tokens=192)
    pooled, stats = atlas.read("pooled"), atlas.read("stats")
    count, heads = len(texts), pooled.shape[1] * pooled.shape[2]
    return Maps(
        pooled.reshape(count, heads, *pooled.shape[3:]),
        stats.reshape(count, heads, -1),
        None if name == PROTEINS else collected(atlas, model),
        list(atlas.array("stats").attrs["stats"]),
        np.array(kinds),
    )


def spelled(text: str) -> str:
    """The letters of a text that are amino acids, as AntiBERTy writes proteins."""
    return " ".join(letter for letter in text.upper() if letter in AMINO_ACIDS)


def open_model(name: str, folder: Path) -> Model:
    """A model by its name here."""
    if name == "minilm":
        return ha.models.load("packaged")
    if name == PROTEINS:  # its folder has a vocabulary, but no tokenizer
        from transformers import BertTokenizer

        tokenizer = BertTokenizer.from_pretrained(folder / name, do_lower_case=False)
        return ha.models.load(str(folder / name), tokenizer=tokenizer)
    return ha.models.load(str(folder / name))


@dataclass(frozen=True)
class Draw:
    """Maps (map, …) that an encoder is fitted to, if it needs to be."""

    pooled: np.ndarray
    stats: np.ndarray
    statistics: tuple[str, ...]

    def __call__(self, array: str) -> np.ndarray:
        return getattr(self, array)[:: max(1, len(self.pooled) // 20_000)]


def encoder_of(name: str, pooled: np.ndarray, stats: np.ndarray, names: Sequence[str]) -> Any:
    """An encoder by name, fitted to these maps (map, …) if it needs to be."""
    return choose(name, "default", 1, 0).make(Draw(pooled, stats, tuple(names)))


def encoded(encoder: Any, pooled: np.ndarray, stats: np.ndarray) -> np.ndarray:
    """Vectors (text, head, feature)."""
    flat, numbers = pooled.reshape(-1, *pooled.shape[2:]), stats.reshape(-1, stats.shape[-1])
    parts = [encoder.encode(flat[n : n + 1024], numbers[n : n + 1024]) for n in range(0, len(flat), 1024)]
    return np.concatenate(parts).reshape(*pooled.shape[:2], -1)


def of_model(name: str, maps: Maps) -> dict[str, Any]:
    """Scores on the maps of one model."""
    encoder = encoder_of(name, maps.pooled.reshape(-1, *maps.pooled.shape[2:]), _flat(maps.stats), maps.names)
    vectors = encoded(encoder, maps.pooled, maps.stats)
    read: dict[str, list[float]] = {}
    for name_of, score in readability(vectors, maps.stats, maps.names).items():
        read.setdefault(statistic(name_of).about, []).append(score)
    value, low, high = head_retrieval(vectors - vectors.mean((0, 1)))
    return (_sensitivity(vectors, encoded(encoder, *maps.control), maps) if maps.control else {}) | {
        "readability": {about: float(np.mean(scores)) for about, scores in read.items()},
        "head retrieval": {"value": value, "low": low, "high": high},
    }


def _sensitivity(vectors: np.ndarray, control: np.ndarray, maps: Maps) -> dict[str, Any]:
    changing = differing(maps.stats, maps.kinds)
    labelers = {str(k): by_kmeans(k) for k in KS} | {
        "auto": by_tree(np.repeat(np.arange(len(vectors)), vectors.shape[1]))
    }

    def clusters(label: Labeler, heads: np.ndarray) -> dict[str, Any]:
        return asdict(sensitivity(vectors, control, maps.kinds, heads, label))

    return {
        "nearest": asdict(nearest(vectors, maps.kinds)),
        "nearest, control": asdict(nearest(control, maps.kinds)),
        "clusters": {k: clusters(label, changing) for k, label in labelers.items()},
        "heads that differ": f"{int(changing.sum())} of {len(changing)}",
    }


def _flat(stats: np.ndarray) -> np.ndarray:
    return stats.reshape(-1, stats.shape[-1])


def function(name: str, models: dict[str, Maps]) -> dict[str, Any]:
    """Heads of different models that do the same: one encoder for all, on the statistics that all have."""
    names = [each for each in next(iter(models.values())).names if all(each in maps.names for maps in models.values())]
    stats = {key: maps.stats[..., [maps.names.index(each) for each in names]] for key, maps in models.items()}
    flat = {key: _flat(of_key) for key, of_key in stats.items()}
    pooled = {key: maps.pooled.reshape(-1, *maps.pooled.shape[2:]) for key, maps in models.items()}
    size, rng = min(map(len, pooled.values())), np.random.default_rng(0)
    chosen = {key: rng.permutation(len(maps))[:size] for key, maps in pooled.items()}
    sample = (np.concatenate([part[key][chosen[key]] for key in models]) for part in (pooled, flat))
    encoder = encoder_of(name, *sample, names)
    vectors = {key: encoded(encoder, maps.pooled, stats[key]) for key, maps in models.items()}
    labels = {key: roles(maps.stats, maps.names, maps.kinds) for key, maps in models.items()}
    score, by_role = across_models(vectors, labels)
    return {"precision": asdict(score), "by role": by_role}


def patterns(name: str, seed: int, count: int = 700, draws: int = 5) -> dict[str, float]:
    """Adjusted Rand index over several draws of patterns."""
    scores = []
    for draw in range(draws):
        maps = unseen(count, 100 * seed + draw)
        encoder = encoder_of(name, maps.pooled, maps.stats, maps.statistics)
        scores.append(rand_index(encoder.encode(maps.pooled, maps.stats), maps.labels))
    return asdict(mean_score(np.array(scores)))


def speed(names: list[str], maps: Maps) -> dict[str, float]:
    """Maps per second of CPU time on one thread, encoders in turn, median over the rounds."""
    pooled, stats = maps.pooled.reshape(-1, *maps.pooled.shape[2:])[:2048], _flat(maps.stats)[:2048]
    encoders = {name: encoder_of(name, pooled, stats, maps.names) for name in names}
    rates: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(ROUNDS + 1):
        for name, encoder in encoders.items():
            start = time.process_time()
            for n in range(0, len(pooled), 256):
                encoder.encode(pooled[n : n + 256], stats[n : n + 256])
            rates[name].append(len(pooled) / (time.process_time() - start))
    return {name: statistics.median(values[1:]) for name, values in rates.items()}


def text(score: dict[str, float]) -> str:
    """A score with its interval."""
    return "{value:.3f} [{low:.3f}, {high:.3f}]".format(**score)


def show_kinds(model: str, result: dict[str, Any]) -> None:
    """Print what encoders see of the kinds of texts."""
    print(f"{model}: kinds of texts within heads that differ between them, real (control), margin")
    for name, scores in result["encoders"].items():
        of = scores["models"][model]
        line = f"  {name:<16}nearest {of['nearest']['value']:.3f} ({of['nearest, control']['value']:.3f})"
        for k, part in of["clusters"].items():
            line += f"   k = {k}: {part['real']['value']:.3f} ({part['control']['value']:.3f}) {text(part['margin'])}"
        print(line)


def show(result: dict[str, Any]) -> None:
    """Print all scores as tables."""
    for model in result["models"]:
        print()
        if model != PROTEINS:
            show_kinds(model, result)
        print(f"{model}: R² by group of statistics, and head retrieval")
        for name, scores in result["encoders"].items():
            of = scores["models"][model]
            groups = "   ".join(f"{about} {score:.2f}" for about, score in of["readability"].items())
            print(f"  {name:<16}{groups}   retrieval {text(of['head retrieval'])}")
    print("\nunseen patterns (adjusted Rand index), function across models (mean average precision), maps per second")
    for name, scores in result["encoders"].items():
        roles_text = "  ".join(f"{role} {value:.2f}" for role, value in scores["function"]["by role"].items())
        print(
            f"  {name:<16}{text(scores['patterns']):<24}{text(scores['function']['precision'])}  ({roles_text})"
            f"   {result['speed'][name]:,.0f}"
        )


def main() -> None:
    """Score the encoders that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="folder with smollm2 and antiberty")
    parser.add_argument("--folder", type=Path, required=True, help="where the planted texts are collected")
    parser.add_argument("--encoders", nargs="+", default=list(NAMES), help="names or files of encoders")
    parser.add_argument("--seed", type=int, default=11, help="of texts and patterns; encoders are tuned with others")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    models = {name: load(name, open_model(name, arguments.models), arguments.folder, arguments.seed) for name in MODELS}
    result: dict[str, Any] = {"seed": arguments.seed, "models": list(models), "encoders": {}}
    for name in arguments.encoders:
        of_models = {model: of_model(name, maps) for model, maps in models.items()}
        result["encoders"][name] = {
            "models": of_models,
            "patterns": patterns(name, arguments.seed),
            "function": function(name, models),
        }
    result["speed"] = speed(arguments.encoders, models["minilm"])
    if arguments.json:
        print(json.dumps(result, indent=1))
    else:
        show(result)


if __name__ == "__main__":
    main()
