"""The rules for names of clusters: what a phrase needs, and what tells clusters of the same phrases apart."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.stages.correlate.contrasts import statistic_sources
from headatlas.stages.correlate.distinctions import name_text, names
from headatlas.stages.correlate.names import LEAST, MOST, Evidence, Home, Name, Subject, name_phrases, phrases
from headatlas.statistics import SINKS, STATISTICS, special, statistic


def evidence(**numbers):
    """Evidence from `name=(mean, rest, delta)`."""
    statistics = {"sep": "special:[SEP]", "cls": "special:[CLS]", "two_ahead": "offset+2"}
    return [
        Evidence(statistics.get(name, name), *values, values[2] - 0.01, values[2] + 0.01)
        for name, values in numbers.items()
    ]


def called(*items, **homes):
    """The names of clusters with these lists of evidence."""
    home = homes.get("homes", [Home(first=(number, 0, 0)) for number in range(len(items))])
    subjects = {number: Subject(item, home[number]) for number, item in enumerate(items)}
    return [name_text(name) for name in names(subjects).values()]


def test_rules_for_phrases():
    assert phrases(evidence(punctuation=(0.02, 0.001, 0.9))) == []  # a clear difference, but hardly any mass
    assert [p.text for p in phrases(evidence(punctuation=(0.11, 0.03, 0.9)))] == ["punctuation"]
    assert phrases(evidence(previous=(0.01, 0.3, -0.9))) == []  # less than the rest gives no name
    assert [p.text for p in phrases(evidence(first=(0.5, 0.1, 0.8), cls=(0.5, 0.1, 0.8)))] == ["rests on [CLS]"]
    assert phrases(evidence(sep=(0.3, 0.2, 0.4), entropy_relative=(0.97, 0.3, 1.0)))[0].text == "spreads evenly"
    assert phrases(evidence(sep=(0.6, 0.1, 0.9), largest=(0.6, 0.2, 0.95)))[0].text == "rests on separators"
    assert phrases(evidence(signed_distance_share=(0.01, -0.2, 0.9))) == []  # higher than the rest, yet not ahead
    assert phrases([Evidence("special:<mask>", 0.4, 0.1, 0.7, 0.6, 0.8)])[0].text == "rests on <mask>"
    assert phrases(evidence(previous=(0.9, 0.1, 0.32))) == [] and phrases(evidence(previous=(1.2, 0.1, 0.9))) == []
    assert phrases([replace(evidence(previous=(0.9, 0.1, 0.9))[0], fits=False)]) == []  # not for most of its maps


def test_a_consistent_difference_that_is_too_small_to_matter_gives_no_name():
    assert phrases(evidence(grid_distance=(4.13, 4.14, -1.0))) == []
    assert phrases(evidence(grid_distance=(3.5, 4.14, -0.5)))[0].text == "nearby patches"
    assert phrases(evidence(distance_share=(0.26, 0.28, -0.9))) == []
    assert phrases(evidence(previous=(0.19, 0.15, 1.0))) == []
    assert phrases(evidence(largest=(0.15, 0.24, -1.0))) == []
    assert phrases(evidence(distance_share=(0.2, 0.3, 0.4))) == []  # delta and means contradict one another


@given(st.data())
def test_every_phrase_needs_a_clear_difference_that_matters(data):
    entry = data.draw(st.sampled_from([*STATISTICS, *map(special, SINKS)]))
    mean, rest, delta = (data.draw(st.floats(low, 1)) for low in (0, 0, -1))
    for phrase in phrases([Evidence(entry.name.format(token="x"), mean, rest, delta, delta, delta)]):
        assert abs(delta) >= LEAST and abs(mean - rest) >= entry.least
        assert phrase.text in {naming.phrase.format(token="x") for naming in (entry.high, entry.low) if naming}


def test_windows_of_offsets():
    window = evidence(next=(0.2, 0.02, 0.9), two_ahead=(0.15, 0.02, 0.9), just_after=(0.4, 0.05, 0.95))
    window += [Evidence(f"offset+{n}", 0.03, 0.01, 0.6, 0, 1) for n in (3, 4)]
    assert phrases(window)[0].text == "tokens just after"
    next_token = evidence(next=(0.5, 0.02, 0.9), two_ahead=(0.02, 0.02, 0.0), just_after=(0.55, 0.05, 0.97))
    next_token += [Evidence(f"offset+{n}", 0.02, 0.01, 0.0, 0, 1) for n in (3, 4)]
    assert phrases(next_token)[0].text == "next token"
    # over parts that look at the next token or not, the wider phrase is the one that holds for most maps
    for_some = [replace(item, fits=item.statistic == "just_after") for item in next_token]
    assert phrases(for_some)[0].text == "tokens just after"

    def sides(before, after):
        parts = {"previous": before, "next": after, "offset-2": before, "offset+2": after, "self": 0.05}
        sums = {"just_before": 2 * before, "just_after": 2 * after, "around": 2 * before + 2 * after + 0.05}
        return [Evidence(name, mean, mean / 3, 0.8, 0.7, 0.9) for name, mean in (parts | sums).items()]

    assert called(sides(0.1, 0.12)) == ["neighboring tokens"]
    assert called(sides(0.3, 0.02)) == ["tokens just before"]
    assert called(sides(0.02, 0.3)) == ["tokens just after"]


def test_what_spreads_evenly_is_not_said_to_spread_widely():
    both = evidence(largest=(0.04, 0.4, -1.0), entropy_relative=(0.92, 0.6, 0.9))
    assert [phrase.text for phrase in phrases(both)] == ["spreads evenly"]
    assert [phrase.text for phrase in phrases(both[:1] + evidence(entropy_relative=(0.8, 0.6, 0.9)))] == [
        "spreads widely"
    ]


def test_the_most_telling_phrase_of_all_families_comes_first():
    """Also if a weaker phrase of the same family comes last."""
    items = evidence(just_before=(0.5, 0.17, 0.92), distance_share=(0.06, 0.28, -0.96), self=(0.2, 0.1, 0.6))
    assert [phrase.text for phrase in phrases(items)] == ["tokens just before", "nearby tokens"]


def test_sums_and_differences_of_statistics():
    sources = statistic_sources(["previous", "next", "offset+2", "offset+3", "offset+4", "induction"])
    assert sources["just_after"] == ([1, 2, 3, 4], [])
    assert "just_before" not in sources and sources["next"] == ([1], [])
    assert phrases([Evidence("induction", 0.5, 0.1, 0.9, 0.8, 1.0)])[0].text == "induction"


SINK = evidence(sep=(0.7, 0.1, 0.9))


def test_clusters_of_the_same_phrase_get_a_second_one():
    near, far = evidence(distance_share=(0.2, 0.3, -0.5)), evidence(distance_share=(0.5, 0.3, 0.5))
    assert called(SINK + far, SINK + near) == [
        "rests on separators, distant tokens", "rests on separators, nearby tokens"
    ]  # fmt: skip
    before = evidence(previous=(0.6, 0.1, 0.9))
    assert called(before + near, before)[0] != "previous token, nearby tokens"  # the previous token is near anyway
    named = name_phrases({0: Subject(SINK + far), 1: Subject(SINK + near)})
    assert [reason.statistic for reason in named[0].reasons] == ["special:[SEP]", "distance_share"]


def test_or_a_comparison_in_words():
    sharp, broad = evidence(entropy_relative=(0.55, 0.6, -0.1)), evidence(entropy_relative=(0.7, 0.6, 0.2))
    assert called(SINK + sharp, SINK + broad) == ["rests on separators, sharper", "rests on separators, broader"]
    more, less = evidence(self=(0.12, 0.1, 0.2)), evidence(self=(0.05, 0.1, -0.2))
    assert called(SINK + more, SINK + less) == [
        "rests on separators, more on the token itself", "rests on separators, less on the token itself"
    ]  # fmt: skip
    assert called(SINK, evidence(sep=(0.4, 0.1, 0.9))) == [
        "rests on separators, strongly",
        "rests on separators, weakly",
    ]
    ahead, back = (evidence(signed_distance_share=(mean, 0, 0.1)) for mean in (-0.1, -0.3))
    assert called(SINK + ahead, SINK + back)[1] == "rests on separators, further back"
    assert "ahead" not in called(SINK + ahead, SINK + back)[0]  # it looks less far back, but not ahead


def test_or_where_they_are():
    homes = [Home(heads=((3, 2),), first=(0, 3, 2)), Home(heads=((3, 2),), layers=(3, 4), first=(0, 3, 3))]
    homes += [Home(layers=(3, 4), length=90, first=(1, 0, 0)), Home(layers=(3, 4), length=30, first=(2, 0, 0))]
    homes += [Home(examples=(7,), length=50, first=(7, 0, 0)), Home(lead=(5, 1), length=50, first=(3, 0, 0))]
    homes += [Home(lead=(5, 1), length=50, first=(4, 2, 1))]
    homes = [replace(home, length=50) if np.isnan(home.length) else home for home in homes]
    assert called(*[SINK] * 7, homes=homes) == [
        f"rests on separators, {words}"
        for words in ("mostly L3·H2", "layers 3–4", "longer texts", "shorter texts", "mostly example 7",
                      "led by L5·H1", "as in L2·H1 on example 4")
    ]  # fmt: skip
    assert called(evidence(previous=(0.02, 0.02, 0.1)), evidence(previous=(0.02, 0.02, 0.2)), homes=homes[:2]) == [
        "mixed, mostly L3·H2", "mixed, layers 3–4"
    ]  # fmt: skip


def test_a_name_alone_needs_no_distinction():
    (name,) = names({0: Subject(evidence(previous=(0.02, 0.02, 0.1)))}).values()
    assert name == Name((), tuple(evidence(previous=(0.02, 0.02, 0.1))), False, 1) and name_text(name) == "mixed"
    nothing = names({0: Subject([Evidence("previous", 0.5, np.nan, np.nan, np.nan, np.nan)])})[0]
    assert nothing == Name()
    apart = {0: Subject(SINK, levels=(2, 4)), 1: Subject(SINK, levels=(5, 9))}  # never clusters at the same level
    assert [name_text(name) for name in names(apart).values()] == ["rests on separators"] * 2


MEANS = st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9])
COMPARED = ["previous", "self", "first", "special:[CLS]", "entropy_relative", "largest", "distance_share"]


@st.composite
def clusterings(draw):
    """Clusters with few different values, so that many are alike, at levels that overlap or not; no two share a map."""
    subjects = {}
    for number in range(draw(st.integers(1, 8))):
        items = []
        for name in COMPARED:
            mean, rest, delta = draw(MEANS), draw(MEANS), draw(st.sampled_from([-0.9, 0.0, 0.9, np.nan]))
            items.append(Evidence(name, mean, rest, delta, np.nan, np.nan, draw(st.booleans())))
        heads = tuple(draw(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=2)))
        layers, examples = ((0,) if draw(st.booleans()) else () for _ in range(2))
        least = draw(st.integers(1, 4))
        home = Home(heads, layers, examples, (0, 0), draw(st.sampled_from([10.0, 50.0, np.nan])), (number, 0, 0))
        levels = (least, least + draw(st.integers(0, 3)))
        subjects[number] = Subject(items, home, levels, default=levels[0] <= 3 <= levels[1])
    return subjects


def _meet(levels, others):
    """Whether two nodes are clusters of the same cut somewhere."""
    return levels[0] <= others[1] and others[0] <= levels[1]


@settings(deadline=None)
@given(clusterings())
def test_clusters_at_the_same_level_always_have_different_names(subjects):
    named = names(subjects)
    assert list(named) == list(subjects)
    texts = {key: name_text(name) for key, name in named.items()}
    for key, subject in subjects.items():
        assert len(named[key].phrases) <= MOST and len({*named[key].phrases}) == len(named[key].phrases)
        for other in subjects:
            if other != key and _meet(subject.levels, subjects[other].levels):
                assert texts[key] != texts[other]
                assert frozenset(texts[key].split(", ")) != frozenset(texts[other].split(", "))  # nor in order only


def test_words_for_comparisons_never_equal_phrases():
    entries = [*STATISTICS, *map(special, SINKS)]
    all_phrases = {naming.phrase for entry in entries for naming in (entry.high, entry.low) if naming}
    for entry in entries:
        for higher in (True, False):
            assert entry.comparative(higher) not in all_phrases
            assert bool(entry.comparative(higher)) == (entry.high is not None)
    assert statistic("unheard_of").comparative(True) == ""


@pytest.mark.parametrize("name", ["entropy_relative", "largest", "distance_share", "grid_distance"])
def test_what_has_two_ends_has_words_for_both(name):
    declared = statistic(name)
    assert declared.comparative(True) != declared.comparative(False)


def test_a_cluster_of_the_default_cut_is_not_told_from_nodes_of_other_cuts():
    far = [Evidence("distance_share", 0.5, 0.3, 0.8, 0.7, 0.9)]
    nodes = {
        7: Subject([*far, Evidence("self", 0.4, 0.1, 0.1, 0.0, 0.2)], Home(first=(0, 0, 0)), (2, 4)),
        9: Subject([*far, Evidence("self", 0.1, 0.2, 0.0, -0.1, 0.1)], Home(first=(1, 0, 0)), (3, 9), default=True),
    }
    assert [name_text(name) for name in names(nodes).values()] == [
        "distant tokens, more on the token itself",
        "distant tokens",
    ]


@pytest.mark.parametrize("excess, phrases", [(0.01, ()), (0.08, ("punctuation",))])
def test_content_that_distance_gives_names_no_cluster(excess, phrases):
    evidence = [
        Evidence("punctuation", 0.2, 0.1, 0.8, 0.7, 0.9),
        Evidence("punctuation_beyond", excess, 0.0, 0.8, 0.7, 0.9),
    ]
    assert names({0: Subject(evidence)})[0].phrases == phrases


def test_columns_need_a_tenth_of_the_attention_whatever_the_rest_has():
    """They are what chance and distance do not give, so that they need not be twice those of the other maps."""
    assert [phrase.text for phrase in phrases(evidence(same_few=(0.13, 0.07, 0.4)))] == ["the same few tokens"]
    assert phrases(evidence(same_few=(0.09, 0.01, 0.9))) == [] and phrases(evidence(self=(0.13, 0.07, 0.4))) == []
    both = evidence(same_few=(0.14, 0.08, 0.45), largest=(0.18, 0.35, -0.51))
    assert [phrase.text for phrase in phrases(both)] == ["the same few tokens", "spreads widely"]


def test_what_nothing_sets_apart_is_called_after_what_has_most_attention():
    """Not "mixed": that is what a person sees; less than a quarter of the attention is not seen."""
    same = evidence(first=(0.4, 0.45, -0.1), previous=(0.1, 0.1, 0.0), entropy_relative=(0.6, 0.6, 0.1))
    assert phrases(same) == [] and called(same) == ["rests on the first token"]
    (name,) = names({0: Subject(same)}).values()
    assert name.named and [reason.statistic for reason in name.reasons] == ["first"]
    assert called(evidence(first=(0.2, 0.2, 0.0))) == ["mixed"]
    assert called([replace(item, fits=False) for item in same]) == ["mixed"]
    assert called(evidence(punctuation=(0.3, 0.3, 0.0), punctuation_beyond=(0.01, 0.01, 0.0))) == ["mixed"]
    window = evidence(first=(0.3, 0.3, 0.0), around=(0.5, 0.5, 0.0), just_before=(0.4, 0.4, 0.0))
    assert called(window) == ["tokens just before"]
    assert called(evidence(same_few=(0.12, 0.12, 0.0))) == ["the same few tokens"]


def test_a_comparison_does_not_contradict_the_phrase():
    near, nearer = evidence(reach=(0.5, 0.8, -0.6)), evidence(reach=(0.25, 0.8, -0.8))
    homes = [Home(heads=((3, 2),), first=(0, 3, 2)), Home(first=(0, 1, 1))]
    assert called(near, nearer, homes=homes) == ["nearby tokens, mostly L3·H2", "nearby tokens, nearer"]


def test_distance_is_that_of_attention_that_rests_on_nothing():
    """The first token is far away from most others: a head that rests on it does not look far."""
    sink = evidence(first=(0.8, 0.3, 0.9), distance_share=(0.45, 0.2, 0.9), signed_distance_share=(-0.4, -0.1, -0.9))
    assert [
        phrase.text for phrase in phrases([*sink, *evidence(reach=(0.9, 0.8, 0.3), direction=(0.1, 0.0, 0.1))])
    ] == ["rests on the first token"]
    far = phrases([*sink, *evidence(reach=(1.3, 0.8, 0.9), direction=(-0.5, 0.0, -0.8))])
    assert [phrase.text for phrase in far] == ["rests on the first token", "distant tokens", "looks back"]
    cross = phrases([*sink, *evidence(reach=(np.nan, np.nan, np.nan), direction=(np.nan, np.nan, np.nan))])
    assert {phrase.text for phrase in cross} == {"rests on the first token", "distant tokens", "looks back"}
    other = evidence(first=(0.8, 0.3, 0.9), distance_share=(0.3, 0.2, 0.9), signed_distance_share=(-0.2, -0.1, -0.9))
    same = evidence(reach=(0.9, 0.8, 0.3), direction=(0.1, 0.0, 0.1))
    assert "distant" not in " ".join(called([*sink, *same], [*other, *same]))


def test_a_kind_of_token_with_most_of_the_attention_comes_first():
    """… whether or not it sets the maps apart; one with less comes after what does."""
    far = Evidence("reach", 1.4, 1.0, 0.9, 0.8, 0.95)
    for mean, expected in ((0.6, "rests on the first token"), (0.3, "distant tokens")):
        known = [far, Evidence("first", mean, 0.7, -0.2, -0.3, -0.1)]
        assert name_text(names({0: Subject(known)})[0]) == expected
    known = [far, Evidence("first", 0.6, 0.5, 0.4, 0.3, 0.5)]
    assert name_text(names({0: Subject(known)})[0]) == "rests on the first token"


@pytest.mark.parametrize(("window", "expected"), [(0.38, "tokens just after"), (0.15, "three tokens ahead")])
def test_a_token_three_places_away_must_have_most_of_its_window(window, expected):
    known = [
        Evidence("offset+3", 0.11, 0.03, 0.9, 0.8, 0.95),
        Evidence("just_after", window, 0.17, 0.1, 0.0, 0.2),
        Evidence("around", 0.9, 0.9, 0.0, -0.1, 0.1, fits=False),
    ]
    assert name_text(names({0: Subject(known)})[0]) == expected


def test_texts_of_another_length_tell_clusters_apart_before_anything_else():
    sink = Evidence("special:[CLS]", 0.6, 0.1, 0.9, 0.88, 0.92)
    wide, narrow = (Evidence("self", mean, 0.1, 0.1, 0.0, 0.2) for mean in (0.3, 0.1))
    for length, expected in ((9.0, "shorter texts"), (60.0, "more on the token itself")):
        other = Subject([sink, narrow], Home(length=100, lead=(1, 1)))
        both = names({0: Subject([sink, wide], Home(length=length)), 1: other})
        assert name_text(both[0]) == f"rests on [CLS], {expected}"
