"""The frame of the probes: results, options, resuming, intervals; and the spectrum of maps against slow code."""

from dataclasses import asdict

import numpy as np
import pytest

import headatlas as ha
from headatlas.errors import DataError, OptionError
from headatlas.numeric.markov import effective_rank, spectral_gap, stationary
from headatlas.stages.probe.analyses import ANALYSES, FUNCTIONS
from headatlas.stages.probe.analysis import Measure
from headatlas.stages.probe.measures import head_means, part_table
from headatlas.stages.probe.said import answers
from headatlas.stages.probe.source import Source, drawn_examples
from headatlas.wording import amount, interval, percent
from support.commands import call, done

TEXTS = [example.text for example in ha.data.load("sample", limit=24)]


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    return ha.collect.maps("packaged", TEXTS, tmp_path_factory.mktemp("probe") / "x.atlas", resolution=8, qk_tokens=0)


def test_maps_of_a_source_are_those_of_the_model(atlas):
    source = Source(atlas, [0, 5, 7])
    for example in source.maps(source.numbers):
        exact = ha.models.attention(source.model, TEXTS[example.number])
        assert [str(token) for token in example.encoded.source.text] == exact.tokens
        for layer, maps in enumerate(example.maps):
            assert maps == pytest.approx(exact.maps[layer], abs=2e-6)


def test_a_larger_draw_includes_a_smaller_one(atlas):
    assert set(drawn_examples(atlas, 5, 3)) < set(drawn_examples(atlas, 9, 3))
    assert drawn_examples(atlas, 99, 0) == list(range(24))


def test_the_spectrum_of_a_real_head_by_slow_code(atlas):
    table = ha.probe.spectrum(atlas, examples=3).to_pandas()
    numbers = drawn_examples(atlas, 3, 0)
    ranks, gaps, rests = [], [], []
    for number in numbers:
        matrix = ha.models.attention("packaged", TEXTS[number]).map(2, 9).astype(float)
        values = np.sqrt(np.linalg.eigvalsh(matrix @ matrix.T).clip(0))
        shares = values / values.sum()
        ranks.append(np.exp(-sum(share * np.log(share) for share in shares if share > 0)))
        roots, left = np.linalg.eig(matrix.T)
        order = np.argsort(-np.abs(roots))
        gaps.append(1 - np.abs(roots[order[1]]))
        place = np.real(left[:, order[0]])
        rests.append((place / place.sum())[0])
    rows = table[(table.layer == 2) & (table["head"] == 9)].set_index("measure")
    assert rows["mean"]["rank"] == pytest.approx(np.mean(ranks), rel=1e-4)
    assert rows["mean"]["gap"] == pytest.approx(np.mean(gaps), abs=1e-6)
    assert rows["mean"]["rests_first"] == pytest.approx(np.mean(rests), abs=1e-6)
    assert rows["texts"]["rank"] == 3 and np.isnan(rows["low"]["rank"])  # three texts are too few for an interval


def test_constructed_maps_have_known_spectra():
    shift = np.roll(np.eye(6), 1, axis=1)
    assert effective_rank(shift) == pytest.approx(6)
    assert stationary(shift) == pytest.approx(np.full(6, 1 / 6))
    assert spectral_gap(shift, causal=False) == pytest.approx(0)  # it never forgets where it started
    sink = np.zeros((6, 6))
    sink[:, 2] = 1
    assert effective_rank(sink) == pytest.approx(1)
    assert spectral_gap(sink, causal=False) == pytest.approx(1)
    assert stationary(sink) == pytest.approx(np.eye(6)[2])
    causal = np.tril(np.random.default_rng(0).random((7, 7)))
    causal /= causal.sum(1, keepdims=True)
    assert spectral_gap(causal, causal=True) == pytest.approx(spectral_gap(causal, causal=False))
    assert stationary(causal) == pytest.approx(np.eye(7)[0], abs=1e-6)  # it collapses onto the first token


def test_intervals_count_each_source_once(atlas):
    class OneSource(Source):
        groups = np.arange(24) // 2

    source = OneSource(atlas, list(range(24)))
    rows = [
        {"example": example, "layer": layer, "head": head, "x": float(example % 2)}
        for example in range(24)
        for layer, head in source.heads
    ]
    means = head_means(source, part_table(rows, [Measure("x", "x", "")]), [Measure("x", "x", "")]).to_pandas()
    assert (means["mean"] == 0.5).all() and (means["texts"] == 12).all() and means["low"].isna().all()


def test_results_have_names_of_their_own(atlas):
    ha.probe.spectrum(atlas, examples=2)
    assert "spectrum" in atlas.results("probe") and atlas.has_table("probe_spectrum")
    assert atlas.table("probe_spectrum").num_rows == 72 * 6
    assert "2 texts" in str(atlas)


@pytest.mark.parametrize("name", ANALYSES)
def test_defaults_are_those_of_the_analysis(name):
    """Also where an analysis declares an option that all have again, with another default."""
    declared = {option.name: option.default for option in ANALYSES[name].options()}
    assert declared == asdict(ANALYSES[name]())


def test_the_command_prints_findings(atlas, monkeypatch):
    printed = done("probe", "spectrum", atlas.files.url, "--examples", 2)
    assert "  Effective rank: highest in L" in printed and "headatlas table" in printed
    for other in ANALYSES.keys() - {"surface", "syntax"}:
        monkeypatch.setattr(ANALYSES[other], "missing", lambda self, atlas: "left out here")
    code, printed, _ = call("probe", "all", atlas.files.url)
    assert code == 0 and "syntax: not run: syntax compares heads with a treebank" in printed
    atlas.refresh()  # the command has a handle of its own
    rows = atlas.table("probe_surface", filters=[("measure", "==", "previous")]).to_pylist()
    best = max(rows, key=lambda row: row["mean"])
    assert (best["layer"], best["head"]) == (0, 2) and best["low"] is not None
    share = interval(best["mean"], best["low"], best["high"], percent)
    assert f"attention on the previous token: L0·H2, {share}" in printed
    assert "writes: not run: left out here" in printed


def test_an_analysis_without_sentences_prints_its_table(atlas, monkeypatch):
    monkeypatch.setattr(ANALYSES["spectrum"], "findings", lambda self, atlas: [])
    printed = done("probe", "spectrum", atlas.files.url, "--examples", 2)
    assert "rank" in printed and "measure" in printed


def test_sentences_of_a_head_have_its_numbers(atlas):
    table = ha.probe.spectrum(atlas, examples=2).to_pandas()
    row = table[table.measure == "rank"].sort_values("mean").iloc[-1]
    (answer,) = answers(atlas, [ANALYSES["spectrum"]], int(row["layer"]), int(row["head"]))
    assert answer.sentences[0] == f"effective rank: {amount(row['mean'])}, highest of 72 heads"
    assert answer.examples == 2 and len(answer.sentences) == 6
    (syntax,) = answers(atlas, [ANALYSES["syntax"]], 0, 2)
    assert syntax.examples is None and "treebank" in syntax.missing and not syntax.sentences


@pytest.mark.parametrize("name", ANALYSES)
def test_options_are_checked(name, atlas):
    with pytest.raises(OptionError, match="examples 0"):
        FUNCTIONS[name](atlas, examples=0)


def test_an_analysis_has_the_defaults_that_it_declares():
    defaults = {name: {option.name: option.default for option in ANALYSES[name].options()} for name in ANALYSES}
    assert defaults["spectrum"]["examples"] == 64 and defaults["syntax"]["examples"] == 2000
    assert all(list(options)[-2:] == ["examples", "seed"] for options in defaults.values())


def test_an_analysis_says_what_is_missing(atlas, monkeypatch):
    monkeypatch.setattr(ANALYSES["spectrum"], "missing", lambda self, atlas: "no gold data. Give a CoNLL-U file")
    with pytest.raises(DataError, match="no gold data"):
        ha.probe.spectrum(atlas)
