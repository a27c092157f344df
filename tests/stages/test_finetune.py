"""Fine-tuning, piece by piece: questions with known spans, made unanswerable ones, batches, pace, masks, classes."""

import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

import headatlas as ha
from headatlas.data import Example, Window
from headatlas.errors import DataError, StoreError
from headatlas.stages.finetune import labeled_texts, language_features
from headatlas.stages.finetune.altered_questions import Source, altered
from headatlas.stages.finetune.batches import Batches, Feature, collate
from headatlas.stages.finetune.checkpoints import Checkpoints
from headatlas.stages.finetune.losses import loss_and_outputs
from headatlas.stages.finetune.metrics import Metrics
from headatlas.stages.finetune.negatives import needed, with_negatives
from headatlas.stages.finetune.pace import Pace
from headatlas.stages.finetune.question_features import Question, question_features
from headatlas.stages.finetune.question_items import MISPLACED, REPEATED, UNKNOWN, read_questions
from headatlas.stages.finetune.tasks.questions import Questions
from support.training import FIRST, SECOND, THIRD, qa, reader, squad, story


def asked(text, context, answer=None, title="", key="q"):
    start = context.index(answer) if answer else 0
    return Question(key, text, context, (start, start + len(answer)) if answer else None, title)


def slow_span(ids, tokenizer, question, answer):
    """The one run of tokens of the passage that reads as the answer, found by decoding every run."""
    after = 2 + len(tokenizer(question, add_special_tokens=False).input_ids)  # [CLS] question [SEP]
    wanted = tokenizer.decode(tokenizer(answer, add_special_tokens=False).input_ids)
    runs = [(i, j) for i in range(after, len(ids) - 1) for j in range(i, len(ids) - 1)]
    return [run for run in runs if tokenizer.decode(ids[run[0] : run[1] + 1]) == wanted] or [(0, 0)]


@pytest.mark.parametrize("answer", ["Morwenna", "noon", "the children", "buckets", "The tide"])
@pytest.mark.parametrize("size", [64, 24])
def test_each_window_has_the_tokens_of_the_answer_or_the_first_token(answer, size):
    model, question = reader(), asked("Who rang the bell?", FIRST, answer)
    features = question_features(model, question, Window(size, 6))
    assert len(features) == (1 if size == 64 else len(features)) and (size == 64 or len(features) > 2)
    spans = [(feature.targets["start_positions"], feature.targets["end_positions"]) for feature in features]
    assert spans == [slow_span(f.ids.tolist(), model.tokenizer, question.text, answer)[0] for f in features]
    assert any(span != (0, 0) for span in spans)
    assert (size == 64) or (0, 0) in spans
    assert all(len(feature) <= size and feature.ids[0] == model.tokenizer.cls_token_id for feature in features)


def test_an_unanswerable_question_points_at_the_first_token():
    (feature,) = question_features(reader(), asked("Who saw it?", SECOND), Window(64, 6))
    assert feature.targets == {"start_positions": 0, "end_positions": 0}
    assert set(feature.types.tolist()) == {0, 1}


def test_the_whole_passage_is_in_some_window():
    model, question = reader(), asked("Who?", FIRST, "noon")
    windows = question_features(model, question, Window(20, 4))
    read = {token for feature in windows for token in feature.ids.tolist()}
    assert set(model.tokenizer(FIRST).input_ids) <= read


def test_a_question_that_leaves_no_room_has_no_window():
    assert question_features(reader(), asked("who " * 40, FIRST, "noon"), Window(32, 8)) == []


def test_questions_that_cannot_be_trained_on_are_counted_and_named(tmp_path):
    start = FIRST.index("noon")
    qas = [
        qa("good", "When?", FIRST, "noon"),
        qa("shifted", "When?", FIRST, answers=[{"text": "noon", "answer_start": start + 1}], is_impossible=False),
        qa("negative", "When?", FIRST, answers=[{"text": "noon", "answer_start": -4}], is_impossible=False),
        qa("empty", "When?", FIRST, answers=[{"text": "", "answer_start": 0}], is_impossible=False),
        {"id": "without", "question": "When?"},
        qa("good", "Again?", FIRST, "noon"),
        qa("plausible", "When?", FIRST, answers=[{"text": "x", "answer_start": 0}], is_impossible=True),
        qa("blank", "  ", FIRST, "noon"),
    ]
    read = read_questions([ha.data.load(squad(tmp_path / "q.json", [(FIRST, qas)]))])
    assert [(question.id, question.answer) for question in read.questions] == [
        ("good", (start, start + 4)),
        ("plausible", None),
    ]
    assert read.left_out == {
        MISPLACED: ["shifted", "negative", "empty"], UNKNOWN: ["without"], REPEATED: ["good"], "empty text": ["blank"],
    }  # fmt: skip
    assert read.lines()[0] == f"3 questions are left out: {MISPLACED} (shifted, negative, empty)"


def test_several_files_are_read_and_a_compressed_one(tmp_path):
    first = story(tmp_path / "a.json")
    (tmp_path / "b.json.gz").write_bytes(gzip.compress((tmp_path / "a.json").read_bytes()))
    both = Questions().training_items([ha.data.load(first), ha.data.load(f"squad:{tmp_path}/b.json.gz")], 0)
    assert len(both.items) == 5 and both.facts["left_out"] == {REPEATED: 5}
    assert both.facts["unanswerable"] == 1 and both.lines[-1] == "1 of 5 questions are unanswerable"


def test_data_without_questions_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"sample is not in SQuAD format. Give squad:FILE.json or sample:questions"):
        read_questions([ha.data.load("sample")])
    bad = squad(tmp_path / "q.json", [(FIRST, [{"id": "a", "question": "When?"}])])
    with pytest.raises(DataError, match=f"there is no question to train on: 1 question is left out: {UNKNOWN}"):
        read_questions([ha.data.load(bad)])


# unanswerable questions that are made


def sample_questions():
    return read_questions([ha.data.load("sample:questions")]).questions


@pytest.mark.parametrize("share", [0.4, 0.5])
def test_unanswerable_questions_reach_the_share_and_never_have_the_answer(share):
    questions = sample_questions()
    passages = {question.context: question.title for question in questions}
    everything, added = with_negatives(questions, share, seed=3)
    made = everything[len(questions) :]
    assert everything[: len(questions)] == questions and len(made) == added > 0
    assert sum(question.answer is None for question in everything) / len(everything) == pytest.approx(share, abs=0.01)
    originals = {question.id: question for question in questions}
    kinds = Counter(question.id.rpartition("-")[2] for question in made)
    assert set(kinds) == {"altered", "elsewhere"} and kinds["altered"] <= (added + 1) / 2
    for question in made:
        key, _, kind = question.id.rpartition("-")
        before = originals[key]
        answer = before.context[slice(*before.answer)]
        assert question.answer is None and passages[question.context] == before.title
        if kind == "altered":
            assert question.context == before.context and question.text != before.text
            assert answer.lower() not in question.text.lower() or answer.lower() in before.text.lower()
        else:
            assert question.context != before.context and question.text == before.text
            assert answer.lower() not in question.context.lower()


def test_a_detail_is_changed_to_another_of_its_kind():
    rng = np.random.default_rng(0)
    passage = "In 1839 Tregenza came from Cornwall; in 1841 Morwenna and Jago rang it 12 times."
    source = Source([passage], "Morwenna")
    changed = {altered("Who rang the bell in 1841 beside Jago?", source, rng) for _ in range(40)}
    numbers = {"Who rang the bell in 1839 beside Jago?"}
    names = {f"Who rang the bell in 1841 beside {name}?" for name in ("Tregenza", "Cornwall")}
    assert changed == numbers | names  # never the answer, never a number of another length
    assert altered("Who was always late?", source, rng) in {"Who was never late?", "Who was always early?"}
    assert altered("Who rang it?", source, rng) is None


def test_details_come_from_other_passages_where_their_own_has_none():
    source = Source(["The bell rang.", "Later, in 1902, it fell."], "bell")
    assert altered("What rang in 1841?", source, np.random.default_rng(0)) == "What rang in 1902?"


def test_the_same_seed_makes_the_same_unanswerable_questions():
    questions = sample_questions()
    first, again, other = (with_negatives(questions, 0.5, seed=seed)[0] for seed in (1, 1, 2))
    assert first == again and first != other


def test_the_passage_that_shares_most_words_with_the_question_is_taken():
    question = asked("Did the bell of the church ring at noon?", FIRST, "Morwenna", "a")
    others = [asked("?", text, None, "a", key) for key, text in (("s", SECOND), ("t", THIRD))]
    (made,) = with_negatives([question, *others], 0.75, seed=0)[0][3:]
    assert made.context == SECOND  # it has the bell


def test_a_question_without_another_passage_stays_alone():
    alone = [asked("Who?", FIRST, "Morwenna", "a"), asked("When?", "At noon.", "noon", "b")]
    assert with_negatives(alone, 0.5, seed=0) == (alone, 0)
    everywhere = [asked("What?", FIRST, "the", "a"), asked("Where?", SECOND, None, "a")]
    assert with_negatives(everywhere, 0.9, seed=0)[1] == 0  # "the" is in every passage
    items = Questions(unanswerable=0.9).training_items([ha.data.load("sample:questions", limit=2)], 0)
    assert "90% were wanted, but no more can be made" in items.lines[-1]


@pytest.mark.parametrize(("yes", "no", "share"), [(100, 0, 0.33), (80, 10, 0.2), (7, 30, 0.5)])
def test_how_many_are_needed(yes, no, share):
    more = needed(yes, no, share)
    assert more == 0 or abs((no + more) / (yes + no + more) - share) <= 1 / (yes + no)
    assert more > 0 or no / (yes + no) >= share - 0.5 / (yes + no)


# batches


def lengths_of(number, seed=None):
    """Items are lengths; some give two windows, and every eleventh none."""
    if number % 11 == 0:
        return []
    ids = [np.full(number % 37 + 2, number, np.int32)] * (2 if number % 5 == 0 else 1)
    return [Feature(row, None, {"labels": number}) for row in ids]


def batches(planned=100, seed=0, size=4, items=100):
    return Batches(list(range(items)), lengths_of, size, seed=seed, planned=planned)


def numbers(sampler):
    return [[int(feature.ids[0]) for feature in batch] for batch in sampler]


def test_every_window_is_read_once_in_each_epoch():
    sampler = batches(planned=200)
    read = sorted(number for batch in numbers(sampler) for number in batch)
    assert read == sorted(int(feature.ids[0]) for n in range(100) for feature in lengths_of(n) for _ in range(2))
    assert sampler.without_windows == set(range(0, 100, 11))
    assert sampler.read == sorted(sampler.read) and sampler.read[-1] == 200 and sampler.last


def test_the_same_seed_gives_the_same_batches_in_an_order_that_changes():
    first, other = numbers(batches(planned=200)), numbers(batches(planned=200, seed=1))
    assert numbers(batches(planned=200)) == first != other
    half = len(first) // 2
    assert first[:half] != first[half:]
    assert numbers(batches(planned=150))[:half] == first[:half]


def test_batches_of_similar_length_pad_little():
    sampler = batches(planned=100)
    used = [[len(feature) for feature in batch] for batch in sampler]
    padded = sum(len(batch) * max(batch) for batch in used) / sum(map(sum, used))
    assert padded < 1.1
    rng = np.random.default_rng(0)
    mixed = rng.permutation([length for batch in used for length in batch])[:88].reshape(-1, 4)
    assert padded < (4 * mixed.max(1)).sum() / mixed.sum() - 0.3


def test_a_sampler_knows_its_last_batch_while_that_is_trained():
    sampler = batches(planned=8, items=8, size=3)
    last = [sampler.last for _ in sampler]
    assert last == [False] * (len(last) - 1) + [True]


def test_data_that_fit_into_no_window_are_refused():
    for planned in (2, None):
        with pytest.raises(DataError, match=r"fits into a window. Allow more tokens with --max-tokens"):
            list(Batches([0, 11], lengths_of, 4, seed=0, planned=planned))


def test_a_batch_is_padded_and_padding_is_neither_read_nor_predicted():
    rows = [np.array([5, 6, 7], np.int32), np.array([8], np.int32)]
    features = [
        Feature(row, row.astype(np.int8), {"labels": row.astype(np.int64), "start_positions": 1}) for row in rows
    ]
    inputs = {name: tensor.tolist() for name, tensor in collate(features, pad=9).items()}
    assert inputs == {
        "input_ids": [[5, 6, 7], [8, 9, 9]], "attention_mask": [[1, 1, 1], [1, 0, 0]],
        "token_type_ids": [[5, 6, 7], [8, 0, 0]], "labels": [[5, 6, 7], [8, -100, -100]], "start_positions": [1, 1],
    }  # fmt: skip


@torch.no_grad()
def test_the_loss_of_a_question_does_not_depend_on_padding():
    network = reader().network.eval()
    features = [question_features(reader(), asked("Who?", text, word), Window(64, 6))[0]
                for text, word in ((FIRST, "noon"), (THIRD, "roses"))]  # fmt: skip
    alone = [float(loss_and_outputs(network, collate([feature], 0))[0]) for feature in features]
    together = loss_and_outputs(network, collate(features, 0))[0]
    assert float(together) == pytest.approx(np.mean(alone), rel=1e-5)
    short = features[1]  # padded above
    assert len(short) < len(features[0])
    logits = loss_and_outputs(network, collate([short], 0))[1]
    targets = short.targets["start_positions"], short.targets["end_positions"]
    pairs = zip((logits.start_logits, logits.end_logits), targets, strict=True)
    slow = [np.log(np.exp(row[0].double().numpy()).sum()) - float(row[0, target]) for row, target in pairs]
    assert alone[1] == pytest.approx(np.mean(slow), rel=1e-5)


# pace


def test_the_limit_that_is_reached_first_counts():
    pace = Pace(steps=100, items=1000, seconds=3600, warmup=0.1, spent=1800)
    assert pace.share(10, 100) == pytest.approx(0.5, abs=0.01)  # the time before an interruption counts
    assert pace.share(90, 100) == pytest.approx(0.9) and pace.share(200, 0) == 1
    assert Pace(None, None, None, 0.1).share(10, 10) == 0


@pytest.mark.parametrize("warmup", [0, 0.1, 1])
def test_the_learning_rate_rises_and_falls_in_straight_lines(warmup):
    pace, shares = Pace(1, None, None, warmup), np.linspace(0, 1, 11)
    expected = np.interp(shares, *([[0, warmup, 1], [0, 1, 0]] if 0 < warmup < 1 else [[0, 1], [1 - warmup, warmup]]))
    assert [pace.factor(share) for share in shares] == pytest.approx(expected)


# metrics and checkpoints


def test_metrics_forget_what_came_after_a_checkpoint_and_a_line_cut_off(tmp_path):
    metrics = Metrics(tmp_path)
    for step in (10, 20, 30):
        metrics.write("training", step, {"loss": step / 7, "nan": float("nan")})
    with metrics.path.open("a") as stream:
        stream.write('{"kind": "training", "st')
    metrics.cut(20)
    assert [row["step"] for row in metrics.rows("training")] == [10, 20]
    assert metrics.rows()[0] == {"kind": "training", "step": 10, "loss": 1.42857, "nan": None}


def test_only_a_checkpoint_that_was_renamed_counts_and_a_damaged_one_is_reported(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.last() is None
    for step in (5, 10):
        written = checkpoints.unfinished / f"checkpoint-{step}"
        written.mkdir(parents=True)
        (written / "model.safetensors").write_bytes(b"weights")
        checkpoints.complete(written, step, 1.5)
    (checkpoints.unfinished / "checkpoint-15").mkdir()
    last = checkpoints.last()
    assert (last.path.name, last.step, last.seconds) == ("000010", 10, 1.5)
    assert [path.name for path in checkpoints.folder.iterdir()] == ["000010"]
    (last.path / "model.safetensors").write_bytes(b"weight")
    with pytest.raises(StoreError, match=r"000010 is damaged. Delete .*, and train again"):
        checkpoints.last()


# masks


def test_masks_hide_some_tokens_and_never_special_ones():
    model = reader()
    tokens = ha.models.encode.encode(model, Example("x", text=FIRST))[0].source
    usual = np.flatnonzero(~tokens.special)
    vocabulary = np.arange(100, 110)
    counts = np.zeros(3)
    for seed in range(300):
        ids, labels = language_features.masked(tokens, np.random.default_rng(seed), 4, vocabulary)
        chosen = np.flatnonzero(labels != -100)
        assert len(chosen) == round(0.15 * len(usual)) and set(chosen) <= set(usual)
        assert (labels[chosen] == tokens.ids[chosen]).all()
        others = np.setdiff1d(np.arange(len(ids)), chosen)
        assert (ids[others] == tokens.ids[others]).all()
        kinds = np.where(ids[chosen] == 4, 0, np.where(ids[chosen] == tokens.ids[chosen], 2, 1))
        assert np.isin(ids[chosen][kinds == 1], vocabulary).all()
        counts += np.bincount(kinds, minlength=3)
    assert counts / counts.sum() == pytest.approx([0.8, 0.1, 0.1], abs=0.03)


def test_a_short_text_has_one_masked_token_and_each_epoch_another():
    model = reader()
    encode = language_features.language_encoder(model, 32)
    (feature,) = encode(Example("x", text="Rain."), np.array([0, 1], np.uint32))
    assert (feature.targets["labels"] != -100).sum() == 1
    draws = [encode(Example("x", text=FIRST), np.array([0, epoch], np.uint32))[0].ids.tolist() for epoch in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]


# classes


def rows(*labels):
    return ha.data.load([{"text": f"text {number}", "label": label} for number, label in enumerate(labels)])


def test_classes_are_sorted_and_rows_without_one_are_left_out():
    items = labeled_texts.read_texts([rows("b", "a", None, "b", "")], "label")
    assert items.labels == ("a", "b") and [text.label for text in items.items] == [1, 0, 1]
    assert items.lines == ("2 texts are left out: no class (2, 4)",)
    assert labeled_texts.read_texts([rows(10, 9, 2.0)], "label").labels == ("2", "9", "10")
    held = labeled_texts.read_texts([rows("a", "c")], "label", ("a", "b"))
    assert [text.label for text in held.items] == [0] and held.facts["left_out"] == {labeled_texts.UNSEEN: 1}


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "a"], "column 'label' has only the class 'a': at least two are needed. Use --label-column"),
        ([0.5, 1.5], "the number 0.5 is not a class. Choose another with --label-column"),
        ([["a"], ["b"]], "list is not a class"),
        ([None], "column 'label' has no class"),
        (list(range(1001)), "has 1,001 classes, at most 1,000 are taken"),
    ],
)
def test_columns_that_hold_no_classes_are_refused(labels, message):
    with pytest.raises(DataError, match=message):
        labeled_texts.read_texts([rows(*labels)], "label")
    with pytest.raises(DataError, match=r"memory has no column 'mood'. Its other columns: label. Use --label-column"):
        labeled_texts.read_texts([rows("a", "b")], "mood")


def test_the_sample_is_in_squad_format():
    corpus = json.loads(Path(ha.data.readers.squad.SAMPLE).read_text())
    assert len(sample_questions()) == sum(len(p["qas"]) for article in corpus["data"] for p in article["paragraphs"])
