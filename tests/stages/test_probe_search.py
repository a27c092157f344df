"""The search over heads: planted maps, a slow loop over real maps, conditions of every kind, and mistakes."""

import numpy as np
import pytest

import headatlas as ha
from headatlas.errors import DataError, OptionError
from headatlas.models.encode import Tokens
from headatlas.models.written import as_written, word_forms
from headatlas.stages.probe.conditions import Text, matching, paired
from headatlas.stages.probe.head_search import scores
from support.commands import call, done
from support.treebank import SENTENCES, write_treebank


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    treebank = write_treebank(folder / "small.conllu", 24)
    return ha.collect.maps("packaged", f"conllu:{treebank}", folder / "x.atlas", resolution=8, qk_tokens=0)


def test_a_head_that_does_what_is_asked_scores_one():
    wanted = np.zeros((4, 4), bool)
    wanted[1, 2] = wanted[3, [0, 1]] = True
    does, even = np.eye(4)[[0, 2, 0, 1]], np.full((4, 4), 0.25)
    (attention, chance, strongest), queries = scores(np.stack([does, even]), wanted)
    assert queries == 2
    assert attention.tolist() == [1.0, 0.375] and chance.tolist() == [0.375, 0.375] and strongest[0] == 1
    causal = np.tril(np.full((4, 4), 0.25))
    (attention, chance, _), queries = scores(causal[None], wanted)
    assert queries == 1 and chance[0] == 0.5 and attention[0] == 0.5  # the key after query 1 cannot be attended to
    (attention, _, _), queries = scores(causal[None], np.zeros((4, 4), bool))
    assert queries == 0 and np.isnan(attention).all()


def test_verbs_and_their_objects_by_a_slow_loop(atlas):
    table = ha.probe.search(atlas, {"upos": "VERB"}, {"relation": "obj"}).to_pandas()
    row = table[(table.layer == 2) & (table["head"] == 8)].iloc[0]
    shares, chances, hits = [], [], []
    for number in range(24):
        sentence = SENTENCES[number % 2]
        attention = ha.models.attention("packaged", " ".join(word[0] for word in sentence))
        full, word = attention.map(2, 8), attention.encoded.source.word
        rows = []
        for query in range(len(word)):
            if word[query] < 0 or sentence[word[query]][1] != "VERB":
                continue
            keys = [key for key in range(len(word)) if word[key] >= 0 and sentence[word[key]][3] == "obj"
                    and sentence[word[key]][2] - 1 == word[query]]  # fmt: skip
            rows.append((sum(full[query, key] for key in keys), len(keys) / len(word), full[query].argmax() in keys))
        means = np.mean(rows, axis=0)
        shares, chances, hits = [*shares, means[0]], [*chances, means[1]], [*hits, means[2]]
    assert row["attention"] == pytest.approx(np.mean(shares), abs=1e-5)
    assert row["even"] == pytest.approx(np.mean(chances)) and row["strongest"] == pytest.approx(np.mean(hits))
    assert row["texts"] == 24 and row["low"] < row["attention"] < row["high"]
    assert (np.diff(table["attention"]) <= 0).all()


def test_up_is_the_way_back(atlas):
    up = ha.probe.search(atlas, {"deprel": "obj"}, {"relation": "obj", "direction": "up"}, examples=2).to_pandas()
    other = ha.probe.search(atlas, {"deprel": "obj"}, {"upos": "VERB"}, examples=2).to_pandas()
    columns = ["layer", "head", "attention", "even", "queries"]
    assert up[columns].round(9).equals(other[columns].round(9))  # each sentence has one verb, the head of its object


def text(pieces, written=None, words=None, **columns):
    count = len(pieces)
    special = np.array([piece.startswith("[") for piece in pieces])
    word = np.array(words if words is not None else np.where(special, -1, np.cumsum(~special) - 1), np.int32)
    tokens = Tokens(np.zeros(count, np.int32), pieces, word, special, *(np.zeros(count, np.int32),) * 3)
    return Text(tokens, written or pieces, columns)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"kind": ("special",)}, [0, 6]),
        ({"kind": ("number",)}, [3]),
        ({"kind": ("number", "punctuation")}, [3, 5]),
        ({"kind": ("capitalized",)}, [1]),
        ({"kind": ("special", "number")}, [0, 3, 6]),
        ({"position": ("first",)}, [1]),
        ({"position": ("last",)}, [5]),
        ({"token": ("ITEMS",)}, [4]),
        ({"token": ("[sep]",)}, [6]),
        ({"upos": ("NUM",)}, [3]),
        ({"upos": ("NUM",), "kind": ("punctuation",)}, []),
    ],
)
def test_conditions_on_one_token(conditions, expected):
    pieces = ["[CLS]", "buy", "our", "12", "items", ".", "[SEP]"]
    written = ["[CLS]", "Buy", "our", "12", "items", ".", "[SEP]"]
    one = text(pieces, written, upos=["VERB", "PRON", "NUM", "NOUN", "PUNCT"])
    assert np.flatnonzero(matching(one, conditions)).tolist() == expected


def test_conditions_on_two_tokens():
    one = text(["[CLS]", "dogs", "cha", "##se", "cats", "[SEP]"], words=[-1, 0, 1, 1, 2, -1],
               head=[2, 0, 2], deprel=["nsubj", "root", "obj"])  # fmt: skip
    before = paired(one, one, {"offset": ("-1",)}, same=True)
    assert np.argwhere(before).tolist() == [[place, place - 1] for place in range(1, 6)]
    down = paired(one, one, {"relation": ("obj",)}, same=True)
    assert np.argwhere(down).tolist() == [[2, 4], [3, 4]]  # from every piece of the verb
    assert (paired(one, one, {"relation": ("obj",), "direction": ("up",)}, same=True) == down.T).all()
    assert not paired(one, one, {"offset": ("-1",)}, same=False).any()


def test_tokens_are_found_as_they_were_written():
    one = text(["[CLS]", "new", "york", "##ers", "cafe", "!", "[SEP]"]).tokens
    assert as_written(one, ["New Yorkers, Café!"])[1:6] == ["New", "York", "ers", "Café", "!"]
    assert as_written(one, ["something else"])[1:3] == ["new", "york"]
    joined = text(["[CLS]", "new", "york", "##ers", "[SEP]"], words=[-1, 0, 1, 1, -1]).tokens
    assert word_forms(joined, ["New Yorkers"], 3) == ["New", "Yorkers", "…"]


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ({"pos": "VERB"}, {}, "choose token, kind"),
        ({"relation": "obj"}, {}, "use deprel"),
        ({"kind": "verb"}, {}, "choose number, punctuation"),
        ({}, {"offset": "before"}, "give a whole number"),
    ],
)
def test_mistakes_are_explained(atlas, source, target, message):
    with pytest.raises(OptionError, match=message):
        ha.probe.search(atlas, source, target)


def test_without_a_treebank_only_tokens_can_be_asked_for():
    plain = ha.collect.maps("packaged", ["The cat sat."], "memory://search-plain.atlas", resolution=8, qk_tokens=0)
    with pytest.raises(OptionError, match=r"no treebank.*conllu:FILE\.conllu"):
        ha.probe.search(plain, {"upos": "VERB"})
    best = ha.probe.search(plain, target={"offset": -1}).to_pylist()[0]
    assert (best["layer"], best["head"], best["low"]) == (0, 2, None)
    nothing = ha.probe.search(plain, target={"kind": "number"}).to_pylist()[0]
    assert nothing["queries"] == 0 and nothing["attention"] is None


def test_images_have_no_tokens_to_ask_for(tmp_path):
    from PIL import Image

    Image.new("RGB", (64, 64)).save(tmp_path / "a.png")
    images = ha.collect.maps("packaged:vit", f"images:{tmp_path}", tmp_path / "x.atlas", resolution=8, qk_tokens=0)
    with pytest.raises(DataError, match="this atlas has images"):
        ha.probe.search(images, target={"kind": "number"})


def test_the_command_prints_a_sentence_and_the_best_heads(atlas):
    url = atlas.files.url
    printed = done("probe", "search", url, "--from", "upos=VERB", "--to", "relation=obj", "--most", 3)
    assert printed.startswith("From upos = VERB to relation = obj, L") and "if it were even" in printed
    best = ha.probe.search(atlas, {"upos": "VERB"}, {"relation": "obj"}).to_pylist()
    assert f"L{best[0]['layer']}·H{best[0]['head']} attends most" in printed
    code, _, err = call("probe", "search", url, "--from", "VERB")
    assert code == 1 and "give NAME=VALUE" in err
