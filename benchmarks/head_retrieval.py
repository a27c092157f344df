"""How well encoders identify a head on unseen text, whether they separate known patterns, and how fast they are.

    python examples/collect_for_encoder.py MODELS wiki.valid.raw TEST --test
    python benchmarks/head_retrieval.py --test TEST [--without FILE] [--vit NAME] [--encoders …] [--json]

1. Head retrieval: the share of maps whose nearest neighbor (cosine, centered vectors) among maps of other
   examples is of the same layer and head, with a 95 % interval by bootstrap over examples. Vision models take too long
   for all maps: every encoder is scored once more on the same few examples.
2. Adjusted Rand index of KMeans (k = number of generators, principal components for 95 % of variance, at most 64) on
   generated patterns; for all encoders once more on the first few. `stats` are those that need no text (offsets, first
   token, entropy, largest weight, distances), counted on the generated map as if each bin were a token.
3. Maps per second of CPU time on one thread, encoders in turn, median over the rounds.

FILE was trained without SmolLM2. Without --vit the vision model is a ViT-tiny (192 wide, 12 layers, 3 heads, patches of
16 at 224) with random weights: it says what a network of that size costs, and what an untrained one sees.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

import headatlas as ha
from headatlas.numeric.metrics import head_retrieval
from headatlas.stages.features import vision
from headatlas.stages.features.baselines import PooledEncoder, StatsEncoder
from headatlas.stages.features.network import PACKAGED
from headatlas.stages.features.patterns import patterns
from headatlas.stages.features.trained import TrainedEncoder

ENCODERS = ("heads", "without", "pooled", "stats", "vit", "vit-capstone")
SEED = 11  # of the patterns; training uses another seed
ROUNDS = 5


def random_vit(folder: str) -> str:
    from transformers import ViTConfig, ViTModel

    torch.manual_seed(0)
    config = ViTConfig(hidden_size=192, num_hidden_layers=12, num_attention_heads=3, intermediate_size=768)
    ViTModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def encoders(arguments: argparse.Namespace, folder: str) -> dict[str, Any]:
    """The requested encoders by name; pooled and stats are fitted to each atlas, so they are None here."""
    chosen: dict[str, Any] = dict.fromkeys(arguments.encoders)
    if "heads" in chosen:
        chosen["heads"] = TrainedEncoder.open(str(arguments.weights), "heads")
    if "without" in chosen and arguments.without:
        chosen["without"] = TrainedEncoder.open(str(arguments.without), "without")
    elif "without" in chosen:
        del chosen["without"]
    name = arguments.vit or (random_vit(folder) if {"vit", "vit-capstone"} & set(chosen) else "")
    for key, preprocess in (("vit", "default"), ("vit-capstone", "capstone")):
        if key in chosen:
            chosen[key] = vision.load(name, preprocess)
    return chosen


def vectors(name: str, encoder: Any, maps: np.ndarray, stats: np.ndarray) -> np.ndarray:
    """Vectors (map, feature) minus their mean."""
    if name == "stats":
        results = StatsEncoder.fit(stats, {}).encode(None, stats)
    else:
        encoder = PooledEncoder.fit(maps, {}) if name == "pooled" else encoder
        results = np.concatenate([encoder.encode(maps[n : n + 512], None) for n in range(0, len(maps), 512)])
    return results - results.mean(0)


def retrieval(encoders: dict[str, Any], path: Path, few: int) -> dict[str, Any]:
    atlas = ha.open(path)
    maps, stats = atlas.read("pooled"), atlas.read("stats")
    examples, heads = maps.shape[0], maps.shape[1] * maps.shape[2]
    maps, stats = maps.reshape(examples * heads, *maps.shape[3:]), stats.reshape(examples * heads, -1)
    part = min(examples, max(4, few // heads))
    results: dict[str, Any] = {"examples": examples, "heads": heads, "few": part, "all": {}, "subset": {}}
    for name, encoder in encoders.items():
        all_maps = not name.startswith("vit")
        count = (examples if all_maps else part) * heads
        encoded = vectors(name, encoder, maps[:count], stats[:count])
        encoded = encoded.reshape(-1, heads, encoded.shape[-1])
        if all_maps:
            results["all"][name] = head_retrieval(encoded)
        # encoders fitted to an atlas stay fitted to all of it, which favors them over the vision models
        results["subset"][name] = head_retrieval(encoded[:part])
    return results


def rand_index(vectors: np.ndarray, labels: np.ndarray) -> float:
    parts = PCA(random_state=0).fit(vectors)
    count = min(64, int(np.searchsorted(np.cumsum(parts.explained_variance_ratio_), 0.95)) + 1)
    reduced = parts.transform(vectors)[:, :count]
    clusters = KMeans(len(np.unique(labels)), n_init=10, random_state=0).fit_predict(reduced)
    return float(adjusted_rand_score(labels, clusters))


def textless(maps: np.ndarray) -> np.ndarray:
    """Statistics (map, statistic) that need no text, by their definitions."""
    side = np.arange(maps.shape[1])
    step = side[None, :] - side[:, None]  # key minus query
    offsets = [np.trace(maps, offset, 1, 2) / (len(side) - abs(offset)) for offset in range(-4, 5)]
    entropy = -(maps * np.log(np.maximum(maps, 1e-12))).sum(-1).mean(-1)
    moments = [(maps * weight).sum((1, 2)) / len(side) for weight in (step, np.abs(step))]
    return np.stack([*offsets, maps[:, :, 0].mean(1), entropy, maps.max(-1).mean(-1), *moments], 1)


def known_patterns(encoders: dict[str, Any], count: int, few: int) -> dict[str, Any]:
    maps, labels, names = patterns(count, SEED)
    stats = textless(maps)
    results: dict[str, Any] = {"maps": count, "few": few, "generators": list(names), "all": {}, "subset": {}}
    for name, encoder in encoders.items():
        all_maps = not name.startswith("vit")
        part = slice(None if all_maps else few)
        encoded = vectors(name, encoder, maps[part], stats[part])
        if all_maps:
            results["all"][name] = rand_index(encoded, labels)
        results["subset"][name] = rand_index(encoded[:few], labels[:few])
    return results


def speed(encoders: dict[str, Any]) -> dict[str, float]:
    """Maps per second of CPU time: rounds over all encoders, after one to warm up."""
    maps = patterns(1024, SEED)[0].astype(np.float16)
    encoders = {name: encoder for name, encoder in encoders.items() if name not in ("stats", "without")}
    if "pooled" in encoders:
        encoders["pooled"] = PooledEncoder.fit(maps, {})
    rates: dict[str, list[float]] = {name: [] for name in encoders}
    for _ in range(ROUNDS + 1):
        for name, encoder in encoders.items():
            some = maps[:16] if name.startswith("vit") else maps
            start = time.process_time()
            for n in range(0, len(some), 256):
                encoder.encode(some[n : n + 256], None)
            rates[name].append(len(some) / (time.process_time() - start))
    return {name: statistics.median(values[1:]) for name, values in rates.items()}


def line(name: str, full: Any, few: Any) -> None:
    print(f"  {name:<16}{written(full):<26}{written(few)}")


def written(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return "{:.3f} [{:.3f}, {:.3f}]".format(*value)
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def show(result: dict[str, Any]) -> None:
    print(f"vit is {result['vit']}; heads is {result['weights']}")
    for title, part in result["retrieval"].items():
        print(f"\n{title}: head retrieval, {part['heads']} heads (chance {1 / part['heads']:.4f})")
        line("encoder", f"all {part['examples']} examples", f"first {part['few']} examples")
        for name, few in part["subset"].items():
            line(name, part["all"].get(name), few)
    known = result["patterns"]
    print(f"\nknown patterns: adjusted Rand index, {len(known['generators'])} generators")
    line("encoder", f"{known['maps']} maps", f"first {known['few']} maps")
    for name, few in known["subset"].items():
        line(name, known["all"].get(name), few)
    print("\nmaps per second of CPU time, one thread")
    for name, rate in result["speed"].items():
        print(f"  {name:<16}{rate:,.0f}")
    if result["ratio"]:
        print(f"  heads takes {result['ratio']:,.0f} times as many maps a second as the vit")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", type=Path, required=True, help="folder of atlases of unseen text")
    parser.add_argument("--weights", type=Path, default=PACKAGED, help="another file in place of the packaged one")
    parser.add_argument("--without", type=Path, help="weights trained without SmolLM2")
    parser.add_argument("--vit", help="hub name or folder of a vision model")
    parser.add_argument("--encoders", nargs="+", choices=ENCODERS, default=list(ENCODERS))
    parser.add_argument("--few", type=int, default=600, help="maps of an atlas for vision models, about")
    parser.add_argument("--patterns", type=int, default=1100)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        chosen = encoders(arguments, folder)
        rates = speed(chosen)
        result = {
            "vit": arguments.vit or "a ViT-tiny with random weights",
            "weights": arguments.weights.name,
            "speed": rates,
            "ratio": rates["heads"] / rates["vit"] if {"heads", "vit"} <= set(rates) else None,
            "patterns": known_patterns(chosen, arguments.patterns, 220),
            "retrieval": {
                path.stem: retrieval(chosen, path, arguments.few) for path in sorted(arguments.test.iterdir())
            },
        }
    if arguments.json:
        print(json.dumps(result, indent=1))
    else:
        show(result)


if __name__ == "__main__":
    main()
