"""Texts as a model reads them: windows that lose nothing, counted truncation, words, readable pieces, targets."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import normalizers
from transformers import AutoTokenizer

from conftest import byte_tokenizer, word_tokenizer
from headatlas import models
from headatlas.data import Example, Window, load
from headatlas.errors import DataError, OptionError
from headatlas.models.encode import encode, readable, start_token
from support.families import FAMILIES

SENTENCE = "The tide turns, and the children walk out."


@pytest.fixture(scope="module")
def bert(small):
    return small("BERT").model


@pytest.fixture(scope="module")
def gpt(small):
    return small("GPT-2").model


@pytest.fixture(scope="module")
def t5(small):
    return small("T5").model


def long_question():
    question = next(iter(load("sample:questions")))
    return Example(question.id, text=question.text, pair=question.pair)


def context(tokens):
    return np.flatnonzero((tokens.segment == 1) & ~tokens.special)


# --- windows


@pytest.mark.parametrize(("name", "size", "overlap"), [("BERT", 48, 12), ("BERT", 30, 0), ("GPT-2", 60, 20)])
def test_windows_hold_the_question_and_together_the_whole_passage(name, size, overlap, small):
    model, example = small(name).model, long_question()
    windows = encode(model, example, window=Window(size, overlap))
    assert len(windows) > 2
    assert [(window.window, window.windows) for window in windows] == [(n, len(windows)) for n in range(len(windows))]
    encoding = model.tokenizer(example.pair, add_special_tokens=False).encodings[0]
    question = len(model.tokenizer(example.text, add_special_tokens=False).input_ids)
    covered = []
    for number, window in enumerate(windows):
        tokens, positions = window.source, context(window.source)
        assert len(tokens) <= size and window.cut == 0
        assert len(tokens) == size or number == len(windows) - 1
        assert ((tokens.segment == 0) & ~tokens.special).sum() == question
        spans = [(int(tokens.start[i]), int(tokens.stop[i])) for i in positions]
        if covered:
            assert spans[:overlap] == covered[len(covered) - overlap :]
        covered += spans[overlap:] if covered else spans
    assert covered == encoding.offsets


def test_offsets_point_at_the_text(bert):
    example = long_question()
    for window in encode(bert, example, window=Window(40, 10)):
        tokens = window.source
        for i in np.flatnonzero(~tokens.special):
            text = example.pair if tokens.segment[i] else example.text
            assert text[tokens.start[i] : tokens.stop[i]].lower() == tokens.text[i].removeprefix("##")


def test_a_text_without_a_pair_is_cut_into_windows_on_request(bert):
    text = next(iter(load("sample"))).text
    windows = encode(bert, Example("a", text=text), max_tokens=20, overlong="window")
    assert {len(window.source) for window in windows[:-1]} == {20}
    starts = [set(window.source.start[~window.source.special].tolist()) for window in windows]
    assert all(len(first & second) == 5 for first, second in pairwise(starts))  # a quarter of 20
    assert set().union(*starts) == set(np.array(bert.tokenizer(text).encodings[0].offsets[1:-1])[:, 0].tolist())
    assert len(encode(bert, Example("a", text=SENTENCE), overlong="window")) == 1


def test_windows_are_no_longer_than_the_model_reads(bert):
    assert bert.max_tokens == 64
    windows = encode(bert, long_question(), window=Window(384, 128))
    assert {len(window.source) for window in windows[:-1]} == {64}


def test_a_question_that_leaves_little_room_does_not_multiply_windows(bert):
    example = Example("a", text=" ".join(["who"] * 40), pair=long_question().pair)
    windows = encode(bert, example, window=Window(50, 30))
    room = 50 - 43
    total = len(bert.tokenizer(example.pair, add_special_tokens=False).input_ids)
    assert len(windows) <= total / (room - room // 2) + 1
    assert len({int(start) for window in windows for start in window.source.start[context(window.source)]}) == total


def test_a_question_that_leaves_no_room_is_truncated_and_counted(bert):
    example = Example("a", text=" ".join(["who"] * 40), pair=SENTENCE)
    [encoded] = encode(bert, example, window=Window(20, 5))
    total = len(bert.tokenizer(example.text, example.pair).input_ids)
    assert len(encoded.source) == 20 and encoded.cut == total - 20


# --- truncation


@settings(max_examples=60, deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=80),
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=80),
    st.integers(4, 80),
    st.sampled_from(["truncate", "window"]),
)
def test_no_text_is_longer_than_asked_and_every_token_is_kept_or_counted(bert, gpt, text, pair, size, overlong):
    for model in (bert, gpt):
        total = len(model.tokenizer(text, pair, verbose=False).input_ids)
        windows = encode(model, Example("a", text=text, pair=pair), max_tokens=size, overlong=overlong)
        assert bool(windows) == bool(total)
        for window in windows:
            tokens = window.source
            assert 0 < len(tokens) <= min(size, 64)
            assert len({len(part) for part in (tokens.text, tokens.word, tokens.special, tokens.segment)}) == 1
            assert len(windows) > 1 or len(tokens) + window.cut == total


@pytest.mark.parametrize("overlong", ["truncate", "window"])
@pytest.mark.parametrize(("pair", "specials"), [(None, 2), (SENTENCE, 3)])
def test_a_limit_that_special_tokens_alone_fill_is_an_error(bert, pair, specials, overlong):
    example = Example("a", text=SENTENCE, pair=pair)
    for size in range(1, specials + 1):
        with pytest.raises(OptionError, match=f"{size} tokens leave no room for text: {specials} of them are special"):
            encode(bert, example, max_tokens=size, overlong=overlong)
    assert encode(bert, Example("a", text=SENTENCE), max_tokens=3)[0].source.text == ["[CLS]", "the", "[SEP]"]


def test_windows_may_hold_a_single_token_of_text(bert):
    windows = encode(bert, Example("a", text=SENTENCE), max_tokens=3, overlong="window")
    assert [window.source.text[1] for window in windows] == bert.tokenizer.tokenize(SENTENCE)


@pytest.mark.parametrize(
    ("name", "text", "pieces"),
    [
        ("BERT", "   ", ["[CLS]", "[SEP]"]),
        ("BERT", "a", ["[CLS]", "a", "[SEP]"]),
        ("GPT-2", "  ", [" ", " "]),
        ("GPT-2", "a", ["a"]),
        ("GPT-2", "", None),
    ],
)
def test_texts_that_are_empty_blank_or_one_token(name, text, pieces, small):
    windows = encode(small(name).model, Example("a", text=text))
    assert [window.source.text for window in windows] == ([] if pieces is None else [pieces])


# --- words

WORDS = ("The", "naïve", "children", "can", "n't", "walk", "out", "-", "of", "-", "tune", "😀", ".")


@pytest.mark.parametrize("name", ["BERT", "GPT-2"])
@pytest.mark.parametrize("options", [{}, {"window": Window(12, 3)}])
def test_tokens_of_a_text_given_as_words_know_their_word(name, options, small):
    model = small(name).model
    covered = set()
    for window in encode(model, Example("a", words=WORDS), **options):
        tokens = window.source
        assert (tokens.word[tokens.special] == -1).all()
        for i in np.flatnonzero(~tokens.special):
            word = WORDS[tokens.word[i]]
            covered.add(int(tokens.word[i]))
            piece = " ".join(WORDS)[tokens.start[i] : tokens.stop[i]]
            assert piece.strip() in word
    assert covered == set(range(len(WORDS)))


def test_words_of_a_first_text_do_not_number_the_second(bert):
    [encoded] = encode(bert, Example("a", words=("walk", "-", "out"), pair="out-walk"))
    tokens = encoded.source
    first, second = (tokens.word[(tokens.segment == part) & ~tokens.special].tolist() for part in (0, 1))
    assert sorted(set(first)) == [0, 1, 2]
    assert second == list(bert.tokenizer("out-walk", add_special_tokens=False).word_ids())


def test_words_of_a_plain_text_come_from_the_tokenizer(bert):
    [encoded] = encode(bert, Example("a", text="The children walk."))
    assert encoded.source.word.tolist() == [-1, 0, 1, 1, 1, 1, 1, 2, 2, 2, 3, -1]


@pytest.mark.parametrize(
    ("name", "expected"), [("BERT", ["[CLS]andout[SEP]", "the[SEP]"]), ("GPT-2", ["and out", "The"])]
)
def test_segments_distinguish_two_texts(name, expected, small):
    [encoded] = encode(small(name).model, Example("a", text="and out", pair="The"))
    assert ["".join(np.array(encoded.source.text)[encoded.source.segment == part]) for part in (0, 1)] == expected


# --- readable pieces


@given(st.text(st.characters(max_codepoint=126), max_size=40))
def test_byte_level_pieces_of_plain_text_join_to_the_text(gpt, text):
    assert "".join(readable(gpt.tokenizer, gpt.tokenizer.tokenize(text))) == text


def test_byte_level_pieces_show_what_they_stand_for(gpt):
    [encoded] = encode(gpt, Example("a", text="naïve 😀"))
    tokens = encoded.source
    # ï and 😀 are two and four bytes that this small vocabulary never joins
    assert "".join(tokens.text) == "na\ufffd\ufffdve \ufffd\ufffd\ufffd\ufffd"
    spans = ["naïve 😀"[start:stop] for start, stop in zip(tokens.start, tokens.stop, strict=True)]
    assert [span for span, piece in zip(spans, tokens.text, strict=True) if piece == "\ufffd"] == [*"ïï😀😀😀😀"]
    assert readable(gpt.tokenizer, ["naÃ¯ve", "ĠðŁĺĢ", "Ċ", "<|endoftext|>"]) == ["naïve", " 😀", "\n", "<|endoftext|>"]


def test_real_byte_level_pieces_are_readable(real):
    model = models.load(real("smollm2"))
    [encoded] = encode(model, Example("a", text="naïve café\n"))
    assert encoded.source.text == ["na", "ïve", " café", "\n"]


def test_sentence_piece_marks_become_spaces(bert):
    assert readable(bert.tokenizer, ["▁The", "▁child", "ren", "##s"]) == [" The", " child", "ren", "##s"]


# --- targets


def test_a_decoder_reads_the_target_after_its_start_token(t5):
    [encoded] = encode(t5, Example("a", text="Who rang?", pair="A man."))
    ids = t5.tokenizer("A man.").input_ids
    assert t5.network.config.decoder_start_token_id == 0
    assert encoded.target.ids.tolist() == [0, *ids[:-1]]
    assert encoded.target.text[:2] == ["[PAD]", "[CLS]"] and encoded.target.special[:2].all()
    assert encoded.target.word[:2].tolist() == [-1, -1]
    assert encoded.source.ids.tolist() == t5.tokenizer("Who rang?").input_ids
    assert "A man."[encoded.target.start[2] : encoded.target.stop[2]] == "A"
    attention = models.attention(t5, "Who rang?", pair="A man.")
    assert attention.tokens == encoded.source.text and attention.target_tokens == encoded.target.text
    shapes = {layer.kind: maps.shape[1:] for layer, maps in zip(attention.layers, attention.maps, strict=True)}
    n, m = len(encoded.source), len(encoded.target)
    assert shapes == {"encoder": (n, n), "decoder": (m, m), "cross": (m, n)}


def test_without_a_pair_the_text_is_its_own_target(t5):
    [encoded] = encode(t5, Example("a", text="Who rang?"))
    assert encoded.target.ids.tolist() == [0, *encoded.source.ids[:-1]]


def test_tokens_truncated_from_the_target_are_counted(t5):
    [encoded] = encode(t5, Example("a", text="a", pair=SENTENCE), max_tokens=10)
    assert len(encoded.target) == 10 and encoded.cut == len(t5.tokenizer(SENTENCE).input_ids) - 10


def test_a_target_without_tokens_is_only_the_start_token(tmp_path):
    byte_tokenizer().save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    tokenizer.backend_tokenizer.normalizer = normalizers.Strip()
    model = models.load(FAMILIES["BART"].network(), tokenizer=tokenizer)
    [encoded] = encode(model, Example("a", text="a", pair="  "))
    target = encoded.target
    assert target.ids.tolist() == [2]
    assert {len(part) for part in (target.text, target.word, target.special, target.segment, target.start)} == {1}


def test_the_start_token_is_searched_in_the_usual_settings():
    model = models.load(FAMILIES["BART"].network(), tokenizer=word_tokenizer())
    config = model.network.config
    assert start_token(model) == 2
    for name, expected in (("decoder_start_token_id", 1), ("bos_token_id", 0), ("pad_token_id", None)):
        setattr(config, name, None)
        if expected is not None:
            assert start_token(model) == expected
    with pytest.raises(DataError, match="does not say which token its decoder starts with"):
        start_token(model)
