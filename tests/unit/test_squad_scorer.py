"""The scores of SQuAD answers against an independent, slow computation of the official definition."""

import random
from fractions import Fraction

import pytest

from headatlas import evaluate
from headatlas.errors import DataError
from headatlas.evaluate import scorer
from support import squad_reference as reference

PIECES = [
    "the", "The", "a", "an", "An", "Norman", "normans", "king", "KING", "king's", "1066", "10th", "the-king", "U.S.",
    "in", "of", "and", "café", "café", "Straße", "İstanbul", "東京", "ﬁre", "—", "“a”", "…", "the”", "_the_", "a_b",
    "ǅ", "½", "e\u0301", "a\u0301", "\u200b", "$5", "5%", "%", "'", ".", ",", "(the)", "anthem", "then", "٣", "x²",
]  # fmt: skip
SPACES = [" ", " ", " ", "  ", "\t", "\n", "\u00a0", "\u2003", "\u3000", "", "-"]


def made(rng):
    """An answer: pieces that the rules for case, punctuation, articles and spaces treat in different ways."""
    if rng.random() < 0.08:
        return rng.choice(["", " ", "the", "...", "a, an.", "\u3000"])
    return "".join(rng.choice(PIECES) + rng.choice(SPACES) for _ in range(rng.randint(1, 6)))


def test_ten_thousand_pairs_of_answers():
    rng = random.Random(0)
    equal = partial = 0
    for _ in range(10_000):
        gold = made(rng)
        answer = gold.upper() if rng.random() < 0.1 else made(rng)
        assert scorer.normalized(gold).split() == reference.words(gold)
        exact, f1 = scorer.exact_of(gold, answer), scorer.f1_of(gold, answer)
        assert exact == reference.exact(gold, answer)
        assert f1 == pytest.approx(float(reference.f1(gold, answer)), abs=1e-12)
        equal, partial = equal + exact, partial + (0 < f1 < 1)
    assert equal > 500 and partial > 1_000


def file(rng, size):
    """Gold answers, predictions and probabilities of some questions, with ties among the probabilities."""
    golds, predictions, no_answer = {}, {}, {}
    for number in range(size):
        name = f"q{number}"
        golds[name] = [made(rng) for _ in range(rng.choice([0, 0, 1, 2, 3]))]
        right = golds[name] and rng.random() < 0.5
        predictions[name] = rng.choice(golds[name]) if right else made(rng)
        no_answer[name] = rng.choice([0.0, 0.25, 0.5, 1.0]) if rng.random() < 0.3 else rng.random()
    return golds, predictions, no_answer


@pytest.mark.parametrize("seed", range(120))
def test_all_numbers_of_a_file_and_the_best_of_all_thresholds(seed):
    rng = random.Random(seed)
    golds, predictions, no_answer = file(rng, rng.randint(1, 40))
    threshold = rng.choice([1.0, 0.5, 0.25])
    found = scorer.score(golds, predictions, no_answer, threshold)
    expected = reference.scores(golds, predictions, no_answer, threshold)
    assert list(found) == list(expected)
    assert found == pytest.approx({name: float(value) for name, value in expected.items()}, abs=1e-9)
    for name in ("best_exact_thresh", "best_f1_thresh"):
        assert found[name] == expected[name]


def test_best_thresholds_are_those_of_the_official_search_where_probabilities_differ():
    for seed in range(60):
        rng = random.Random(seed)
        golds, predictions, _ = file(rng, 25)
        predictions = {name: text if reference.words(text) else "" for name, text in predictions.items()}
        no_answer = {name: rng.random() for name in golds}
        found = scorer.best_scores(golds, predictions, no_answer)
        for measure in (reference.exact, reference.f1):
            value, at = reference.running(measure, golds, predictions, no_answer)
            assert found[f"best_{measure.__name__}"] == pytest.approx(float(value), abs=1e-9)
            assert found[f"best_{measure.__name__}_thresh"] == at


def test_a_file_scored_by_hand():
    golds = {
        "exact": ["the Battle of Hastings"],
        "part": ["King William", "William the Conqueror"],
        "silent": ["1066"],
        "none": [],
        "invented": [],
        "articles": [],
    }
    predictions = {
        "exact": "battle of  Hastings.", "part": "Duke William", "silent": "", "none": "", "invented": "Rollo",
        "articles": "the",
    }  # fmt: skip
    half = Fraction(1, 2)  # one of two words, against "King William"; against the other, also one of two and one of two
    assert scorer.score(golds, predictions) == {
        "exact": 100 * 3 / 6, "f1": float(100 * (3 + half) / 6), "total": 6,
        "HasAns_exact": 100 / 3, "HasAns_f1": 100 * 1.5 / 3, "HasAns_total": 3,
        "NoAns_exact": pytest.approx(200 / 3), "NoAns_f1": pytest.approx(200 / 3), "NoAns_total": 3,
    }  # fmt: skip


def test_without_unanswerable_questions_there_are_no_numbers_for_them():
    found = scorer.score({"q": ["oak"]}, {"q": "an oak"}, {"q": 0.3})
    assert found == {
        "exact": 100.0, "f1": 100.0, "total": 1, "HasAns_exact": 100.0, "HasAns_f1": 100.0, "HasAns_total": 1,
        "best_exact": 100.0, "best_exact_thresh": 0.3, "best_f1": 100.0, "best_f1_thresh": 0.3,
    }  # fmt: skip
    unanswerable = scorer.score({"q": []}, {"q": ""})
    assert list(unanswerable) == ["exact", "f1", "total", "NoAns_exact", "NoAns_f1", "NoAns_total"]


def test_questions_without_a_prediction_are_left_out_and_named():
    golds = {"a": ["oak"], "b": ["elm"], "c": []}
    predictions = {"a": "oak", "c": "ash", "other": "elm"}
    assert scorer.score(golds, predictions)["total"] == 2
    assert scorer.score(golds, predictions) == scorer.score({"a": ["oak"], "c": []}, predictions)
    assert scorer.unanswered(golds, predictions) == ["b"]


def test_predictions_of_other_questions_are_refused():
    with pytest.raises(DataError, match=r"none of the 2 answers is to one of the 1 questions: .* are x, y, those"):
        evaluate.score({"a": ["oak"]}, {"x": "oak", "y": ""})
    with pytest.raises(DataError, match="there is no answer to any of the 1 questions"):
        evaluate.score({"a": ["oak"]}, {})
    with pytest.raises(DataError, match="1 questions have an answer but no probability of having none: b"):
        evaluate.score({"a": [], "b": []}, {"a": "", "b": ""}, {"a": 0.5})
