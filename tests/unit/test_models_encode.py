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
    assert [(one.window, one.windows) for one in windows] == [(n, len(windows)) for n in range(len(windows))]
    whole = model.tokenizer(example.pair, add_special_tokens=False).encodings[0]
    question = len(model.tokenizer(example.text, add_special_tokens=False).input_ids)
    found = []
    for number, one in enumerate(windows):
        tokens, own = one.source, context(one.source)
        assert len(tokens) <= size and one.cut == 0
        assert len(tokens) == size or number == len(windows) - 1
        assert ((tokens.segment == 0) & ~tokens.special).sum() == question
        places = [(int(tokens.start[i]), int(tokens.stop[i])) for i in own]
        if found:
            assert places[:overlap] == found[len(found) - overlap :]
        found += places[overlap:] if found else places
    assert found == whole.offsets


def test_offsets_point_at_the_text(bert):
    example = long_question()
    for one in encode(bert, example, window=Window(40, 10)):
        tokens = one.source
        for i in np.flatnonzero(~tokens.special):
            text = example.pair if tokens.segment[i] else example.text
            assert text[tokens.start[i] : tokens.stop[i]].lower() == tokens.text[i].removeprefix("##")


def test_a_text_alone_is_cut_in_windows_on_request(bert):
    text = next(iter(load("sample"))).text
    windows = encode(bert, Example("a", text=text), max_tokens=20, overlong="window")
    assert {len(one.source) for one in windows[:-1]} == {20}
    starts = [set(one.source.start[~one.source.special].tolist()) for one in windows]
    assert all(len(one & next_one) == 5 for one, next_one in pairwise(starts))  # a quarter of 20
    assert set().union(*starts) == set(np.array(bert.tokenizer(text).encodings[0].offsets[1:-1])[:, 0].tolist())
    assert len(encode(bert, Example("a", text=SENTENCE), overlong="window")) == 1


def test_windows_are_no_longer_than_the_model_reads(bert):
    assert bert.max_tokens == 64
    windows = encode(bert, long_question(), window=Window(384, 128))
    assert {len(one.source) for one in windows[:-1]} == {64}


def test_a_question_that_leaves_little_room_does_not_multiply_windows(bert):
    example = Example("a", text=" ".join(["who"] * 40), pair=long_question().pair)
    windows = encode(bert, example, window=Window(50, 30))
    room = 50 - 43
    total = len(bert.tokenizer(example.pair, add_special_tokens=False).input_ids)
    assert len(windows) <= total / (room - room // 2) + 1
    assert len({int(place) for one in windows for place in one.source.start[context(one.source)]}) == total


def test_a_question_that_leaves_no_room_is_truncated_and_counted(bert):
    example = Example("a", text=" ".join(["who"] * 40), pair=SENTENCE)
    [one] = encode(bert, example, window=Window(20, 5))
    whole = len(bert.tokenizer(example.text, example.pair).input_ids)
    assert len(one.source) == 20 and one.cut == whole - 20


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
        whole = len(model.tokenizer(text, pair, verbose=False).input_ids)
        found = encode(model, Example("a", text=text, pair=pair), max_tokens=size, overlong=overlong)
        assert bool(found) == bool(whole)
        for one in found:
            tokens = one.source
            assert 0 < len(tokens) <= min(size, 64)
            assert len({len(part) for part in (tokens.text, tokens.word, tokens.special, tokens.segment)}) == 1
            assert len(found) > 1 or len(tokens) + one.cut == whole


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
    assert [one.source.text[1] for one in windows] == bert.tokenizer.tokenize(SENTENCE)


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
def test_texts_of_nothing_of_spaces_and_of_one_token(name, text, pieces, small):
    found = encode(small(name).model, Example("a", text=text))
    assert [one.source.text for one in found] == ([] if pieces is None else [pieces])


# --- words

WORDS = ("The", "naïve", "children", "can", "n't", "walk", "out", "-", "of", "-", "tune", "😀", ".")


@pytest.mark.parametrize("name", ["BERT", "GPT-2"])
@pytest.mark.parametrize("options", [{}, {"window": Window(12, 3)}])
def test_tokens_of_a_text_that_came_in_words_know_their_word(name, options, small):
    model = small(name).model
    seen = set()
    for one in encode(model, Example("a", words=WORDS), **options):
        tokens = one.source
        assert (tokens.word[tokens.special] == -1).all()
        for i in np.flatnonzero(~tokens.special):
            word = WORDS[tokens.word[i]]
            seen.add(int(tokens.word[i]))
            piece = " ".join(WORDS)[tokens.start[i] : tokens.stop[i]]
            assert piece.strip() in word
    assert seen == set(range(len(WORDS)))


def test_words_of_a_first_text_do_not_number_the_second(bert):
    [one] = encode(bert, Example("a", words=("walk", "-", "out"), pair="out-walk"))
    tokens = one.source
    first, second = (tokens.word[(tokens.segment == part) & ~tokens.special].tolist() for part in (0, 1))
    assert sorted(set(first)) == [0, 1, 2]
    assert second == list(bert.tokenizer("out-walk", add_special_tokens=False).word_ids())


def test_words_of_a_plain_text_are_the_tokenizers(bert):
    [one] = encode(bert, Example("a", text="The children walk."))
    assert one.source.word.tolist() == [-1, 0, 1, 1, 1, 1, 1, 2, 2, 2, 3, -1]


@pytest.mark.parametrize(
    ("name", "expected"), [("BERT", ["[CLS]andout[SEP]", "the[SEP]"]), ("GPT-2", ["and out", "The"])]
)
def test_segments_tell_two_texts_apart(name, expected, small):
    [one] = encode(small(name).model, Example("a", text="and out", pair="The"))
    assert ["".join(np.array(one.source.text)[one.source.segment == part]) for part in (0, 1)] == expected


# --- readable pieces


@given(st.text(st.characters(max_codepoint=126), max_size=40))
def test_byte_level_pieces_of_plain_text_join_to_the_text(gpt, text):
    assert "".join(readable(gpt.tokenizer, gpt.tokenizer.tokenize(text))) == text


def test_byte_level_pieces_show_what_they_stand_for(gpt):
    [one] = encode(gpt, Example("a", text="naïve 😀"))
    tokens = one.source
    # ï and 😀 are two and four bytes that this small vocabulary never joins
    assert "".join(tokens.text) == "na\ufffd\ufffdve \ufffd\ufffd\ufffd\ufffd"
    spans = ["naïve 😀"[start:stop] for start, stop in zip(tokens.start, tokens.stop, strict=True)]
    assert [span for span, piece in zip(spans, tokens.text, strict=True) if piece == "\ufffd"] == [*"ïï😀😀😀😀"]
    assert readable(gpt.tokenizer, ["naÃ¯ve", "ĠðŁĺĢ", "Ċ", "<|endoftext|>"]) == ["naïve", " 😀", "\n", "<|endoftext|>"]


def test_real_byte_level_pieces_are_readable(real):
    model = models.load(real("smollm2"))
    [one] = encode(model, Example("a", text="naïve café\n"))
    assert one.source.text == ["na", "ïve", " café", "\n"]


def test_sentence_piece_marks_become_spaces(bert):
    assert readable(bert.tokenizer, ["▁The", "▁child", "ren", "##s"]) == [" The", " child", "ren", "##s"]


# --- targets


def test_a_decoder_reads_the_target_behind_its_start_token(t5):
    [one] = encode(t5, Example("a", text="Who rang?", pair="A man."))
    whole = t5.tokenizer("A man.").input_ids
    assert t5.network.config.decoder_start_token_id == 0
    assert one.target.ids.tolist() == [0, *whole[:-1]]
    assert one.target.text[:2] == ["[PAD]", "[CLS]"] and one.target.special[:2].all()
    assert one.target.word[:2].tolist() == [-1, -1]
    assert one.source.ids.tolist() == t5.tokenizer("Who rang?").input_ids
    assert "A man."[one.target.start[2] : one.target.stop[2]] == "A"
    found = models.attention(t5, "Who rang?", pair="A man.")
    assert found.tokens == one.source.text and found.target_tokens == one.target.text
    shapes = {layer.kind: maps.shape[1:] for layer, maps in zip(found.layers, found.maps, strict=True)}
    n, m = len(one.source), len(one.target)
    assert shapes == {"encoder": (n, n), "decoder": (m, m), "cross": (m, n)}


def test_without_a_pair_the_text_is_its_own_target(t5):
    [one] = encode(t5, Example("a", text="Who rang?"))
    assert one.target.ids.tolist() == [0, *one.source.ids[:-1]]


def test_what_truncation_takes_from_the_target_is_counted(t5):
    [one] = encode(t5, Example("a", text="a", pair=SENTENCE), max_tokens=10)
    assert len(one.target) == 10 and one.cut == len(t5.tokenizer(SENTENCE).input_ids) - 10


def test_a_target_of_no_tokens_is_the_start_token_alone(tmp_path):
    byte_tokenizer().save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    tokenizer.backend_tokenizer.normalizer = normalizers.Strip()
    model = models.load(FAMILIES["BART"].network(), tokenizer=tokenizer)
    [one] = encode(model, Example("a", text="a", pair="  "))
    target = one.target
    assert target.ids.tolist() == [2]
    assert {len(part) for part in (target.text, target.word, target.special, target.segment, target.start)} == {1}


def test_the_start_token_is_looked_for_where_models_keep_it():
    model = models.load(FAMILIES["BART"].network(), tokenizer=word_tokenizer())
    config = model.network.config
    assert start_token(model) == 2
    for name, expected in (("decoder_start_token_id", 1), ("bos_token_id", 0), ("pad_token_id", None)):
        setattr(config, name, None)
        if expected is not None:
            assert start_token(model) == expected
    with pytest.raises(DataError, match="does not say which token its decoder starts with"):
        start_token(model)
