"""Spans and chats as they are read: where they are, and what is wrong with them."""

import json

import pandas
import pytest

from headatlas.data import Example, Message, Span, load
from headatlas.errors import DataError
from support.small_files import write

pytestmark = pytest.mark.usefixtures("folder")

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Who rang the bell?"},
    {"role": "assistant", "content": "Ann."},
]


def jsonl(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def parts(example):
    """The name and the characters of each span."""
    texts = {False: example.text, True: example.pair}
    return [(span.name, texts[span.pair][span.start : span.stop]) for span in example.spans]


def squad(context, *answers):
    gold = [{"text": text, "answer_start": start} for text, start in answers]
    qa = {"id": "q1", "question": "Who rang?", "answers": gold}
    return json.dumps({"data": [{"title": "Bells", "paragraphs": [{"context": context, "qas": [qa]}]}]})


@pytest.mark.parametrize(
    ("context", "answers", "expected"),
    [
        ("It was Ann.", [("Ann", 7)], [("passage", "It was "), ("answer", "Ann"), ("passage", ".")]),
        ("It was Ann.", [], [("passage", "It was Ann.")]),
        ("It was Ann.", [("", 0)], [("passage", "It was Ann.")]),
        ("Ann rang.", [("Ann", 0), ("rang", 4)], [("answer", "Ann"), ("passage", " rang.")]),
        ("Ann", [("Ann", 0)], [("answer", "Ann")]),
        ("Ann or Ann.", [("Ann", 8)], [("passage", "Ann or "), ("answer", "Ann"), ("passage", ".")]),  # off by one
        ("It was ANN.", [("Ann", 7)], [("passage", "It was "), ("answer", "ANN"), ("passage", ".")]),
    ],
)
def test_question_passage_and_answer(context, answers, expected):
    write("bells.json", squad(context, *answers))
    [example] = load("squad:bells.json")
    assert parts(example) == [("question", "Who rang?"), *expected]


def test_an_answer_outside_its_passage_is_one_line():
    write("bells.json", squad("It was Ann.", ("Nobody", 7)))
    with pytest.raises(DataError, match=r"example q1: span 'answer' \(7 to 13 of the pair\) leaves its text") as raised:
        list(load("squad:bells.json"))
    assert "\n" not in str(raised.value)


def test_every_answer_of_the_packaged_corpus_is_where_it_should_be():
    for example in load("sample:questions"):
        answers = [text for name, text in parts(example) if name == "answer"]
        assert answers == ([example.columns["answer"]] if example.columns["answerable"] else [])
        assert "".join(text for name, text in parts(example) if name != "question") == example.pair


SPANS = [{"name": "verb", "start": 4, "stop": 8}, {"name": "time", "start": 0, "stop": 5, "text": "pair"}]


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "pandas", "dicts"])
def test_the_column_spans_of_any_table(form):
    rows = [{"text": "Ann rang.", "then": "Later", "spans": SPANS, "n": 1}, {"text": "Who?", "then": "X", "n": 2}]
    rows[1]["spans"] = None
    frame = pandas.DataFrame(rows)
    if form == "csv":  # a cell holds JSON
        frame["spans"] = [json.dumps(SPANS), ""]
    source = {"pandas": frame, "dicts": rows}.get(form, f"x.{form}")
    if form == "jsonl":
        write("x.jsonl", jsonl(*rows))
    elif form == "csv":
        frame.to_csv("x.csv", index=False)
    elif form == "parquet":
        frame.to_parquet("x.parquet")
    first, second = load(source, pair_column="then")
    assert parts(first) == [("verb", "rang"), ("time", "Later")] and second.spans == ()
    assert (first.columns, second.columns) == ({"n": 1}, {"n": 2})


def test_spans_are_part_of_the_fingerprint():
    plain, marked, other = (
        load([Example("a", text="Ann rang.", spans=spans)]).fingerprint
        for spans in ((), (Span("verb", 4, 8),), (Span("name", 0, 3),))
    )
    assert len({plain, marked, other}) == 3


WRONG = {
    "overlap": ([("a", 0, 4), ("b", 3, 6)], r"spans 'a' \(0 to 4\) and 'b' \(3 to 6\) overlap"),
    "leaves": ([("a", 5, 99)], r"span 'a' \(5 to 99\) leaves its text, which has 9 characters"),
    "negative": ([("a", -1, 3)], r"span 'a' \(-1 to 3\) leaves its text"),
    "reversed": ([("a", 6, 3)], r"span 'a' \(6 to 3\) leaves its text"),
    "empty": ([("a", 3, 3)], r"span 'a' \(3 to 3\) is empty"),
    "blank": ([("a", 3, 4)], r"span 'a' \(3 to 4\) is empty"),
    "no name": ([("", 0, 3)], "'' cannot be the name of a span: use up to 24 letters"),
    "sign": ([("a>b", 0, 3)], "'a>b' cannot be the name of a span"),
    "digit": ([("1st", 0, 3)], "'1st' cannot be the name of a span"),
    "long": ([("a" * 25, 0, 3)], "cannot be the name of a span"),
    "space": ([("a ", 0, 3)], "'a ' cannot be the name of a span"),
    "line break": ([("a\nb", 0, 3)], "cannot be the name of a span"),
}


@pytest.mark.parametrize("spans, message", WRONG.values(), ids=WRONG)
def test_wrong_spans_are_one_line_with_the_id(spans, message):
    rows = [{"name": name, "start": start, "stop": stop} for name, start, stop in spans]
    write("x.jsonl", jsonl({"id": "e7", "text": "Ann rang.", "spans": rows}))
    with pytest.raises(DataError, match=f"x.jsonl, example e7: .*{message}") as raised:
        list(load("x.jsonl"))
    assert "\n" not in str(raised.value)


FORMS = {
    "an object": ({"name": "a"}, "it is dict, no list"),
    "names": (["a"], "span 0 is str, no object"),
    "end": ([{"name": "a", "start": 0, "end": 3}], 'span 0 has no whole number "stop"'),
    "label": ([{"label": "a", "start": 0, "stop": 3}], 'span 0 has no text "name"'),
    "float": ([{"name": "a", "start": 0.5, "stop": 3}], 'span 0 has no whole number "start"'),
    "other text": ([{"name": "a", "start": 0, "stop": 3, "text": "third"}], "the \"text\" of span 0 is 'third'"),
    "no JSON": ("a, b", "it is a text that is no JSON"),
}


@pytest.mark.parametrize("cell, message", FORMS.values(), ids=FORMS)
def test_a_column_spans_of_another_form_says_what_to_do(cell, message):
    write("x.jsonl", jsonl({"id": "e7", "text": "Ann rang.", "spans": cell}))
    with pytest.raises(DataError, match=f"x.jsonl, example e7: column 'spans' must be .*{message}.*rename the column"):
        list(load("x.jsonl"))


def test_a_span_of_a_pair_that_is_not_there():
    with pytest.raises(DataError, match=r"example a: span 'x' \(0 to 1 of the pair\) is of a text that is not there"):
        list(load([Example("a", text="Ann", spans=(Span("x", 0, 1, pair=True),))]))
    with pytest.raises(DataError, match="example a: a span is dict, no Span"):
        list(load([Example("a", text="Ann", spans=({"name": "x"},))]))


# chats


@pytest.mark.parametrize("column", ["messages", "dialog"])
def test_a_chat_has_the_spans_of_its_messages(column):
    write("x.jsonl", jsonl({column: CHAT, "topic": "bells"}))
    [example] = load("x.jsonl", text_column=None if column == "messages" else column)
    assert example.text == "system: Be brief.\nuser: Who rang the bell?\nassistant: Ann."
    assert parts(example) == [(message["role"], message["content"]) for message in CHAT]
    assert [span.turn for span in example.spans] == [0, 1, 2]
    assert example.messages[2] == Message("assistant", "Ann.") and example.columns == {"topic": "bells"}


def test_a_text_column_comes_before_messages_and_empty_chats_are_skipped():
    assert next(iter(load([{"text": "Ann rang.", "messages": CHAT}]))).text == "Ann rang."
    write("x.jsonl", jsonl({"messages": []}, {"messages": [{"role": "user", "content": " "}]}, {"messages": CHAT}))
    chats = load("x.jsonl")
    assert [example.id for example in chats] == ["2"] and [item.reason for item in chats.skipped] == ["empty text"] * 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"messages": [{"role": "user"}]}, 'message 0 has no text "content"'),
        ({"messages": [CHAT[0], {"content": "Hello"}]}, 'message 1 has no text "role"'),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, 'message 0 has no text "content"'),
        ({"messages": CHAT, "spans": SPANS}, "is a chat, whose spans are its messages: leave out column 'spans'"),
    ],
)
def test_a_wrong_chat_is_one_line_with_the_id(row, message):
    write("x.jsonl", jsonl({"id": "c3", **row}))
    with pytest.raises(DataError, match=f"x.jsonl, example c3, column 'messages'.*{message}"):
        list(load("x.jsonl"))
    write("roles.jsonl", jsonl({"id": "c4", "messages": [{"role": "user: a", "content": "Hello"}]}))
    with pytest.raises(DataError, match="example c4: 'user: a' cannot be the name of a span"):
        list(load("roles.jsonl"))
