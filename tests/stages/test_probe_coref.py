"""Coreference: planted heads that follow chains, rules by hand, a real head by slow code, GAP, and what is missing."""

import numpy as np
import pytest

import headatlas as ha
from headatlas.data.mentions import MENTION_COLUMNS
from headatlas.errors import DataError
from headatlas.models.encode import Encoded, Tokens
from headatlas.models.model import Layer
from headatlas.stages.probe.antecedents import cases, example_rows
from headatlas.stages.probe.choices import shares
from headatlas.stages.probe.sieve import BASELINES, Words, agrees, chosen
from headatlas.stages.probe.source import ExampleMaps

TEXTS = [
    [("Morwenna", "(0)"), ("saw", "-"), ("a", "(1"), ("heron", "1)"), (".", "-"), ("She", "(0)"), ("fed", "-"),
     ("it", "(1)"), (".", "-"), ("Morwenna", "(0)"), ("laughed", "-"), (".", "-")],
    [("The", "(5"), ("boys", "5)"), ("met", "-"), ("Ann", "(6)"), (".", "-"), ("They", "(5)"), ("liked", "-"),
     ("her", "(6)"), ("unbelievable", "(7"), ("hat", "7)"), (".", "-")],
]  # fmt: skip


def conll(count):
    lines = []
    for number in range(count):
        lines.append(f"#begin document (d{number}); part 0")
        lines += [f"d{number}\t0\t{n}\t{word}\t_\t{value}" for n, (word, value) in enumerate(TEXTS[number % 2])]
        lines += ["", "#end document"]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def gold(tmp_path_factory):
    path = tmp_path_factory.mktemp("gold") / "x.conll"
    path.write_text(conll(24))
    return path


@pytest.fixture(scope="module")
def atlas(gold, tmp_path_factory):
    path = tmp_path_factory.mktemp("coref") / "x.atlas"
    return ha.collect.maps("packaged", f"coref:{gold}", path, resolution=8, qk_tokens=0)


def row_of(example):
    return {name: example.columns[name] for name in MENTION_COLUMNS}


def planted(row, words, weights):
    """The rows of a text in a model with one layer; `weights` are maps (head, word, word)."""
    word = np.array([-1, *range(words), -1], np.int32)
    tokens = Tokens(
        np.zeros(words + 2, np.int32), [""] * (words + 2), word, word < 0, *(np.zeros(words + 2, np.int8),) * 3
    )
    maps = np.full((len(weights), words + 2, words + 2), 1e-4)
    maps[:, 1:-1, 1:-1] += weights
    layers = (Layer(0, "encoder", len(weights), len(weights), 8, False, "0"),)
    return list(example_rows(ExampleMaps(0, Encoded(tokens), [maps.astype(np.float32)]), layers, row))


def bits(row, heads):
    return np.unpackbits(np.frombuffer(row["found"], np.uint8), count=heads).astype(bool).tolist()


def test_a_head_that_follows_the_chain_finds_every_antecedent(gold):
    example = next(iter(ha.data.load(f"coref:{gold}")))
    row, words = row_of(example), len(example.words)
    chain, same, later = np.zeros((3, words, words))
    for one, first in zip(row["mention_head"], row["mention_chain"], strict=True):
        for other, second in zip(row["mention_head"], row["mention_chain"], strict=True):
            chain[one, other] = first == second
            later[one, other] = other >= one  # itself and what follows are no candidates
            same[one, other] = example.words[one] == example.words[other]
    rows = planted(row, words, np.stack([chain, same, chain * 0.1 + later]))
    assert [(each["mention"], each["kind"]) for each in rows] == [(2, "pronoun"), (3, "pronoun"), (4, "proper")]
    assert [bits(each, 3)[0] for each in rows] == [True, True, True]
    assert [bits(each, 3)[1] for each in rows] == [True, False, True]  # without the same word, the first candidate
    assert [bits(each, 3)[2] for each in rows] == [True, True, True]
    assert [each["nearest"] for each in rows] == [False, False, False]
    assert [each["same_word"] for each in rows] == [False, False, True]
    assert [each["rules"] for each in rows] == [False, True, True]  # a heron may be "she", but "she" is not "it"
    assert all(each["seen"] and each["earlier"] for each in rows)


def test_a_head_that_does_not_look_at_candidates_finds_nothing(gold):
    example = next(iter(ha.data.load(f"coref:{gold}")))
    words = len(example.words)
    rows = planted(row_of(example), words, np.full((1, words, words), -1e-4))  # all weights are 0
    assert [bits(each, 1) for each in rows] == [[False]] * 3


def test_mentions_that_were_not_read_are_counted_and_left_out(gold):
    example = next(iter(ha.data.load(f"coref:{gold}")))
    cut = 8  # words: the second Morwenna is beyond
    rows = planted(row_of(example), cut, np.ones((1, cut, cut)))
    assert [each["seen"] for each in rows] == [True, True, False]
    beyond = row_of(example) | {"mention_head": [999, 3, 5, 7, 9]}  # a mention longer than the text
    rows = planted(beyond, len(example.words), np.ones((1, len(example.words), len(example.words))))
    assert [(each["mention"], each["seen"]) for each in rows] == [(0, False), (3, True), (4, True)]
    assert list(cases({name: [] for name in MENTION_COLUMNS})) == []


def words(place, text, kind="nominal", word=None):
    return Words(place, word or text.split()[-1], text, kind)


def test_rules_by_hand():
    ann, boys = words(1, "Mrs. Ann Lee", "proper"), words(4, "the boys")
    cat, other = words(7, "a cat"), words(9, "Ann", "proper")
    she, they = words(12, "she", "pronoun"), words(13, "They", "pronoun")
    candidates = [ann, boys, cat]
    assert chosen(she, candidates, BASELINES["nearest"]) is cat
    assert chosen(she, [ann, boys], BASELINES["rules"]) is ann  # boys are many
    assert chosen(they, candidates, BASELINES["rules"]) is boys
    assert chosen(words(15, "The cat"), candidates, BASELINES["same_word"]) is cat
    assert chosen(words(15, "The CAT"), [*candidates, words(14, "she", "pronoun")], BASELINES["rules"]) is cat
    same = words(3, "mrs. ann lee", "proper")
    near = words(8, "Mr. Lee", "proper")
    assert chosen(words(20, "Mrs. Ann Lee", "proper"), [same, near], BASELINES["rules"]) is same  # whole text first
    assert chosen(words(20, "Lee", "proper"), [same, near], BASELINES["rules"]) is near  # then the word
    assert chosen(other, [words(8, "you", "pronoun")], BASELINES["rules"]).text == "you"  # nothing fits: the nearest
    assert not agrees(words(0, "my", "pronoun"), ann) and not agrees(words(0, "he", "pronoun"), ann)
    assert not agrees(words(0, "it", "pronoun"), ann) and agrees(words(0, "who", "pronoun"), boys)
    assert words(0, "Tom and Ann", "proper").features.number == "plural"
    assert words(0, "James", "proper").features.number == "singular" and words(0, "glass").features.number == "singular"


def test_a_real_head_by_slow_code(atlas):
    ha.probe.coref(atlas)
    table = atlas.table("probe_coref_heads").to_pandas().set_index(["kind", "layer", "head"])
    hits = {"pronoun": [], "proper": []}
    for text in TEXTS:
        attention = ha.models.attention("packaged", " ".join(word for word, _ in text))
        word = attention.encoded.source.word
        last = {"1": 3, "5": 1, "7": 9}  # of mentions with two words
        heads = [
            (last.get(value[1:], place), value.strip("()")) for place, (_, value) in enumerate(text) if "(" in value
        ]
        for layer in range(6):
            full = attention.map(layer, 4)
            for place, chain in heads:
                earlier = [(other, its) for other, its in heads if other < place]
                if chain not in [its for _, its in earlier]:
                    continue
                weight = [
                    np.mean(
                        [sum(full[q, k] for k in np.flatnonzero(word == other)) for q in np.flatnonzero(word == place)]
                    )
                    for other, _ in earlier
                ]
                kind = "proper" if text[place][0] == "Morwenna" else "pronoun"
                hits[kind].append((layer, earlier[int(np.argmax(weight))][1] == chain))
    for kind, found in hits.items():
        for layer in range(6):
            share = np.mean([right for at, right in found if at == layer])
            assert table.loc[(kind, layer, 4), "accuracy"] == pytest.approx(share)
    assert table.loc[("all", 0, 0), "cases"] == 12 * 5 and table.loc[("proper", 0, 0), "cases"] == 12


def test_kinds_with_few_cases_are_not_ranked(atlas):
    table = ha.probe.coref(atlas).to_pandas().set_index("kind")
    assert list(table.index) == ["all", "pronoun"]  # 12 cases of proper names are too few
    assert (table["documents"] == 24).all() and table["cases"].tolist() == [60, 48]
    for name in ("accuracy", *BASELINES, "gain"):
        assert ((table[f"{name}_low"] <= table[name]) & (table[name] <= table[f"{name}_high"])).all()
    best = table.loc["all", "best_baseline"]
    assert table.loc["all", "gain"] == pytest.approx(table.loc["all", "accuracy"] - table.loc["all", best])
    assert atlas.facts("probe", "coref")["not_read"] == 0 and atlas.facts("probe", "coref")["documents"] == 24


def test_documents_are_drawn_whole():
    found = np.tile([True, False], 50)
    alone = shares({"x": found}, {}, np.arange(100), 0)
    together = shares({"x": np.sort(found)}, {}, np.arange(100) // 25, 0)
    assert together["x"] == alone["x"] == 0.5
    assert together["x_high"] - together["x_low"] > 2 * (alone["x_high"] - alone["x_low"])
    paired = shares({"x": found, "y": found}, {"gain": ("x", "y")}, np.arange(100), 0)
    assert paired["gain_low"] == paired["gain"] == paired["gain_high"] == 0


NAMES = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL"
CHOICES = [
    "Ann Lee met Rosa, who fed her.\ther\t26\tAnn Lee\t0\tTRUE\tRosa\t12\tFALSE",
    "Tom saw Jim when he left.\the\t17\tTom\t0\tFALSE\tJim\t8\tTRUE",
    "When he left, Tom saw Jim.\the\t5\tTom\t14\tTRUE\tJim\t22\tFALSE",
    "Tom saw Jim when he left.\the\t17\tTom\t0\tFALSE\tJim\t8\tFALSE",
]


def test_gap_is_a_choice_between_two_names(tmp_path):
    lines = [NAMES, *(f"g-{n}\t{CHOICES[n % 4]}\thttp://x/{n}" for n in range(96))]
    (tmp_path / "x.tsv").write_text("\n".join(lines) + "\n")
    atlas = ha.collect.maps("packaged", f"gap:{tmp_path / 'x.tsv'}", tmp_path / "x.atlas", resolution=8, qk_tokens=0)
    table = ha.probe.coref(atlas).to_pandas().set_index("kind")
    assert table["cases"].to_dict() == {"all": 72, "masculine": 48, "feminine": 24, "names first": 48}  # one is right
    assert table["nearest"].to_dict() == {"all": 2 / 3, "masculine": 1, "feminine": 0, "names first": 0.5}
    full = ha.models.attention("packaged", "Tom saw Jim when he left.")
    word = full.encoded.source.word
    [[he], [tom], [jim]] = (np.flatnonzero(word == place).tolist() for place in (4, 0, 2))
    heads = atlas.table("probe_coref_heads").to_pandas().set_index(["kind", "layer", "head"])
    late = ha.models.attention("packaged", "When he left, Tom saw Jim.")
    places = [late.tokens.index(name) for name in ("he", "tom", "jim")]
    for layer, head in ((0, 0), (2, 4), (5, 11)):
        right = [full.map(layer, head)[he, jim] > full.map(layer, head)[he, tom]]
        right.append(late.map(layer, head)[places[0], places[1]] > late.map(layer, head)[places[0], places[2]])
        assert heads.loc[("masculine", layer, head), "accuracy"] == pytest.approx(np.mean(right))


def test_without_mentions_the_formats_are_named(tmp_path):
    atlas = ha.collect.maps("packaged", ["The cat sat."], "memory://no-mentions.atlas", resolution=8, qk_tokens=0)
    with pytest.raises(DataError, match=r"coref:FILE\.conll .*coref:FILE\.conllu .*gap:FILE\.tsv"):
        ha.probe.coref(atlas)
    (tmp_path / "x.conll").write_text("d\t0\t0\tAnn\t_\t(0)\nd\t0\t1\tsat\t_\t-\n")
    alone = ha.collect.maps(
        "packaged", f"coref:{tmp_path / 'x.conll'}", tmp_path / "x.atlas", resolution=8, qk_tokens=0
    )
    with pytest.raises(DataError, match="no text of this dataset has two mentions"):
        ha.probe.coref(alone)
