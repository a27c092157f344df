"""Heads for question answering: logits of the whole network, the best spans of tokens, and answers from windows."""

import numpy as np
import pytest
import torch
from transformers import AutoModelForQuestionAnswering

from conftest import byte_tokenizer, word_tokenizer
from headatlas import models
from headatlas.data import Example
from headatlas.errors import ModelError
from headatlas.evaluate.answers import merged
from headatlas.evaluate.candidates import WindowScores, best_pairs, window_scores
from headatlas.evaluate.evaluation import evaluated
from headatlas.evaluate.gold import Question, Questions
from headatlas.models import capture
from headatlas.models.batch import text_batch
from headatlas.models.encode import encode
from headatlas.models.question_head import read_question_head
from support.families import FAMILIES
from support.question_models import save_model

NAMES = [
    "BERT", "RoBERTa", "DistilBERT", "Llama", "ALBERT", "ELECTRA", "ModernBERT", "MPNet", "DeBERTa-v2", "XLNet",
    "GPT-2", "GPT-NeoX", "Mistral",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_pairs_of_tokens_are_those_of_a_search_over_all(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 90))
    start, end = rng.normal(size=(2, size)).round(1)
    allowed = rng.random(size) < 0.8
    top = [sorted(np.flatnonzero(allowed), key=lambda i: -scores[i])[:20] for scores in (start, end)]
    expected = sorted((start[i] + end[j] for i in top[0] for j in top[1] if i <= j < i + 30), reverse=True)[:20]
    found = best_pairs(start, end, allowed)
    assert [score for _, _, score in found] == expected
    assert all(allowed[i] and allowed[j] and 0 <= j - i < 30 for i, j, _ in found) and len(set(found)) == len(found)


@pytest.mark.parametrize("name", NAMES)
def test_a_head_on_captured_outputs_gives_the_logits_of_the_whole_network(name, tmp_path):
    family = FAMILIES[name]
    folder = save_model(tmp_path / "qa", word_tokenizer() if family.reads == "words" else byte_tokenizer(), name)
    loaded, head = models.load(folder), read_question_head(folder)
    assert not any("random" in note for note in loaded.notes)
    plain = AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    examples = [Example("0", "Who rang the bell?", "A man rang it."), Example("1", "Rain?", "No.")]
    for chosen in [examples] if loaded.padding else [[example] for example in examples]:
        batch = text_batch(loaded, [encode(loaded, example)[0] for example in chosen])
        output = capture.run(loaded, batch.inputs, capture.Record(maps=False))
        found = head.logits(batch.inputs, output)
        with torch.no_grad():
            expected = plain(**batch.inputs)
        for logits, of_plain in zip(found, (expected.start_logits, expected.end_logits), strict=True):
            for number, length in enumerate(batch.lengths):
                torch.testing.assert_close(logits[number, :length], of_plain[number, :length], atol=1e-4, rtol=0)
    assert sum(weight.numel() for weight in head.network.parameters()) < 5_000  # the base model is gone


def test_tokens_that_are_blank_or_special_or_of_the_question_are_no_answer(small):
    model = small("GPT-2").model
    passage = "  the   bell  "
    (window,) = encode(model, Example("0", "Who rang?", passage))
    tokens = window.source
    assert any(not text.strip() for text in tokens.text[np.argmax(tokens.segment == 1) :])
    scores = window_scores(tokens, np.arange(len(tokens)), np.arange(len(tokens)), model.tokenizer)
    for candidate in merged([scores], passage).best:
        text = passage[candidate.start : candidate.stop]
        assert text == text.strip() != ""
    with pytest.raises(ModelError, match="NaN or infinite"):
        window_scores(tokens, np.full(len(tokens), np.nan), np.zeros(len(tokens)), model.tokenizer)


def test_a_question_without_any_candidate_has_no_answer():
    questions = Questions([Question("q", "Who?", "Rain.", ("Rain",), 0), Question("r", "Why?", "Rain.", ())])
    none = merged([WindowScores(0.5, [])], "Rain.")
    for threshold in (0.0, None):
        found = evaluated(questions, [none, none], threshold, 0)
        assert found.predictions["prediction"].to_pylist() == ["", ""]
        assert found.predictions["no_answer"].to_pylist() == [1.0, 1.0]
        assert found.predictions["confidence"].to_pylist() == [1.0, 1.0] and found.scores["exact"] == 50
    assert evaluated(questions, [none, None], 0.0, 0).facts["missing_named"] == ["r"]
