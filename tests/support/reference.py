"""Slow float64 loops over one map, written from the definitions, to check the fast reductions.

`TEXT` and `IMAGE` have a function for each statistic, by its name; those of special tokens are in `text` and `image`.
"""

import math
import re
from dataclasses import dataclass

import numpy as np

from headatlas.models.encode import Tokens

OFFSETS = {f"offset{o:+d}": o for o in (-4, -3, -2, 2, 3, 4)} | {"previous": -1, "self": 0, "next": 1}


@dataclass
class TextMap:
    """A map (query, key) of a text; keys are other tokens than queries in cross attention."""

    attention: np.ndarray
    queries: Tokens
    keys: Tokens
    separator: int | None
    causal: bool
    allowed: list[int]  # number of keys each query may see

    @property
    def cross(self):
        return self.queries is not self.keys

    def mass(self, belongs):
        """The mean over queries of the attention to the keys j for which `belongs(i, j)`."""
        n, m = self.attention.shape
        return _mean(sum(self.attention[i, j] for j in range(m) if belongs(i, j)) for i in range(n))


@dataclass
class ImageMap:
    """A map of an image: special tokens in front, which have no position, then patches at (row, column)."""

    attention: np.ndarray
    places: list[tuple[int, int] | None]

    @property
    def allowed(self):
        return [len(self.places)] * len(self.places)

    def line(self, axis):
        """The mean over queries of the attention to other patches of the same row or column."""
        total = 0.0
        for i, first in enumerate(self.places):
            for j, second in enumerate(self.places):
                if first is not None and second is not None and i != j and first[axis] == second[axis]:
                    total += self.attention[i, j]
        return total / len(self.places)


def text(attention, queries, keys, specials, separator, *, causal=False, allowed=None):
    """Statistics of a text's map; `specials` maps the name of a statistic to a token id."""
    n, m = attention.shape
    if allowed is None:
        allowed = [i + 1 if causal else m for i in range(n)]
    text_map = TextMap(attention, queries, keys, separator, causal, allowed)
    values = {name: slow(text_map) for name, slow in TEXT.items()}
    for name, token in specials.items():
        values[name] = text_map.mass(lambda i, j, token=token: keys.ids[j] == token)
    return values


def spans(attention, queries, keys, kinds):
    """Attention of a text's map from each kind of span to each; queries and keys are the names of their spans."""
    values = {}
    for first in kinds:
        for second in kinds:
            rows = [i for i, name in enumerate(queries) if name == first]
            columns = [j for j, name in enumerate(keys) if name == second]
            masses = [sum(attention[i, j] for j in columns) for i in rows]
            values[f"span:{first}>{second}"] = _mean(masses) if columns else math.nan
    return values


def moved(attention, values, weight, special, *, cross=False):
    """What one head moves: values (key, feature), its rows of the output projection (feature, hidden)."""
    n, m = attention.shape
    weights = [[attention[i, j] * math.sqrt(sum((values[j] @ weight) ** 2)) for j in range(m)] for i in range(n)]
    sums = dict.fromkeys(("first", "special", "self", "others"), 0.0)
    for i in range(n):
        for j in range(m):
            place = "first" if j == 0 else "special" if special[j] else "self" if i == j and not cross else "others"
            sums[place] += weights[i][j]
    total = sum(map(sum, weights))
    values = {f"norm:{name}": value / total if total > 0 else math.nan for name, value in sums.items()}
    if cross:
        values["norm:self"] = math.nan
    return values | {"norm:length": total / n}


def image(attention, special, rows, columns):
    """Statistics of an image's map; `special` names the tokens in front of the patches."""
    image_map = ImageMap(attention, [None] * len(special) + [(r, c) for r in range(rows) for c in range(columns)])
    values = {name: slow(image_map) for name, slow in IMAGE.items()}
    for kind in dict.fromkeys("[REG]" if name.startswith("[REG") else name for name in special):
        keys = [j for j, name in enumerate(special) if name == kind or (kind == "[REG]" and name.startswith("[REG"))]
        values[f"special:{kind}"] = _mean(sum(row[j] for j in keys) for row in attention)
    return values


def pooled(attention, r):
    """Mass-preserving pooling by overlaps of token cells with bins of the unit interval."""
    n, m = attention.shape
    result = np.zeros((r, r))
    for a in range(r):
        for b in range(r):
            total = 0.0
            for i in range(n):
                tall = _overlap(i / n, (i + 1) / n, a / r, (a + 1) / r) * r
                if tall == 0:
                    continue
                for j in range(m):
                    total += tall * _overlap(j / m, (j + 1) / m, b / r, (b + 1) / r) * m * attention[i, j]
            result[a, b] = total
    return result


def _overlap(a, b, c, d):
    return max(0.0, min(b, d) - max(a, c))


def _mean(values):
    values = list(values)
    return sum(values) / len(values) if values else math.nan


# any map


def _entropies(map_):
    return [-sum(p * math.log(p) for p in row if p > 0) for row in map_.attention]


def _entropy(map_):
    return _mean(_entropies(map_))


def _entropy_relative(map_):
    return _mean(h / math.log(k) for h, k in zip(_entropies(map_), map_.allowed, strict=True) if k > 1)


def _largest(map_):
    return _mean(max(row) for row in map_.attention)


def _offset(by):
    def slow(map_):
        n, m = map_.attention.shape
        return _mean(map_.attention[i, i + by] for i in range(n) if 0 <= i + by < m)

    return slow


# texts


def _square(slow):
    """NaN where queries and keys are different tokens."""
    return lambda map_: math.nan if map_.cross else slow(map_)


def _first(map_):
    return _mean(map_.attention[:, 0])


def _punctuation(map_):
    return map_.mass(lambda i, j: _is_punctuation(map_, j))


def _to_separators(wanted):
    def slow(map_):
        separators = [j for j, token in enumerate(map_.keys.ids) if token == map_.separator]
        queries = [i for i, token in enumerate(map_.queries.ids) if (token == map_.separator) == wanted]
        return _mean(sum(map_.attention[i, j] for j in separators) for i in queries if separators)

    return slow


def _same_token(map_):
    return map_.mass(lambda i, j: map_.keys.ids[j] == map_.queries.ids[i] and (map_.cross or j != i))


def _induction(map_):
    return map_.mass(lambda i, j: _follows_equal(map_, i, j))


def _follows_equal(map_, i, j):
    ids = map_.queries.ids
    return j > 0 and j - 1 != i and ids[j - 1] == ids[i] and (j <= i or not map_.causal)


def _same_sentence(map_):
    numbers = _sentences(map_.keys)
    return map_.mass(lambda i, j: numbers[i] is not None and numbers[i] == numbers[j])


def _sentences(tokens):
    """Sentences by a regular expression over the kinds of the tokens of a segment: words, ends and closers."""
    numbers = [None] * len(tokens)
    for segment in {*tokens.segment.tolist()}:
        places = [i for i in range(len(tokens)) if tokens.segment[i] == segment and not tokens.special[i]]
        kinds = ""
        for i in places:
            piece = tokens.text[i].strip().removeprefix("##")
            closes = re.fullmatch(r"""[.!?"'”’»)\]}]*""", piece)
            kinds += "w" if not closes else "e" if re.search("[.!?]", piece) else "c"
        stops = [match.end() for match in re.finditer("[wc]*e[ec]*|[wc]+", kinds)]
        for at, i in enumerate(places):
            numbers[i] = (segment, sum(at >= stop for stop in stops))
    return numbers


def _distance(measure):
    """The mean of `measure` of the distance between relative positions."""

    def slow(map_):
        n, m = map_.attention.shape
        rows = ([(j + 0.5) / m - (i + 0.5) / n for j in range(m)] for i in range(n))
        return _mean(
            sum(p * measure(step) for p, step in zip(weights, row, strict=True))
            for weights, row in zip(map_.attention, rows, strict=True)
        )

    return slow


def _in_tokens(slow):
    return _square(lambda map_: slow(map_) * len(map_.queries))


def _position_deviation(map_):
    deviations = []
    for row in map_.attention:
        center = sum(p * j for j, p in enumerate(row))
        deviations.append(math.sqrt(sum(p * (j - center) ** 2 for j, p in enumerate(row))))
    return _mean(deviations)


def _is_punctuation(map_, j):
    return map_.keys.text[j].strip().removeprefix("##") in (".", ",")


def _inner(map_, i, j):
    """Whether a pair counts for attention by distance."""
    return j > 0 and not map_.keys.special[j] and (j <= i or not map_.causal)


def _mean_at_distance(map_):
    """The mean weight of inner pairs at each distance."""
    weights = {}
    for (i, j), weight in np.ndenumerate(map_.attention):
        if _inner(map_, i, j):
            weights.setdefault(j - i, []).append(weight)
    return {distance: _mean(found) for distance, found in weights.items()}


def _window(near, far):
    low, high = sorted((near, far))
    return lambda map_: map_.mass(lambda i, j: low <= j - i <= high and _inner(map_, i, j))


def _beyond(related):
    """Attention to related inner pairs less that of maps in which only the distance decides."""

    def slow(map_):
        expected = _mean_at_distance(map_)
        numbers = _sentences(map_.keys)
        pairs = [pair for pair in np.ndindex(map_.attention.shape) if _inner(map_, *pair)]
        pairs = [(i, j) for i, j in pairs if related(map_, numbers, i, j)]
        return sum(map_.attention[i, j] - expected[j - i] for i, j in pairs) / len(map_.queries)

    return slow


def _by_distance(map_):
    expected = _mean_at_distance(map_)
    pairs = [pair for pair in np.ndindex(map_.attention.shape) if _inner(map_, *pair)]
    squares = sum(map_.attention[pair] ** 2 for pair in pairs)
    return sum(expected[j - i] ** 2 for i, j in pairs) / squares if squares > 1e-20 else math.nan


def _by_key(map_):
    """The same for the mean weight of each key, over the queries that a causal mask lets attend to it."""
    n, m = map_.attention.shape
    causal = getattr(map_, "causal", False)
    total = 0.0
    for j in range(m):
        queries = [i for i in range(n) if i >= j or not causal]
        total += len(queries) * _mean(map_.attention[i, j] for i in queries) ** 2
    return total / (map_.attention**2).sum()


def _distances(map_):
    """Attention to inner keys: per query, after and before it, and its distance; and the distance of even attention."""
    pairs = [pair for pair in np.ndindex(map_.attention.shape) if _inner(map_, *pair)]
    mass = sum(map_.attention[pair] for pair in pairs)
    ahead = sum(map_.attention[i, j] for i, j in pairs if j > i)
    behind = sum(map_.attention[i, j] for i, j in pairs if j < i)
    total = sum(map_.attention[i, j] * abs(j - i) for i, j in pairs)
    rows = [[abs(j - i) for j in range(len(map_.keys)) if _inner(map_, i, j)] for i in range(len(map_.queries))]
    even = _mean(_mean(row) for row in rows if row)
    return mass / len(map_.queries), ahead, behind, total, even


def _reach(map_):
    mass, _, _, total, even = _distances(map_)
    return total / (mass * len(map_.queries)) / even if mass >= 0.01 and even > 0 else math.nan


def _direction(map_):
    mass, ahead, behind, _, even = _distances(map_)
    return (ahead - behind) / (ahead + behind) if mass >= 0.01 and even > 0 and ahead + behind > 0 else math.nan


def _same_few(map_):
    """What each counted key has beyond the mean of others around it, and beyond a chance meeting of a few queries."""
    n, m = map_.attention.shape
    counted = [j for j in range(1, m) if not map_.keys.special[j] and not _is_punctuation(map_, j)]
    total = 0.0
    for j in counted:
        around = [map_.attention[:, k].sum() for k in counted if k != j and abs(k - j) <= 8]
        chance = 2 * math.sqrt(sum(weight**2 for weight in map_.attention[:, j]))
        total += max(0.0, map_.attention[:, j].sum() - _mean(around) - chance) if around else 0.0
    return total / n


BEYOND = {
    "same_token": lambda map_, numbers, i, j: j != i and map_.keys.ids[j] == map_.queries.ids[i],
    "induction": lambda map_, numbers, i, j: _follows_equal(map_, i, j),
    "same_sentence": lambda map_, numbers, i, j: numbers[i] is not None and numbers[i] == numbers[j],
    "punctuation": lambda map_, numbers, i, j: _is_punctuation(map_, j),
}
WINDOWS = {
    "back_33": (-33, -(10**9)), "back_9_32": (-9, -32), "back_5_8": (-5, -8),
    "ahead_5_8": (5, 8), "ahead_9_32": (9, 32), "ahead_33": (33, 10**9),
}  # fmt: skip


# images


def _grid_distance(map_):
    patches = [j for j, place in enumerate(map_.places) if place is not None]
    distances = []
    for i in patches:
        mass = sum(map_.attention[i, j] for j in patches)
        total = sum(map_.attention[i, j] * math.dist(map_.places[i], map_.places[j]) for j in patches)
        distances.append(total / mass)
    return _mean(distances)


_SHARED = {"by_key": _by_key, "entropy": _entropy, "entropy_relative": _entropy_relative, "largest": _largest}
TEXT = {
    **_SHARED,
    **{name: _square(_offset(by)) for name, by in OFFSETS.items()},
    "first": _first,
    "punctuation": _punctuation,
    "sep_to_sep": _to_separators(True),
    "rest_to_sep": _to_separators(False),
    "same_token": _same_token,
    "induction": _square(_induction),
    "same_sentence": _square(_same_sentence),
    "distance": _in_tokens(_distance(abs)),
    "signed_distance": _in_tokens(_distance(float)),
    "distance_share": _distance(abs),
    "signed_distance_share": _distance(float),
    "position_deviation": _position_deviation,
    "by_distance": _square(_by_distance),
    "same_few": _same_few,
    "reach": _square(_reach),
    "direction": _square(_direction),
    **{name: _square(_window(*window)) for name, window in WINDOWS.items()},
    **{f"{name}_beyond": _square(_beyond(related)) for name, related in BEYOND.items()},
}
IMAGE = {
    **_SHARED,
    "self": _offset(0),
    "same_row": lambda map_: map_.line(0),
    "same_column": lambda map_: map_.line(1),
    "grid_distance": _grid_distance,
}
