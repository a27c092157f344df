"""Slow float64 loops over one map, written from the definitions: what the fast reductions are held against."""

import math

import numpy as np

OFFSETS = {f"offset{o:+d}": o for o in (-4, -3, -2, 2, 3, 4)} | {"previous": -1, "self": 0, "next": 1}


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


def _shared(attention, allowed):
    """Statistics of any map."""
    entropies = [-sum(p * math.log(p) for p in row if p > 0) for row in attention]
    return {
        "entropy": _mean(entropies),
        "entropy_relative": _mean(h / math.log(k) for h, k in zip(entropies, allowed, strict=True) if k > 1),
        "largest": _mean(max(row) for row in attention),
    }


def text(attention, query_ids, key_ids, key_pieces, specials, separator, *, causal=False, cross=False, allowed=None):
    """Statistics of a text's map; `specials` maps the name of a statistic to a token id."""
    n, m = attention.shape
    if allowed is None:
        allowed = [i + 1 if causal else m for i in range(n)]
    found = _shared(attention, allowed)
    for name, o in OFFSETS.items():
        found[name] = math.nan if cross else _mean(attention[i, i + o] for i in range(n) if 0 <= i + o < m)
    found["first"] = _mean(attention[:, 0])
    for name, token in specials.items():
        found[name] = _mean(sum(attention[i, j] for j in range(m) if key_ids[j] == token) for i in range(n))
    stops = [j for j in range(m) if key_pieces[j].strip() in (".", ",")]
    found["punctuation"] = _mean(sum(attention[i, j] for j in stops) for i in range(n))
    seps = [j for j in range(m) if key_ids[j] == separator]
    to_sep = [sum(attention[i, j] for j in seps) for i in range(n)]
    found["sep_to_sep"] = _mean(to_sep[i] for i in range(n) if query_ids[i] == separator and seps)
    found["rest_to_sep"] = _mean(to_sep[i] for i in range(n) if query_ids[i] != separator and seps)
    found["same_token"] = _mean(
        sum(attention[i, j] for j in range(m) if key_ids[j] == query_ids[i] and (cross or j != i)) for i in range(n)
    )
    found["induction"] = math.nan if cross else _mean(_induction(attention[i], query_ids, i, causal) for i in range(n))
    return found | _distances(attention, cross)


def _induction(row, ids, i, causal):
    return sum(row[j] for j in range(1, len(ids)) if ids[j - 1] == ids[i] and (j <= i if causal else j != i))


def _distances(attention, cross):
    n, m = attention.shape
    shares = [[(j + 0.5) / m - (i + 0.5) / n for j in range(m)] for i in range(n)]
    signed = _mean(sum(p * s for p, s in zip(attention[i], shares[i], strict=True)) for i in range(n))
    away = _mean(sum(p * abs(s) for p, s in zip(attention[i], shares[i], strict=True)) for i in range(n))
    deviations = []
    for row in attention:
        centre = sum(p * j for j, p in enumerate(row))
        deviations.append(math.sqrt(sum(p * (j - centre) ** 2 for j, p in enumerate(row))))
    return {
        "distance": math.nan if cross else away * n,
        "signed_distance": math.nan if cross else signed * n,
        "distance_share": away,
        "signed_distance_share": signed,
        "position_deviation": _mean(deviations),
    }


def image(attention, special, rows, columns):
    """Statistics of an image's map; `special` names the tokens in front of the patches."""
    n = len(attention)
    place = [None] * len(special) + [(r, c) for r in range(rows) for c in range(columns)]
    found = _shared(attention, [n] * n) | {"self": _mean(attention[i, i] for i in range(n))}
    for kind in dict.fromkeys("[REG]" if name.startswith("[REG") else name for name in special):
        keys = [j for j, name in enumerate(special) if name == kind or (kind == "[REG]" and name.startswith("[REG"))]
        found[f"special:{kind}"] = _mean(sum(attention[i, j] for j in keys) for i in range(n))
    for axis, name in ((0, "same_row"), (1, "same_column")):
        found[name] = _mean(
            sum(
                attention[i, j]
                for j in range(n)
                if place[i] is not None and place[j] is not None and i != j and place[i][axis] == place[j][axis]
            )
            for i in range(n)
        )
    found["grid_distance"] = _mean(_grid_distance(attention[i], place, i) for i in range(n) if place[i] is not None)
    return found


def _grid_distance(row, place, i):
    on = [j for j in range(len(row)) if place[j] is not None]
    mass = sum(row[j] for j in on)
    return sum(row[j] * math.dist(place[i], place[j]) for j in on) / mass
