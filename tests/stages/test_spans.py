"""Attention between spans: equal to slow loops over the model's eager maps, and without any effect on other numbers."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModel

import headatlas as ha
from headatlas.data import Example, Message, Span
from headatlas.errors import DataError
from headatlas.models.batch import text_batch
from headatlas.models.capture import all_maps
from headatlas.models.encode import encode
from headatlas.models.shuffle import shuffled
from headatlas.null.block import NullModels, Task, null_maps
from headatlas.stages.collect.spans import between, span_means
from headatlas.web.api.endpoints import ENDPOINTS
from support import reference, served, small_maps
from support.served import ask

KINDS = ["question", "passage", "answer"]
PAIRS = [f"span:{first}>{second}" for first in KINDS for second in KINDS]


@pytest.fixture(scope="module")
def packaged(packaged_model):
    return packaged_model


@pytest.fixture(scope="module")
def questions(packaged):
    """Questions, some without an answer."""
    return ha.collect.maps(packaged, ha.data.load("sample:questions", limit=24), "memory://spans.atlas")


def names_of(atlas):
    return list(atlas.array("stats").attrs["stats"])


# exactness


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 30), m=st.integers(1, 30), kinds=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_sums_equal_slow_loops_on_any_spans(n, m, kinds, seed):
    rng = np.random.default_rng(seed)
    attention = small_maps.softmax(rng.standard_normal((2, n, m)).astype(np.float32))
    queries, keys = (np.repeat(rng.integers(-1, kinds, k), rng.integers(1, 4, k))[:k] for k in (n, m))
    fast = span_means(attention.astype(np.float32), between(queries, keys, kinds))
    names = [str(kind) for kind in range(kinds)]
    for h in range(2):
        slow = reference.spans(attention[h], [str(kind) for kind in queries], [str(kind) for kind in keys], names)
        np.testing.assert_allclose(fast[h], list(slow.values()), rtol=1e-5, atol=1e-6)


def assert_eager(atlas, model, eager, examples, kinds, **options):
    """Every map of an atlas against slow loops over the eager attention of an untouched copy of the model."""
    stats, names = atlas.read("stats"), names_of(atlas)
    pairs = [f"span:{first}>{second}" for first in kinds for second in kinds]
    assert names[-len(pairs) :] == pairs and atlas.collection["spans"] == kinds
    windows = [window for example in examples for window in encode(model, example, **options)]
    assert len(windows) == len(stats)
    for number, window in enumerate(windows):
        batch = text_batch(model, [window])
        with torch.inference_mode():
            maps = all_maps(eager, batch.inputs)
        for layer, weights in zip(model.layers, maps, strict=True):
            queries = window.source if layer.kind == "encoder" else window.target or window.source
            keys = window.source if layer.kind != "decoder" else window.target or window.source
            for head in range(layer.heads):
                exact = weights[0, head].double().numpy()
                slow = reference.spans(exact, queries.span, keys.span, kinds)
                values = stats[number, layer.index, head, -len(pairs) :]
                np.testing.assert_allclose(values, list(slow.values()), rtol=2e-5, atol=2e-6)


def test_every_head_equals_slow_loops_over_eager_maps(packaged, questions):
    examples = list(ha.data.load("sample:questions", limit=24))
    assert {example.columns["answerable"] for example in examples} == {True, False}
    eager = AutoModel.from_pretrained(packaged.source, attn_implementation="eager").eval()
    assert_eager(questions, packaged, eager, examples, KINDS)
    values = questions.read("stats")[..., -9:]
    unanswerable = np.array([not example.columns["answerable"] for example in examples])
    assert np.isnan(values[unanswerable][..., [2, 5, 6, 7, 8]]).all()  # to the answer, and from it
    assert np.isfinite(values[unanswerable][..., [0, 1, 3, 4]]).all() and np.isfinite(values[~unanswerable]).all()


def test_windows_of_a_long_passage_have_their_own_spans(packaged, tmp_path):
    examples = list(ha.data.load("sample:questions", limit=4))
    window = ha.data.Window(40, 10)
    dataset = ha.data.Dataset("long", ha.data.load(examples)._source, window=window)
    atlas = ha.collect.maps(packaged, dataset, tmp_path / "x.atlas", resolution=4, qk_tokens=0)
    assert atlas.collection["counts"]["windows"] > 8 and atlas.collection["counts"]["lost_spans"] == 0
    eager = AutoModel.from_pretrained(packaged.source, attn_implementation="eager").eval()
    assert_eager(atlas, packaged, eager, examples, KINDS, window=window)
    to_answer = atlas.read("stats")[:, 0, 0, names_of(atlas).index("span:question>answer")]
    assert np.isnan(to_answer).any() and np.isfinite(to_answer).any()


@pytest.mark.parametrize("family", ["T5", "BART", "GPT-2"])
def test_other_families(family, small, tmp_path):
    """In cross attention queries are of the target, keys of the source; causal layers see no later span."""
    loaded = small(family)
    spans = (Span("question", 0, 9), Span("passage", 0, 6, pair=True), Span("answer", 6, 34, pair=True))
    alone = (Span("passage", 0, 10), Span("answer", 11, 25))
    examples = [
        Example("a", "Who rang?", "A man rang the bell of the church.", spans=spans),
        Example("b", "The keeper rang the bell.", spans=alone),
    ]
    atlas = ha.collect.maps(loaded.model, examples, tmp_path / "x.atlas", resolution=4)
    assert_eager(atlas, loaded.model, loaded.eager, examples, KINDS)
    stats, names = atlas.read("stats"), names_of(atlas)
    if family == "GPT-2":
        assert (stats[0, :, :, names.index("span:question>answer")] == 0).all()
    else:
        cross = next(layer.index for layer in loaded.model.layers if layer.kind == "cross")
        assert np.isfinite(stats[0, cross, 0, names.index("span:answer>question")])
        assert np.isnan(stats[0, cross, 0, names.index("span:question>answer")])


# what is stored, and what is not touched


def test_tokens_say_their_span(questions):
    tokens = questions.table("tokens").to_pandas()
    assert list(tokens.columns)[-1] == "span" and "turn" not in tokens
    assert tokens[tokens.special].span.isna().all()
    inner = tokens[~tokens.special]
    assert (inner[inner.segment == 0].span == "question").all()
    assert set(inner[inner.segment == 1].span) == {"passage", "answer"}
    examples = questions.table("examples").to_pandas()
    for number, row in examples[examples.answerable].head(5).iterrows():
        mine = inner[(inner.example == number) & (inner.span == "answer")]
        text = row.pair[mine.start.min() : mine.stop.max()]
        assert row.answer in text and len(text) <= len(row.answer) + 3


def test_data_without_spans_have_no_trace_of_them(packaged):
    atlas = ha.collect.maps(packaged, ["The cat sat."], "memory://plain.atlas", resolution=4)
    assert not any(name.startswith("span:") for name in names_of(atlas))
    assert "span" not in atlas.table("tokens").column_names
    assert "spans" not in atlas.collection and "lost_spans" not in atlas.collection["counts"]
    assert "span" not in str(atlas)


def test_spans_change_no_other_number(packaged):
    """Pooled maps, statistics, vectors of both encoders, clusters and their names are those of the bare texts."""
    marked = ha.data.load("sample:questions", limit=12)
    bare = [Example(example.id, example.text, example.pair, columns=example.columns) for example in marked]
    atlases = []
    for number, data in enumerate((list(marked), bare)):
        atlas = ha.collect.maps(packaged, data, f"memory://same{number}.atlas", resolution=16)
        for encoder in ("profile", "stats"):
            ha.features.image(atlas, encoder)
            ha.cluster.kmeans(atlas, k=5, of=encoder, name=encoder)
            ha.correlate.clusters(atlas, of=encoder, permutations=9)
        atlases.append(atlas)
    first, second = atlases
    assert names_of(first) == names_of(second) + PAIRS
    assert np.array_equal(first.read("pooled"), second.read("pooled"))
    assert np.array_equal(first.read("stats")[..., : len(names_of(second))], second.read("stats"), equal_nan=True)
    for of in ("profile", "stats"):
        for name in ("features", "labels"):
            assert np.array_equal(first.read(name, slice(None), of), second.read(name, slice(None), of))
        columns = ["cluster", "name", "phrases", "distinction", "maps", "heads"]
        tables = [atlas.table("clusters", of).select(columns) for atlas in atlases]
        assert tables[0].equals(tables[1])
    assert not second.has_table("span_changes", "profile")


def test_a_span_that_is_cut_off_is_counted(packaged, tmp_path, capfd):
    text = "one two three four five six seven eight nine ten eleven twelve"
    spans = (Span("early", 0, 7), Span("late", 40, 48), Span("last", 49, len(text)))
    atlas = ha.collect.maps(packaged, [Example("a", text, spans=spans)], tmp_path / "x.atlas", max_tokens=8)
    assert atlas.collection["counts"]["lost_spans"] == 2
    assert "lost to truncation: 2 spans" in capfd.readouterr().err
    assert "2 spans lost" in str(atlas) and "spans: early, late, and last" in str(atlas)


def test_a_token_is_of_the_span_that_has_most_of_it(packaged):
    example = Example("a", "in the 1990s", spans=(Span("date", 7, 11), Span("rest", 11, 12)))
    [encoded] = encode(packaged, example)
    tokens = dict(zip(encoded.source.text, encoded.source.span, strict=True))
    assert tokens == {"[CLS]": None, "in": None, "the": None, "1990s": "date", "[SEP]": None}


def test_too_many_kinds_are_refused_before_anything_is_written(packaged, tmp_path):
    text = "a b c d e f g h"
    examples = [Example(str(i), text, spans=(Span(f"kind {text[i]}", i, i + 1),)) for i in range(0, 14, 2)]
    with pytest.raises(DataError, match=r"memory has more than 6 kinds of spans: kind a, .*, kind g, … .*same name"):
        ha.collect.maps(packaged, examples, tmp_path / "x.atlas")
    assert not (tmp_path / "x.atlas").exists()
    ha.collect.maps(packaged, examples[:6], tmp_path / "x.atlas", resolution=4)


# shuffled tokens, null models, custom texts


def test_shuffled_tokens_have_no_spans(packaged, questions):
    dataset = ha.data.load("sample:questions", limit=4)
    atlas = ha.collect.maps(packaged, dataset.shuffled(), "memory://shuffled_spans.atlas", resolution=4)
    assert "span" not in atlas.table("tokens").column_names and "spans" not in atlas.collection
    [encoded] = encode(packaged, next(iter(dataset)))
    assert shuffled(encoded, 0, 0).source.span is None
    stats = {
        kind: null_maps(questions, NullModels(packaged, 0), Task(kind, [0, 1]))[1] for kind in ("shuffled", "permuted")
    }
    assert stats["shuffled"].shape == stats["permuted"].shape == (2, 6, 12, len(names_of(questions)))
    assert np.isnan(stats["shuffled"][..., -9:]).all() and np.isfinite(stats["permuted"][0, ..., -9:]).all()


def test_custom_texts_have_no_spans(packaged, questions):
    client = served.client(questions, model=packaged)
    key = client.post(f"/{ENDPOINTS.custom_text.path()}", json={"text": "Who rang the bell?"}).json()["key"]
    sent = ask(client, ENDPOINTS.custom_statistics, key=key).json()
    values = np.array(sent["values"], dtype=np.float64)
    assert sent["names"][-9:] == PAIRS and np.isnan(values[..., -9:]).all() and np.isfinite(values[..., 3]).all()


# chats

TEMPLATE = (
    "{% for message in messages %}{{ '[CLS]' + message['role'] + '\\n' + message['content'] | trim + '[SEP]' }}"
    "{% endfor %}"
)
CHAT = (Message("system", "Be brief."), Message("user", " user "), Message("assistant", "Ann rang."))


@pytest.fixture
def templated(packaged, monkeypatch):
    """The packaged model, as if its tokenizer had a chat template."""
    monkeypatch.setattr(packaged.tokenizer, "chat_template", TEMPLATE)
    return packaged


def chat_example():
    [example] = ha.data.load([{"messages": [{"role": m.role, "content": m.content} for m in CHAT]}])
    return example


def test_a_chat_is_read_by_the_template_of_the_tokenizer(templated):
    atlas = ha.collect.maps(templated, [chat_example()], "memory://chat.atlas", resolution=4)
    assert atlas.table("examples")["text"].to_pylist() == [
        "[CLS]system\nBe brief.[SEP][CLS]user\nuser[SEP][CLS]assistant\nAnn rang.[SEP]"
    ]
    tokens = atlas.table("tokens").to_pandas()
    assert list(tokens.text[tokens.special]) == ["[CLS]", "[SEP]"] * 3  # none but those of the template
    spans = [tuple(row) for row in tokens[tokens.span.notna()][["text", "span", "turn"]].to_numpy()]
    words = ["be", "brief", ".", "user", "ann", "rang", "."]
    roles, turns = ["system"] * 3 + ["user"] + ["assistant"] * 3, [0] * 3 + [1] + [2] * 3
    assert spans == list(zip(words, roles, turns, strict=True))
    assert (tokens.turn[tokens.span.isna()] == -1).all()
    eager = AutoModel.from_pretrained(templated.source, attn_implementation="eager").eval()
    assert_eager(atlas, templated, eager, [chat_example()], ["system", "user", "assistant"])


def test_without_a_template_a_chat_is_plain_text(packaged):
    atlas = ha.collect.maps(packaged, [chat_example()], "memory://plain_chat.atlas", resolution=4)
    assert atlas.table("examples")["text"].to_pylist() == ["system: Be brief.\nuser:  user \nassistant: Ann rang."]
    tokens = atlas.table("tokens").to_pandas()
    assert tokens.text[tokens.span == "user"].tolist() == ["user"] and tokens.special.sum() == 2


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ raise_exception('no system role') }}", r"refuses it \(no system role\)"),
        ("{% for m in messages %}{{ m['content'] | upper }}|{% endfor %}", "changes message 0"),
        ("{{ messages[0]['content'] }}", "leaves out or repeats a message"),
    ],
)
def test_a_template_that_hides_messages_is_one_line(templated, monkeypatch, tmp_path, template, message):
    monkeypatch.setattr(templated.tokenizer, "chat_template", template)
    example = chat_example()
    with pytest.raises(DataError, match=f"example 0: the model's chat template {message}.*column `spans`"):
        encode(templated, example)


def test_the_chat_template_of_a_real_model(real):
    model = ha.models.load(real("smollm2"))
    [encoded] = encode(model, chat_example())
    source = encoded.source
    said = {
        role: "".join(piece for piece, span in zip(source.text, source.span, strict=True) if span == role).strip()
        for role in ("system", "user", "assistant")
    }
    assert said == {message.role: message.content.strip() for message in CHAT}
    assert [piece for piece, special in zip(source.text, source.special, strict=True) if special] == [
        "<|im_start|>", "<|im_end|>",
    ] * 3  # fmt: skip
    assert [span for span, special in zip(source.span, source.special, strict=True) if special] == [None] * 6
