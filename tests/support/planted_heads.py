"""Random texts, the keys of each role by slow loops, and maps of heads that have a role."""

import numpy as np

from headatlas.models.encode import Encoded, Tokens
from headatlas.models.model import Layer

WORDS = [*"abcdefghijklmnopqrstuvwxyz", ".", ","]


def slow_keys(role, tokens, i, causal):
    """The keys of query i, one by one."""
    n, special, ids = len(tokens), tokens.special, tokens.ids
    ended, sentence = False, [0]
    for j in range(n):  # a sentence ends after its full stop and what closes it
        marks = tokens.text[j].strip()
        closes = not special[j] and all(mark in ".!?\"'”’)]" for mark in marks)
        new = ended and not closes and not special[j]
        sentence.append(sentence[-1] + new)
        ended = (ended and (closes or special[j])) or (closes and any(mark in ".!?" for mark in marks))
    sentence = sentence[1:]
    found = []
    for j in range(i + 1 if causal else n):
        inner = j > 0 and not special[j]
        same = not special[i] and inner and ids[i] == ids[j]
        if (
            (role == "previous" and j == i - 1)
            or (role == "next" and j == i + 1)
            or (role == "self" and j == i)
            or (role == "local" and 1 <= abs(j - i) <= 4)
            or (role == "first" and j == 0 and i > 0)
            or (role == "separator" and special[j] and j > 0 and j != i)
            or (role == "punctuation" and inner and j != i and tokens.text[j].strip() in (".", ","))
            or (role == "duplicate" and same and j != i)
            or (role == "induction" and inner and j < i - 1 and not special[[i, j - 1]].any() and ids[j - 1] == ids[i])
            or (role == "mirror" and inner and i + 1 < j < n - 1 and not special[[i, j + 1]].any()
                and ids[j + 1] == ids[i])
            or (role == "copy" and inner and j < i - 1 and i + 1 < n and not special[i + 1] and ids[j] == ids[i + 1])
            or (role == "sentence" and inner and not special[i] and j != i and sentence[i] == sentence[j])
        ):  # fmt: skip
            found.append(j)
    return found


def random_text(rng, count=40, frame=True):
    """Random words between [CLS] and [SEP], with another [SEP] early on."""
    numbers = rng.integers(0, len(WORDS), count)
    pieces = [WORDS[number] for number in numbers]
    ids, special = numbers + 10, np.zeros(count, bool)
    if frame:
        pieces, ids = ["[CLS]", *pieces[:9], "[SEP]", *pieces[9:], "[SEP]"], [1, *ids[:9], 2, *ids[9:], 2]
        special = [piece[0] == "[" for piece in pieces]
    zeros = np.zeros(len(pieces), np.int32)
    return Encoded(
        Tokens(np.array(ids, np.int32), pieces, zeros, np.array(special), zeros.astype(np.int8), zeros, zeros)
    )


def planted(role, tokens, causal, rng, mass=0.8):
    """A map with most attention of each query on its keys of a role, the rest anywhere."""
    n = len(tokens)
    matrix = np.zeros((n, n))
    for i in range(n):
        allowed = i + 1 if causal else n
        keys = slow_keys(role, tokens, i, causal) if role else []
        matrix[i, :allowed] = rng.dirichlet(np.full(allowed, 5.0)) * ((1 - mass) if keys else 1)
        for j in keys:
            matrix[i, j] += mass / len(keys)
    return matrix


def layer_of(heads, causal):
    return Layer(0, "decoder" if causal else "encoder", heads, heads, 8, causal, "0")
