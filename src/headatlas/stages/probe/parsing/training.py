"""Train a probe on sentences, and stop when it no longer improves on a part of them that it was not trained on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas import parallel
from headatlas.numeric.spanning import best_tree
from headatlas.stages.probe.parsing.corpus import Maps, Sentence
from headatlas.stages.probe.parsing.network import Probe, allowed, loss, node_vectors

RATE = 0.01  # learning rate of Adam at first, without words, for up to so many heads:
FEW_HEADS = 100
SMALLEST = 1e-6  # attention that is more than a rounding error of float16
SLOWER = 3  # what it is divided by where an epoch brought nothing
PATIENCE = 3  # such epochs before training ends
SENTENCES = 32  # in a batch, fewer if they are long
MOST = 2**23  # numbers of the maps of a batch
POOL = 16  # batches whose sentences are sorted by length together

Heads = NDArray[np.int64]


@dataclass(frozen=True)
class Inputs:
    """What a probe reads: maps of sentences, and vectors of their words (none: width 0).

    Maps are multiplied by a scale of each head, one between words and one to and from the root, so that all weights are
    learned at the same rate: some heads attend a thousand times more than others to other words.
    """

    maps: Maps
    heads: int
    scale: NDArray[np.float32]  # (words or root, head)
    vectors: dict[int, NDArray[np.float32]]  # by example, (word, feature)
    width: int

    def batch(self, sentences: Sequence[Sentence]) -> tuple[Tensor, Tensor, Tensor]:
        """Padded maps (sentence, query, key, head), node vectors, and the number of words of each sentence."""
        longest = max(sentence.words for sentence in sentences)
        maps = np.zeros((len(sentences), longest + 1, longest + 1, self.heads), np.float32)
        words = np.zeros((len(sentences), longest, self.width), np.float32)
        for place, sentence in enumerate(sentences):
            nodes = sentence.words + 1
            maps[place, :nodes, :nodes] = self.maps(sentence)
            if self.width:
                words[place, : sentence.words] = self.vectors[sentence.example]
        maps[:, 1:, 1:] *= self.scale[0]
        maps[:, 0] *= self.scale[1]
        maps[:, 1:, 0] *= self.scale[1]
        lengths = torch.tensor([sentence.words for sentence in sentences])
        return torch.from_numpy(maps), node_vectors(torch.from_numpy(words)), lengths


def fit(inputs: Inputs, train: Sequence[Sentence], held: Sequence[Sentence], epochs: int, seed: int) -> Probe:
    """The probe that is best on the sentences held out, by their log-likelihood."""
    probe = Probe(inputs.heads, inputs.width)
    best, least = _copied(probe), mean_loss(probe, inputs, held)
    rate = RATE / (1 + inputs.width / 10) * min(1, FEW_HEADS / inputs.heads)  # a step moves all weights at once
    optimizer = torch.optim.Adam(probe.parameters(), rate)
    rng = np.random.default_rng(seed)
    worse, begun = 0, False
    for _ in range(epochs):
        parallel.check()
        _epoch(probe, inputs, train, optimizer, rng)
        value = mean_loss(probe, inputs, held)
        if value < least:
            best, least, begun = _copied(probe), value, True
            continue
        if not begun:  # the first steps were too long: begin again with shorter ones
            probe.load_state_dict(best)
            rate /= SLOWER
            optimizer = torch.optim.Adam(probe.parameters(), rate)
            continue
        worse += 1
        if worse == PATIENCE:
            break
        for group in optimizer.param_groups:
            group["lr"] /= SLOWER
    probe.load_state_dict(best)
    return probe


def _copied(probe: Probe) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in probe.state_dict().items()}


def _epoch(
    probe: Probe, inputs: Inputs, train: Sequence[Sentence], optimizer: torch.optim.Optimizer, rng: np.random.Generator
) -> None:
    for sentences in batches(train, inputs.heads, rng):
        maps, vectors, words = inputs.batch(sentences)
        optimizer.zero_grad()
        value: Any = loss(probe(maps, vectors), gold(sentences), words) / words.sum()
        value.backward()
        optimizer.step()


@torch.no_grad()
def mean_loss(probe: Probe, inputs: Inputs, sentences: Sequence[Sentence]) -> float:
    """−log-likelihood of the heads, per word."""
    total = 0.0
    for chosen in batches(sentences, inputs.heads):
        maps, vectors, words = inputs.batch(chosen)
        total += float(loss(probe(maps, vectors), gold(chosen), words))
    return total / sum(sentence.words for sentence in sentences)


@torch.no_grad()
def parsed(probe: Probe, inputs: Inputs, sentences: Sequence[Sentence]) -> tuple[list[Heads], list[Heads]]:
    """The heads (word,) of each sentence: the likeliest of each word, and those of the likeliest tree."""
    greedy, trees = {}, {}
    for chosen in batches(sentences, inputs.heads):
        maps, vectors, words = inputs.batch(chosen)
        logs = allowed(probe(maps, vectors), words).log_softmax(1).double().numpy()
        for sentence, scores in zip(chosen, logs, strict=True):
            nodes = sentence.words + 1
            greedy[sentence.example] = scores[:nodes, 1:nodes].argmax(0)
            trees[sentence.example] = best_tree(scores[:nodes, :nodes])[1:]
    return [greedy[each.example] for each in sentences], [trees[each.example] for each in sentences]


def gold(sentences: Sequence[Sentence]) -> Tensor:
    """Heads (sentence, word), −1 for padding."""
    heads = np.full((len(sentences), max(sentence.words for sentence in sentences)), -1)
    for place, sentence in enumerate(sentences):
        heads[place, : sentence.words] = sentence.head
    return torch.from_numpy(heads)


def batches(
    sentences: Sequence[Sentence], heads: int, rng: np.random.Generator | None = None
) -> Iterator[list[Sentence]]:
    """Sentences of similar lengths together; in random order if a generator is given."""
    order = rng.permutation(len(sentences)) if rng else np.arange(len(sentences))
    batched: list[list[Sentence]] = []
    for start in range(0, len(order), POOL * SENTENCES):
        pool = sorted((sentences[place] for place in order[start : start + POOL * SENTENCES]), key=_length)
        while pool:
            count = min(len(pool), SENTENCES)
            while count > 1 and count * (pool[count - 1].words + 1) ** 2 * heads > MOST:
                count -= 1
            batched.append(pool[:count])
            pool = pool[count:]
    return iter([batched[place] for place in rng.permutation(len(batched))] if rng else batched)


def _length(sentence: Sentence) -> int:
    return sentence.words


def scale_of(maps: Maps, heads: int, sentences: Sequence[Sentence]) -> NDArray[np.float32]:
    """1 / root mean square of the attention of each head, (words or root, head); 0 for a head with none."""
    total, pairs = np.zeros((2, heads)), np.zeros((2, 1))
    for sentence in sentences:
        squares = maps(sentence).astype(np.float32) ** 2
        words = squares[1:, 1:].sum((0, 1))
        total += [words, squares.sum((0, 1)) - words - squares[0, 0]]
        pairs += [[sentence.words**2], [2 * sentence.words]]
    size = np.sqrt(np.maximum(total, 0) / pairs)
    return np.divide(1, size, out=np.zeros_like(size), where=size > SMALLEST).astype(np.float32)
