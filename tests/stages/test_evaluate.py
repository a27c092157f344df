"""Evaluating answers to questions: against plain transformers and slow searches, alone and while collecting."""

import csv
import json
import math
import pickle
import random
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

import headatlas as ha
from conftest import word_tokenizer
from headatlas.atlas import schema
from headatlas.atlas.evaluated_columns import EVALUATED_COLUMNS
from headatlas.errors import DataError, ModelError, OptionError
from headatlas.evaluate.observed import AnswerObserver
from headatlas.models import capture
from support import question_models, squad_reference
from support.atlases import stopping
from support.commands import bits, call, done
from support.docs import assert_table
from support.question_models import sample_passages, save_model, slow_answers, small_bert, squad

LONG = "The keeper of the light wrote down every ship that passed before the storm. " * 20 + "Its name was Gannet."


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("evaluate")


@pytest.fixture(scope="module")
def model(home):
    return small_bert(home / "qa", word_tokenizer())


@pytest.fixture(scope="module")
def spec(home):
    """Questions on passages of one window or of several."""
    asked = [("long-0", "What was its name?", [("Gannet", LONG.index("Gannet"))]), ("long-1", "Who sang?", [])]
    return squad(home / "dev.json", [*sample_passages(12), (LONG, asked)])


@pytest.fixture(scope="module")
def slow(model, spec):
    return slow_answers(model, spec)


@pytest.fixture(scope="module")
def collected(home, model, spec):
    """An evaluation whose attention was collected, too."""
    return ha.evaluate.questions(model, spec, collect=home / "x.atlas", resolution=8, qk_tokens=300)


def check(predictions, slow, tolerance):
    """Every row is what the slow search gives."""
    for row in predictions.to_pylist():
        none, spans = slow[row["id"]]
        best = max(spans.values())
        assert row["difference"] == pytest.approx(none - best, abs=tolerance)
        assert row["no_answer"] == pytest.approx(1 / (1 + math.exp(best - none)), abs=tolerance)
        assert spans[row["start"], row["stop"]] == pytest.approx(best, abs=tolerance)
        assert row["prediction"] == ("" if none - best > 0 else row["best_answer"])
        ranked = [entry for entry in row["nbest"] if entry["text"]]
        for entry, score in zip(ranked, sorted(spans.values(), reverse=True)[:20], strict=True):
            assert entry["score"] == pytest.approx(score, abs=tolerance)
        total = sum(math.exp(entry["score"] - best) for entry in row["nbest"])
        assert row["nbest"][0]["probability"] == pytest.approx(math.exp(row["nbest"][0]["score"] - best) / total)
        assert row["confidence"] == next(e["probability"] for e in row["nbest"] if e["text"] == row["prediction"])


def test_predictions_are_those_of_a_slow_search_over_plain_transformers(model, spec, slow):
    found = ha.evaluate.questions(model, spec)
    check(found.predictions, slow, 1e-4)
    table = found.predictions.to_pylist()
    questions = {example.id: example for example in ha.data.load(spec)}
    assert [row["id"] for row in table] == list(questions)
    for row in table:
        assert questions[row["id"]].pair[row["start"] : row["stop"]] == row["best_answer"] != ""
    golds = {name: question.columns["answers"] for name, question in questions.items()}
    answers, best, none = ({row["id"]: row[n] for row in table} for n in ("prediction", "best_answer", "no_answer"))
    expected = squad_reference.scores(golds, answers)
    expected |= {n: v for n, v in squad_reference.scores(golds, best, none).items() if n.startswith("best")}
    assert list(found.scores) == list(expected)
    assert found.scores == pytest.approx({name: float(value) for name, value in expected.items()})
    rows = {row["measure"]: row for row in found.score_table.to_pylist()}
    assert rows["f1"]["low"] <= found.scores["f1"] <= rows["f1"]["high"] and rows["total"]["low"] is None


def test_intervals_are_those_of_a_bootstrap_over_passages(model, spec):
    found = ha.evaluate.questions(model, spec, seed=4)
    table, passages = found.predictions.to_pylist(), {}
    for row in table:
        passages.setdefault(row["passage"], []).append(row["f1"])
    groups, drawn = list(passages.values()), []
    for number in range(1000):
        chosen = np.random.default_rng([4, number]).integers(0, len(groups), len(groups))
        values = [value for place in chosen for value in groups[place]]
        drawn.append(100 * sum(values) / len(values))
    row = next(row for row in found.score_table.to_pylist() if row["measure"] == "f1")
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])))


# an atlas from the same forward passes


def test_the_atlas_is_the_one_that_collect_makes_and_the_answers_are_the_same(collected, model, spec, slow, home):
    check(collected.predictions, slow, 1e-4)
    other = ha.collect.maps(model, spec, home / "plain.atlas", resolution=8, qk_tokens=300)
    assert collected.atlas.done == ["collect", "evaluate"] and other.done == ["collect"]
    ours, theirs = bits(home / "x.atlas"), bits(home / "plain.atlas")
    added = {name for name in ours if "evaluate" in name.split("/")}
    changed = {name for name in theirs if ours[name] != theirs[name]}
    assert changed == {"atlas.json", "manifests/atlas.json"} and {*ours} - {*theirs} == added
    # answered afterwards, the same bits
    shutil.copytree(home / "plain.atlas", home / "later.atlas")
    ha.evaluate.questions(model, spec, collect=home / "later.atlas", resolution=8, qk_tokens=300)
    assert bits(home / "later.atlas") == ours


def test_the_gold_answer_lies_at_its_tokens(collected):
    atlas = collected.atlas
    examples, tokens = atlas.table("examples").to_pylist(), atlas.table("tokens").to_pylist()
    spans, seen = atlas.table("answer_spans").to_pylist(), set()
    assert [span["example"] for span in spans] == list(range(len(examples)))
    for span, row in zip(spans, examples, strict=True):
        assert collected.predictions["id"][span["question"]].as_py() == row["id"]
        if span["answer_first"] is None:
            continue
        seen.add(row["id"])
        own = tokens[row["offset"] :][: row["n_tokens"]]
        text = row["pair"][own[span["answer_first"]]["start"] : own[span["answer_last"]]["stop"]]
        assert row["answer"] in text and len(text) < len(row["answer"]) + 12
    assert seen == {row["id"] for row in examples if row["answerable"]}
    windows = [row for row in examples if row["id"] == "long-0"]
    assert len(windows) > 2 and sum(spans[row["example"]]["answer_first"] is not None for row in windows) == 1


@pytest.mark.parametrize("at", [2, 3, 4, 9])
def test_a_run_that_was_stopped_continues_with_the_same_bits(at, collected, model, spec, home, monkeypatch):
    path = home / f"stopped-{at}.atlas"
    options = {"collect": path, "resolution": 8, "qk_tokens": 300}
    with stopping(monkeypatch, KeyboardInterrupt, at), pytest.raises(KeyboardInterrupt):
        ha.evaluate.questions(model, spec, **options)
    ha.evaluate.questions(model, spec, **options)
    assert bits(path) == bits(home / "x.atlas")


def test_another_threshold_decides_anew_without_the_network(collected, model, spec, home, monkeypatch):
    path = home / "threshold.atlas"
    shutil.copytree(home / "x.atlas", path)
    options = {"collect": path, "resolution": 8, "qk_tokens": 300}
    monkeypatch.setattr(capture, "run", None)
    always = ha.evaluate.questions(model, spec, threshold="never", **options)
    assert all(row["prediction"] == row["best_answer"] for row in always.predictions.to_pylist())
    assert not any("" in (entry["text"] for entry in row) for row in always.predictions["nbest"].to_pylist())
    silent = ha.evaluate.questions(model, spec, threshold=-1e9, **options)
    assert {*silent.predictions["prediction"].to_pylist()} == {""}
    assert silent.scores["exact"] == 100 * silent.scores["NoAns_total"] / silent.scores["total"]
    best = collected.facts["best_f1_difference"]
    if best is not None:
        tuned = ha.evaluate.questions(model, spec, threshold=best, **options)
        assert tuned.scores["f1"] == pytest.approx(collected.scores["best_f1"])
    again = ha.evaluate.questions(model, spec, **options)
    assert again.predictions.equals(collected.predictions) and bits(path) == bits(home / "x.atlas")


def test_what_is_sent_to_other_processes_can_be_sent(collected):
    from support.atlases import place

    observer = AnswerObserver(place(collected.atlas, "evaluate", "squad"), "qa")
    assert pickle.loads(pickle.dumps(observer)) == observer


# columns


def test_every_column_is_declared_completely_and_in_the_docs_table():
    rows = [f"| `{column.name}` | {column.definition} |" for column in EVALUATED_COLUMNS]
    page = Path(__file__).parents[2] / "docs" / "evaluate.md"
    assert_table(page, "evaluated-columns", ["| column | value |", "| --- | --- |", *rows])
    assert all(column.label and column.table in schema.TABLES for column in EVALUATED_COLUMNS)


@pytest.fixture(scope="module")
def known(home, model, spec):
    """An atlas of questions whose gold answers are made from the predictions, so that half of them are right."""
    rng, passages = random.Random(1), {}
    answered = ha.evaluate.questions(model, spec, threshold="never").predictions.to_pylist()
    for row, example in zip(answered, ha.data.load(spec), strict=True):
        right = rng.random() < 0.5
        answer = [(row["best_answer"], row["start"])] if right else [("A", 0)] if rng.random() < 0.5 else []
        passages.setdefault(example.pair, []).append((row["id"], example.text, answer))
    known = squad(home / "known.json", list(passages.items()))
    return ha.evaluate.questions(model, known, threshold="never", collect=home / "known.atlas", resolution=8)


def test_columns_of_an_evaluation_are_compared_like_those_of_the_dataset(known):
    from headatlas.stages.correlate.dataset_columns import read_columns

    atlas = known.atlas
    columns = {column.name: column for column in read_columns(atlas, ["right", "confidence", "answerable"])}
    predictions = {row["id"]: row for row in known.predictions.to_pylist()}
    rows = [predictions[name] for name in atlas.table("examples")["id"].to_pylist()]
    assert columns["right"].codes.tolist() == [int(row["right"]) for row in rows]
    assert columns["right"].values == ("false", "true") and columns["right"].label == "right answers"
    assert columns["answerable"].label == ""  # that of the dataset
    order = np.argsort([row["confidence"] for row in rows], kind="stable")
    assert (np.diff(columns["confidence"].codes[order]) >= 0).all()
    assert 0.2 < known.scores["exact"] / 100 < 0.95 and known.facts["answerable"] < known.facts["questions"]


def test_correlate_finds_what_goes_with_right_answers_and_is_out_of_date_with_another_evaluation(known, model, home):
    from support.planted import clustered

    atlas = ha.open(shutil.copytree(home / "known.atlas", home / "planted.atlas"))
    right = {row["id"]: row["right"] for row in known.predictions.to_pylist()}
    rows = np.array([right[name] for name in atlas.table("examples")["id"].to_pylist()])
    labels = np.zeros(atlas.read("stats").shape[:3], np.int32)
    labels[rows, 1, 2] = 1  # L1·H2 changes its pattern where the answer is right
    clustered(atlas, labels)
    ha.correlate.clusters(atlas, permutations=99, group="id")
    tests = {row["factor"]: row for row in atlas.table("associations").to_pylist()}
    assert tests["right"]["p"] <= 0.01 and tests["right"]["cramers_v"] > tests["answerable"]["cramers_v"]
    assert "correlate" in atlas.done
    spec = f"squad:{home / 'known.json'}"
    ha.evaluate.questions(model, spec, threshold=-1e9, collect=atlas.files.url, resolution=8)
    assert "correlate" not in ha.open(atlas.files.url).done


def test_the_page_shows_the_columns_of_an_evaluation(known):
    from headatlas.web.views import columns, examples
    from headatlas.web.views.snapshot import Snapshot

    snapshot = Snapshot(known.atlas)
    listed = examples.listed(snapshot)
    predictions = {row["id"]: row for row in known.predictions.to_pylist()}
    assert listed.columns["right"] == [str(predictions[name]["right"]).lower() for name in listed.id]
    one = examples.example(snapshot, 3)
    assert one.columns["prediction"] == predictions[one.id]["prediction"] and one.columns["confidence"] > 0
    names = {column.card.name for column in columns.catalog(snapshot).values()}
    assert {"example.right", "example.confidence"} <= names


# in mid-training


def state(network):
    """What evaluating a network must not change."""
    training = [module.training for module in network.modules()]
    return training, network.config._attn_implementation, torch.get_rng_state().tolist()


def test_a_network_in_memory_is_evaluated_and_left_as_it_was(model, spec):
    network = AutoModelForQuestionAnswering.from_pretrained(model)
    tokenizer = AutoTokenizer.from_pretrained(model)
    network.train()
    network.bert.encoder.layer[0].eval()
    before = state(network)
    evaluate = ha.evaluate.training_evaluator(tokenizer, spec)
    scores = evaluate(network, 100)
    assert scores == evaluate(network, 200) == ha.evaluate.evaluator(network, tokenizer, spec)
    assert scores == pytest.approx(ha.evaluate.questions(model, spec).scores)
    assert before == state(network)
    network(**tokenizer("Who?", "A man.", return_tensors="pt")).start_logits.sum().backward()  # can still be trained
    few = ha.evaluate.evaluator(model, None, spec, limit=5, seed=1)
    assert few["total"] == 5 and few == ha.evaluate.evaluator(network, tokenizer, spec, 5, 1)
    with pytest.raises(OptionError, match="limit 0: at least 1 question"):
        ha.evaluate.evaluator(network, tokenizer, spec, 0)


# the command


def test_the_command_prints_scores_and_writes_files(model, spec, folder):
    out = done("evaluate", model, spec, "-o", "answers.json", "--table", "rows.csv", "--limit", "9")
    scores = json.loads(out[: out.index("}") + 1])
    found = ha.evaluate.questions(model, ha.data.load(spec, limit=9))
    assert scores == found.scores
    assert out.splitlines()[-len(found.lines) :] == found.lines
    silent = 100 * scores["NoAns_total"] / scores["total"]
    assert f"always answering “no answer” scores {silent:.1f} in both." in out
    answers = json.loads((folder / "answers.json").read_text())
    assert answers == dict(zip(*(found.predictions[name].to_pylist() for name in ("id", "prediction")), strict=True))
    with Path("rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == list(answers) and json.loads(rows[0]["nbest"])[0]["probability"] > 0
    done("evaluate", model, spec, "--table", "rows.parquet", "--limit", "9", "--threshold", "never")
    assert pq.read_table("rows.parquet")["answered"].to_pylist() == [True] * 9


def test_info_and_table_show_an_evaluation(collected):
    path = collected.atlas.files.url
    assert f"exact {collected.scores['exact']:.1f}" in done("info", path)
    assert "confidence" in done("table", path, "predictions", "--csv")


# files with faults


def test_every_question_of_version_1_is_answered(model, folder):
    one = squad("one.json", sample_passages(3), "v1.1")
    passages = [(text, [asked for asked in questions if asked[2]]) for text, questions in sample_passages(3)]
    spec = squad("v1.json", passages, "1.1")
    found = ha.evaluate.questions(model, spec)
    assert not any(name.startswith("NoAns") for name in found.scores) and all(found.predictions["answered"].to_pylist())
    assert "Every question was answered" in found.lines[1]
    forced = ha.evaluate.questions(model, spec, threshold=-1e9)
    assert forced.scores["exact"] == 0 and set(forced.predictions["prediction"].to_pylist()) == {""}
    assert "NoAns_exact" in ha.evaluate.questions(model, one).scores


def test_faults_of_questions_are_counted_named_and_scored(model, folder, capsys):
    passage = "A ship of oak lay at the quay."
    asked = [
        ("twice", "What lay there?", [("oak", 10)]),
        ("wrong", "Of what was it?", [("oak", 3)]),
        ("without", "Who sang?", None),
        ("empty", " ", [("oak", 10)]),
        ("twice", "Where did it lie?", [("the quay", 21)]),
    ]
    found = ha.evaluate.questions(model, squad("faults.json", [(passage, asked)]), collect="x.atlas", resolution=8)
    err = capsys.readouterr().err
    assert "1 question that cannot be read, left out of every score: empty" in err
    assert "1 question with the id of a later one, which counts instead, as in the official script: twice" in err
    assert "1 question whose answer is not at its offset: scored by its text, without a place among" in err
    assert found.scores["total"] == 3 and found.scores["NoAns_total"] == 1
    assert found.predictions["id"].to_pylist() == ["twice", "wrong", "without", "twice"]
    assert found.facts["passages"] == 1 and found.score_table["low"].to_pylist()[0] is None
    spans = found.atlas.table("answer_spans").to_pylist()
    assert [span["answer_first"] is None for span in spans] == [False, True, True, False]
    last = {row["id"]: row for row in found.predictions.to_pylist()}
    assert json.loads(found.answers_json) == {name: row["prediction"] for name, row in last.items()}
    assert found.scores["f1"] == pytest.approx(100 * np.mean([row["f1"] for row in last.values()]))
    assert ha.evaluate.gold_answers("squad:faults.json")["twice"] == ("the quay",)


def test_a_question_that_leaves_no_room_for_its_passage_has_no_answer(model, folder):
    asked = [("q", "Who rang the bell of the church? " * 40, [("oak", 10)])]
    spec = squad("long.json", [("A ship of oak.", asked), ("Rain.", [("r", "Why?", [])])])
    found = ha.evaluate.questions(model, spec)
    row = found.predictions.to_pylist()[0]
    assert row["prediction"] == "" or row["prediction"] in "A ship of oak."
    assert found.scores["total"] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threshold", "often"], "--threshold often: give a number, auto or never"),
        (["--threshold", "nan"], "threshold nan: give a finite number"),
        (["-o", "answers.txt"], "-o answers.txt: choose a name that ends in .json"),
        (["--table", "rows.xlsx"], "--table rows.xlsx: choose a name that ends in .csv, .parquet"),
        (["--workers", "2"], "--workers and --scheduler are for collecting"),
        (["--collect", "x.atlas", "--resolution", "1"], "between 2 and 256"),
    ],
)
def test_wrong_options_are_reported_in_one_line(options, message, model, spec, folder):
    code, out, err = call("evaluate", model, spec, *options)
    assert (code, out) == (1, "") and message in err and err.count("\n") == 1


def test_models_that_cannot_answer_are_refused(tmp_path, spec):
    with pytest.raises(ModelError, match=r"packaged has no trained head .*headatlas finetune packaged squad:"):
        ha.evaluate.questions("packaged", spec)
    network = question_models.FAMILIES["BERT"].network()
    network.save_pretrained(tmp_path / "base")
    word_tokenizer().save_pretrained(tmp_path / "base")
    with pytest.raises(ModelError, match=r"it is a BertModel\), so its answers would be random\. Train one"):
        ha.evaluate.questions(tmp_path / "base", spec)
    config = json.loads((tmp_path / "base" / "config.json").read_text())
    (tmp_path / "base" / "config.json").write_text(json.dumps(config | {"architectures": None}))
    with pytest.raises(ModelError, match=r"its files lack qa_outputs\.bias"):
        ha.evaluate.questions(tmp_path / "base", spec)
    save_model(tmp_path / "t5", word_tokenizer(), "T5")
    with pytest.raises(ModelError, match="t5 has an encoder and a decoder"):
        ha.evaluate.questions(tmp_path / "t5", spec)
    question_models.FAMILIES["ViT"].network().save_pretrained(tmp_path / "vit")
    with pytest.raises(ModelError, match="it is a ViTModel"):
        ha.evaluate.questions(tmp_path / "vit", spec)


def test_other_data_is_refused(model):
    with pytest.raises(DataError, match=r"sample holds no questions with passages and answers .*: use squad:FILE"):
        ha.evaluate.questions(model, "sample")
    with pytest.raises(OptionError, match="seed -1"):
        ha.evaluate.questions(model, "sample:questions", seed=-1)
