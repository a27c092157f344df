"""Sentences and numbers: the cases shared with the page, and those of Python only."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import ROOT
from headatlas import wording
from headatlas.wording import thresholds

CASES = json.loads((Path(__file__).parents[1] / "support" / "wording_cases.json").read_text(encoding="utf-8"))
FLAT = [(name, case["arguments"], case["text"]) for name, cases in CASES.items() for case in cases]
FINITE = st.floats(-1e300, 1e300)


def read(value):
    """An argument; what JSON has no number for is written as {"float": "nan"}."""
    return float(value["float"]) if isinstance(value, dict) and "float" in value else value


@pytest.mark.parametrize(("name", "arguments", "text"), FLAT, ids=[f"{case[0]}-{n}" for n, case in enumerate(FLAT)])
def test_python_writes_what_the_page_writes(name, arguments, text):
    assert getattr(wording, name)(*map(read, arguments)) == text


@given(FINITE)
def test_only_zero_and_one_are_written_as_zero_and_one(value):
    for text, zero, one in (
        (wording.amount(value), "0", "1"),
        (wording.ratio(value), "0.00", "1.00"),
        (wording.percent(value), "0%", "100%"),
    ):
        assert "-" not in text and text[-1] not in ".,"
        assert (text == zero) == (value == 0)
        if text == one:
            assert value == 1 or value > 1  # 1.001 is 1.00 in two decimals; 0.999 never is


@given(st.floats(min_value=0.001, max_value=1e14))
def test_amounts_are_within_half_of_their_last_digit(value):
    text = wording.amount(value)
    if text.startswith(">"):
        assert 0.99 < value < 1
        return
    digits = len(text.partition(".")[2])
    assert math.isclose(float(text.replace(",", "")), value, abs_tol=0.5000001 * 10**-digits)


def test_numpy_numbers_are_accepted():
    assert wording.amount(np.float32(0.5)) == "0.50" and wording.percent(np.float64(0.25)) == "25%"
    assert wording.many(np.int64(1204), "map") == "1,204 maps" and wording.ratio(np.float32("nan")) == "–"
    assert wording.head_name(np.int64(3), np.int32(1)) == "L3·H1"


def test_heads_fill_the_given_lines():
    heads = [wording.HeadShare(layer=0, head=head, share=0.99) for head in range(5)]
    assert wording.head_lines(heads, 1, 32) == ["L0·H0 (99%), and 4 more"]
    assert wording.head_lines(heads, 2, 32) == ["L0·H0 (99%), L0·H1 (99%),", "L0·H2 (99%), and 2 more"]
    assert wording.head_lines(heads[:1], 3, 32) == ["L0·H0 (99%)"] and wording.head_lines([], 3, 32) == []
    for lines in range(1, 4):
        for width in range(16, 60, 7):
            result = wording.head_lines(heads, lines, width)
            assert len(result) <= lines and all(len(line) <= width for line in result)


def test_all_reasons_of_a_name():
    reason = wording.Reason(statistic="previous", mean=0.8, rest=0.03, delta=1.0, low=0.99, high=1.0)
    other = reason | {"statistic": "largest"}
    text = wording.reasons([("attention to the previous token", reason), ("largest weight", other)])
    assert text.startswith("delta 1.00 [0.99, 1.00] in attention to the previous token; delta 1.00 [0.99, 1.00] in l")
    assert wording.reasons([]) == "nothing to compare with"


@pytest.mark.parametrize(
    ("stage", "facts", "line"),
    [
        ("features", {"width": 1024, "encoder": {"variance_kept": 0.9996}},
         "1,024 numbers per map, >99% of the variance"),
        ("features", {"width": 16, "encoder": {}}, "16 numbers per map"),
        ("cluster", {"clusters": [{}], "stability": None, "noise": 0.0}, "1 cluster, stability –"),
        ("cluster", {"clusters": [{}] * 3, "stability": 0.912, "noise": 0.04}, "3 clusters, stability 0.91, 4% noise"),
        ("project", {"method": "umap", "trustworthiness": 0.97, "continuity": 0.9},
         "UMAP, trustworthiness 0.97, continuity 0.90"),
        ("project", {"method": "pca", "trustworthiness": 1, "continuity": 1, "variance": [0.5, 0.25]},
         "PCA, trustworthiness 1.00, continuity 1.00, 75% of the variance"),
        ("correlate", {"names": []}, "no clusters: all maps are noise"),
        ("correlate", {"names": [{"cluster": n, "name": f"next token, mostly L0·H{n}"} for n in range(5)]},
         "5 clusters: “next token, mostly L0·H0”, “next token, mostly L0·H1”, “next token, mostly L0·H2”, and 2 more"),
        ("tsne", {"kind": "heads", "example": 3, "layouts": 72, "best": [0, 2], "kl": 0.314},
         "72 heads on example 3, least KL 0.31 (L0·H2)"),
        ("tsne", {"kind": "heads", "example": 0, "layouts": 1, "best": None, "kl": None}, "1 head on example 0"),
        ("tsne", {"kind": "hidden", "example": 3, "layouts": 6, "best": [5, -1], "kl": 0.2},
         "hidden states of 6 layers on example 3, least KL 0.20 (L5)"),
        ("tsne", {"kind": "compare", "examples": 1, "runs": 16, "layouts": 1248}, "1 text, 16 runs, 1,248 layouts"),
        ("tsne", {"kind": "robustness", "examples": 2, "repeats": 1000, "layouts": 384_000},
         "2 texts, disturbed 1,000 times, 384,000 layouts"),
        ("null", {"kinds": ["shuffled"], "examples": 1}, "the model with shuffled words, on 1 example"),
        ("collect", {}, ""),
    ],
)  # fmt: skip
def test_results_have_a_line(stage, facts, line):
    assert wording.result_line(stage, facts) == line


def test_null_models_beside_the_real_one():
    shares = {"untrained": 0.0004, "shuffled": None}
    text = "broad: 50% of maps; <1% with random weights, – with shuffled words"
    assert wording.null_pattern("broad", 0.5, shares) == text
    text = "the main pattern of 1 head; the nearest one of 0 with random weights, of 2 with its weights shuffled"
    assert wording.null_heads(1, {"untrained": 0, "permuted": 2}) == text
    unknown = wording.null_similarity("adjacent layers", (None, 0.4), {"untrained": (None, 1.0)})
    assert (
        unknown == "similarity of heads of adjacent layers (of any two layers): – (0.40); – (1.00) with random weights"
    )
    for reason in ("image", "quantized", "parameters"):
        assert wording.null_skipped("untrained", reason).startswith("the model with random weights is left out: it")


HEADS = [
    wording.Changed(layer=18, head=head, explained=0.9 - head / 10, low=None, high=None, q=0.001) for head in range(8)
]
WHY = wording.Contrast(heads=HEADS[:2], statistic="attention to the same token elsewhere", high=0.831, high_value="rep",
                       low=0.0204, low_value="plain")  # fmt: skip


@pytest.mark.parametrize(
    ("heads", "why", "text"),
    [
        (HEADS[:1], None, "1 head changes with kind: L18·H0 (90%)"),
        (HEADS[:1], WHY | {"heads": HEADS[:1]}, "1 head changes with kind: L18·H0 (90%); its attention to the same "
         "token elsewhere is 0.83 if kind = rep, 0.020 if kind = plain"),
        (HEADS[:2], WHY, "2 heads change with kind: L18·H0 (90%) and L18·H1 (80%); their attention to the same token "
         "elsewhere is 0.83 if kind = rep, 0.020 if kind = plain"),
        (HEADS, WHY, "8 heads change with kind: L18·H0 (90%), L18·H1 (80%), L18·H2 (70%), "
         "and 5 more; in L18·H0 and L18·H1 attention to the same token elsewhere is 0.83 if kind = rep, 0.020 if "
         "kind = plain"),
    ],
)  # fmt: skip
def test_heads_that_change(heads, why, text):
    assert wording.changes_line("kind", "kind", heads, why) == text


def test_what_is_explained():
    limits = (thresholds.SIGNIFICANT, thresholds.MATTERS)
    whole = "the variation of all maps"
    for share, p, text in [
        ((0.5, 0.4, 0.6), 0.001, f"explains 50% [40%, 60%] of {whole}, p = 0.001"),
        ((0.01, None, None), 0.0001, f"explains 1% of {whole}, p < 0.001"),
        ((0.0099, 0.005, 0.02), 0.001, f"explains less than 1% of {whole}: too little to matter"),
        ((-0.02, -0.1, 0.1), 0.6, f"explains no more of {whole} than chance (p = 0.60)"),
        ((0.5, 0.4, 0.6), 0.05, f"explains no more of {whole} than chance (p = 0.050)"),
        ((0.5, 0.4, 0.6), None, f"explains 50% [40%, 60%] of {whole}"),
    ]:
        assert wording.explained_line(*share, p, False, *limits) == text
    assert "within heads" in wording.explained_line(0.5, None, None, 0.001, True, *limits)
    assert wording.same_columns_line(["a"], "b") == "a goes with b: what changes with them cannot be told apart"


def test_the_page_says_the_same_of_what_is_built_in():
    assert f'"{wording.BUILT_IN}"' in (ROOT / "frontend" / "src" / "lib" / "wording" / "changes.ts").read_text()
