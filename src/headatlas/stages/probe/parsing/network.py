"""The probe: a word's head by attention, with weights of each head of the model that may depend on the two words."""

from __future__ import annotations

import torch
from torch import Tensor, nn

NOWHERE = -1e9  # the score of what cannot be a head


class Probe(nn.Module):
    """Scores of all pairs of nodes: Σ w·A[head, dependent] + u·A[dependent, head] over the heads of the model.

    w and u are linear in the vectors of both nodes. A node's vector is that of its word and a 1; the root has a 1 of
    its own instead. So without words, w and u are one number for pairs of words and another for the root. The root
    also has a score that does not depend on attention, linear in the vector of the dependent.
    """

    def __init__(self, heads: int, width: int) -> None:
        super().__init__()
        self.by_head = nn.Parameter(torch.zeros(2, width + 2, heads))  # w and u, by the vector of the head
        self.by_dependent = nn.Parameter(torch.zeros(2, width + 2, heads))
        self.root = nn.Parameter(torch.zeros(width + 2))

    def forward(self, maps: Tensor, vectors: Tensor) -> Tensor:
        """Scores (sentence, head, dependent), of maps (sentence, query, key, head of the model) and node vectors."""
        w_head, u_head = (vectors @ weights for weights in self.by_head)  # (sentence, node, head)
        w_dependent, u_dependent = (vectors @ weights for weights in self.by_dependent)
        # Weights that belong to the query, and to the key, of a map: the query is the head in w, the dependent in u.
        w_query, u_query = (maps @ torch.stack([w_head, u_dependent], -1)).unbind(-1)  # (sentence, query, key)
        w_key, u_key = (maps.transpose(1, 2) @ torch.stack([w_dependent, u_head], -1)).unbind(-1)  # (…, key, query)
        scores = w_query + w_key.transpose(1, 2) + u_query.transpose(1, 2) + u_key
        of_root = torch.zeros_like(scores)
        of_root[:, 0] = vectors @ self.root
        return scores + of_root

    def pair_weights(self) -> Tensor:
        """w and u of every head without regard to words, (w or u, words or root, head)."""
        word, root = -2, -1
        weights = torch.stack([self.by_head[:, word], self.by_head[:, root]], 1) + self.by_dependent[:, word, None]
        return weights.detach()


def node_vectors(words: Tensor) -> Tensor:
    """Vectors (sentence, node, feature + 2) of the root and of words (sentence, word, feature).

    >>> node_vectors(torch.full((1, 2, 1), 7.0)).tolist()
    [[[0.0, 0.0, 1.0], [7.0, 1.0, 0.0], [7.0, 1.0, 0.0]]]
    """
    sentences, length, width = words.shape
    vectors = words.new_zeros(sentences, length + 1, width + 2)
    vectors[:, 1:, :width] = words
    vectors[:, 1:, -2] = 1
    vectors[:, 0, -1] = 1
    return vectors


def allowed(scores: Tensor, words: Tensor) -> Tensor:
    """Scores in which neither a word itself nor padding can be a head; `words` is the length of each sentence."""
    nodes = torch.arange(scores.shape[1])
    impossible = torch.eye(len(nodes), dtype=torch.bool) | (nodes[:, None] > words[:, None, None])
    return scores.masked_fill(impossible, NOWHERE)


def loss(scores: Tensor, heads: Tensor, words: Tensor) -> Tensor:
    """Sum over words of −log p(head); heads (sentence, word) count from 0, the root, and are −1 for padding."""
    choices = allowed(scores, words)[:, :, 1:]  # (sentence, head, dependent)
    return nn.functional.cross_entropy(choices, heads, ignore_index=-1, reduction="sum")
