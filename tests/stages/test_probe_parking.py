"""Where heads rest that have nothing to do: by slow loops, of planted heads, and of real models."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import headatlas as ha
from headatlas.errors import DataError
from headatlas.models.shuffle import shifted
from headatlas.stages.probe.detection import DRAWS
from headatlas.stages.probe.parked import of_roles, parked
from headatlas.stages.probe.resting import RESTS, text_rows
from headatlas.stages.probe.source import ExampleMaps, Source, drawn_examples
from support.commands import call
from support.planted_heads import layer_of, random_text, slow_keys

TEXTS = [example.text for example in ha.data.load("sample", limit=24)]
MASS = 0.6  # of attention that planted heads put on keys of their role, or on what they rest on


def rest_places(tokens, rest):
    return [0] if rest == "first" else [j for j in range(1, len(tokens)) if tokens.special[j]]


def slow_contrast(role, rest, tokens, matrix, causal):
    """Attention to what is rested on with a key and without, and the share of what is not on keys, query by query."""
    having, lacking, left = [], [], []
    for i in range(1, len(tokens)):
        places = [j for j in rest_places(tokens, rest) if j <= i or not causal]
        if tokens.special[i] or not places:
            continue
        mass, keys = sum(float(matrix[i, j]) for j in places), slow_keys(role, tokens, i, causal)
        if keys:
            having.append(mass)
            left.append(1 - sum(float(matrix[i, j]) for j in keys))
        else:
            lacking.append(mass)
    if not having or not lacking:
        return None
    return np.mean(having), np.mean(lacking), np.mean(lacking) - np.sum(having) / np.sum(left)


def planted_map(tokens, causal, rng, role="duplicate", rest=None):
    """Most attention on keys of the role; without a key, on what is rested on, or anywhere."""
    n = len(tokens)
    matrix = np.zeros((n, n))
    for i in range(n):
        allowed = i + 1 if causal else n
        keys = slow_keys(role, tokens, i, causal) if role else []
        target = keys or ([j for j in rest_places(tokens, rest) if j < allowed] if rest else [])
        matrix[i, :allowed] = rng.dirichlet(np.full(allowed, 5.0)) * (1 - MASS if target else 1)
        for j in target:
            matrix[i, j] += MASS / len(target)
    return matrix


def table_of(maps_of, causal, texts=24, layers=1):
    """The table of planted heads on random texts: `maps_of` gives the maps of each layer."""
    rng, tables = np.random.default_rng(0), []
    for number in range(texts):
        encoded = random_text(rng)
        maps = [np.stack(maps_of(encoded.source, rng)).astype(np.float32) for _ in range(layers)]
        kinds = [replace(layer_of(len(maps[0]), causal), index=index) for index in range(layers)]
        draws = [shifted(encoded, 0, number, draw) for draw in range(DRAWS)]
        tables += text_rows(ExampleMaps(number, encoded, maps), kinds, draws)
    return parked(kinds, pa.concat_tables(tables), np.arange(texts))


@pytest.mark.parametrize("causal", [True, False])
def test_numbers_are_those_of_slow_loops(causal):
    rng = np.random.default_rng(1)
    encoded = random_text(rng)
    maps = np.stack([planted_map(encoded.source, causal, rng, role) for role in ("duplicate", "punctuation", None)])
    maps = maps.astype(np.float32)
    draws = [shifted(encoded, 0, 3, draw) for draw in range(DRAWS)]
    table = pa.concat_tables(text_rows(ExampleMaps(3, encoded, [maps]), [layer_of(3, causal)], draws)).to_pandas()
    compared = 0
    for rest in RESTS:
        for role in ("duplicate", "punctuation", "induction", *(["copy"] if causal else ["mirror"]), "sentence"):
            rows = table[(table.rest == rest) & (table.detector == role)]
            for head in range(3):
                own = slow_contrast(role, rest, encoded.source, maps[head], causal)
                drawn = [slow_contrast(role, rest, draw.source, maps[head], causal) for draw in draws]
                drawn = [each for each in drawn if each is not None]
                if own is None or not drawn:
                    assert not len(rows)
                    continue
                row = rows[rows["head"] == head].iloc[0]
                assert (row.applies, row.otherwise) == pytest.approx(own[:2], abs=1e-6)
                assert row.moved == pytest.approx(np.mean([each[1] - each[0] for each in drawn]), abs=1e-6)
                assert row.beyond == pytest.approx(own[2] - np.mean([each[2] for each in drawn]), abs=1e-5)
                compared += 1
    assert compared >= 12
    every = table[(table.detector == "") & (table.rest == "first")]
    inner = ~encoded.source.special
    assert every.otherwise.to_numpy() == pytest.approx(maps[:, inner, 0].mean(1), abs=1e-6)


def test_planted_heads_park_where_they_were_told_to():
    """Heads of duplicates: 0 parks on separators, 1 on the first token, 2 nowhere; others have no role."""
    plans = [{"rest": "separators"}, {"rest": "first"}, {}, *[{"role": None}] * 5]
    table = table_of(lambda tokens, rng: [planted_map(tokens, False, rng, **plan) for plan in plans], False)
    found = table.to_pandas()
    found = found[found.detector == "duplicate"].set_index(["rest", "head"])
    assert found.role["first"].tolist() == found.role["separators"].tolist() == [True] * 3 + [False] * 5
    parks = found[found.parks & found.role & (found.beyond_low > 0.01)]
    assert parks.index.tolist() == [("separators", 0), ("first", 1)]
    for place in parks.index:  # known: all of the mass goes there, and none of it if the role applies
        row = found.loc[place]
        assert row.otherwise - row.applies == pytest.approx(MASS, abs=0.03) and abs(row.chance) < 0.02
        assert row.effect_low < row.effect < row.effect_high and row.effect_high - row.effect_low < 0.03
        assert row.gain == pytest.approx(MASS, abs=0.03) and row.q < 1e-5
        assert row.beyond > 0.5 and row.beyond_low > 0.5
    spread = found.loc["first", 2]  # its freed attention is spread as the rest is: a little goes there, no larger share
    assert spread.effect == pytest.approx(MASS / 43, abs=0.005) and abs(spread.beyond) < 0.005
    roles = {each["rest"]: each for each in of_roles(table, 0)}
    assert all(each["heads"] == 3 for each in roles.values()) and roles["first"]["beyond"] >= 1


def test_what_all_heads_of_a_layer_do_is_not_due_to_a_role():
    """Every head attends to the first token from tokens that are there once, one head has the role."""

    def rare_to_first(tokens, rng, role):
        matrix = planted_map(tokens, False, rng, role=role)
        for i in range(len(tokens)):
            if not slow_keys("duplicate", tokens, i, False):
                matrix[i] *= 1 - MASS
                matrix[i, 0] += MASS
        return matrix

    plans = ["duplicate", *[None] * 5]
    table = table_of(lambda tokens, rng: [rare_to_first(tokens, rng, role) for role in plans], False)
    found = table.to_pandas()
    found = found[(found.detector == "duplicate") & (found.rest == "first")].set_index("head")
    assert found.role.tolist() == [True] + [False] * 5
    assert found.effect[0] == pytest.approx(MASS, abs=0.05) == found.others[0]
    assert abs(found.gain[0]) < 0.03  # attention on its keys is missing elsewhere, the first token included


def test_what_depends_on_the_place_alone_is_chance():
    """A causal head that rests more early in a text, where tokens have no earlier copy."""

    def early(tokens, rng):
        matrix = planted_map(tokens, True, rng, role=None)
        for i in range(1, len(tokens)):
            matrix[i] *= i / len(tokens)
            matrix[i, 0] += 1 - i / len(tokens)
        return matrix

    table = table_of(lambda tokens, rng: [early(tokens, rng) for _ in range(4)], True, texts=40)
    found = table.to_pandas()
    found = found[(found.detector == "duplicate") & (found.rest == "first")]
    assert (found.otherwise - found.applies > 0.2).all() and (found.effect.abs() < 0.03).all()
    assert not found.parks.any()


def test_heads_of_one_role_are_compared_with_those_of_their_layers():
    plans = [{"rest": "first"}, *[{"role": None}] * 7]
    table = table_of(lambda tokens, rng: [planted_map(tokens, False, rng, **plan) for plan in plans], False, layers=3)
    (first,) = [each for each in of_roles(table, 0) if each["rest"] == "first"]
    assert first["heads"] == first["parking"] == first["beyond"] == 3 and first["p"] < 0.02
    assert first["effect"] == pytest.approx(MASS, abs=0.03) and abs(first["others"]) < 0.02


# --- real models


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    return ha.collect.maps("packaged", TEXTS, tmp_path_factory.mktemp("parking") / "x.atlas", resolution=8, qk_tokens=0)


def test_a_real_head_by_slow_loops(atlas):
    table = ha.probe.parking(atlas, examples=2).to_pandas()
    numbers = drawn_examples(atlas, 2, 0)
    contrasts = [
        slow_contrast("duplicate", "first", each.encoded.source, each.maps[2][9], False)
        for each in Source(atlas, numbers).maps(numbers)
    ]
    row = table[(table.layer == 2) & (table["head"] == 9) & (table.detector == "duplicate") & (table.rest == "first")]
    assert row[["applies", "otherwise"]].to_numpy()[0] == pytest.approx(np.mean(contrasts, 0)[:2], abs=1e-5)
    assert row.texts.item() == 2 and row.p.isna().all() and not row.parks.item()


def test_the_command_says_where_heads_rest(atlas):
    code, printed, _ = call("probe", "parking", atlas.files.url, "--examples", 24)
    assert code == 0 and "Heads rest on the first token, with" in printed and "Duplicate-token head: " in printed
    atlas.refresh()  # the command has a handle of its own
    facts = atlas.facts("probe", "parking")
    assert list(facts["rests"]) == ["first", "separators"] and not facts["few"]
    table = atlas.table("probe_parking").to_pandas()
    assert set(table.detector) <= {"punctuation", "duplicate", "induction", "mirror", "sentence"}
    roles = ha.probe.detect(atlas, examples=24, repeats=0).to_pandas()
    roles = roles[roles.detector == "duplicate"]
    mine = table[(table.detector == "duplicate") & (table.rest == "first")]
    assert mine.score.to_numpy() == pytest.approx(roles.score.to_numpy()) and mine.role.any()
    assert mine.role.tolist() == roles.role.tolist()


def test_images_have_nothing_to_compare(images):
    with pytest.raises(DataError, match="has images"):
        ha.probe.parking(images)


def test_few_texts_are_not_tested():
    atlas = ha.collect.maps("packaged", TEXTS[:2], "memory://parking-few.atlas", resolution=8, qk_tokens=0)
    ha.probe.parking(atlas)
    assert "too few texts" in ha.probe.ANALYSES["parking"]().findings(atlas)[-1]
