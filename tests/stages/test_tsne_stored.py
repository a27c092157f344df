"""Layouts and experiments as results of an atlas: equal to fresh ones, continued after a stop, never mixed."""

import json
import shutil
from dataclasses import astuple, replace

import numpy as np
import pyarrow.parquet as pq
import pytest

import headatlas as ha
from headatlas import data, models, tsne
from headatlas.atlas.files import Files
from headatlas.atlas.tokens import read_rows, read_tokens
from headatlas.atlas.writer import Writer
from headatlas.data import Example
from headatlas.errors import DataError, OptionError, StoreError
from headatlas.models.encode import encode
from headatlas.plot import tsne as drawing
from headatlas.stages.tsne import stored
from headatlas.stages.tsne.reading import read, read_example
from headatlas.stages.tsne.runs import disturbed
from support.atlases import folders, stopping
from support.commands import bits, call, done

CAT = "The cat sat on the mat, and the dog lay on the floor; neither of them slept."
BELL = "Who rang the bell of the church so early in the morning, and why did nobody hear it?"
FEW = {"runs": 2, "heads": "L0H2,L1H3"}


@pytest.fixture(scope="module")
def model():
    return models.load("packaged")


@pytest.fixture(scope="module")
def collected(model, tmp_path_factory):
    """An atlas without any layouts. It is only read: copy it to change it."""
    path = tmp_path_factory.mktemp("collected") / "x.atlas"
    ha.collect.maps(model, [CAT, BELL, "Hi"], path, resolution=8)
    return path


@pytest.fixture
def atlas(collected, tmp_path):
    return ha.open(shutil.copytree(collected, tmp_path / "x.atlas"))


def same(first, second):
    """Whether two values are equal, NaN included, and of the same types."""
    if isinstance(first, dict):
        return list(first) == list(second) and all(same(first[name], second[name]) for name in first)
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second, equal_nan=first.dtype.kind == "f")
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return type(first) is type(second) and (first == second or (first != first and second != second))


# texts


def test_an_example_read_from_stored_tokens_is_what_the_tokenizer_gives(model, tmp_path):
    long = " ".join(example.text for example in data.load("sample", limit=4))
    texts = [
        Example("plain", text=CAT),
        Example("pair", text="Who rang?", pair="A man rang the bell of the church."),
        Example("long", text=long),
        Example("words", text="xylophonists don't", words=("xylophonists", "don't")),
    ]
    atlas = ha.collect.maps(model, texts, tmp_path / "x.atlas", resolution=8, max_tokens=64, overlong="window")
    expected = [window for text in texts for window in encode(model, text, max_tokens=64, overlong="window")]
    numbers = list(range(len(expected)))
    assert len(expected) > 6
    for number, encoded, row in zip(
        numbers, read_tokens(atlas, numbers), read_rows(atlas, numbers, ["window", "windows", "cut"]), strict=True
    ):
        encoded = replace(encoded, window=row["window"], windows=row["windows"], cut=row["cut"])
        assert same(astuple(encoded), astuple(expected[number]))
        assert read_example(model, atlas, number).encoded.source.text == expected[number].source.text
    assert read(atlas, 0).digest == read(model, CAT).digest
    assert [tokens.source.ids[1] for tokens in read_tokens(atlas, [1, 0])] == [
        expected[number].source.ids[1] for number in (1, 0)
    ]


def test_tokens_of_an_encoder_decoder_and_files_of_images(pairs, images):
    model = models.load(pairs.header["model"]["source"])
    example = next(iter(data.load("sample", limit=1)))
    expected = encode(model, Example("0", text=example.text), max_tokens=48)[0]
    encoded = read_tokens(pairs, [4])[0]
    assert encoded.target is not None and same(astuple(encoded)[:2], astuple(expected)[:2])
    reading = read(images, 3)
    assert (
        reading.encoded is None
        and reading.digest == read(reading.model, read_rows(images, [3], ["image"])[0]["image"]).digest
    )


# layouts


@pytest.mark.parametrize("options", [{}, {"special": False, "unit": "word"}])
def test_stored_layouts_equal_fresh_ones(atlas, model, options, monkeypatch):
    options |= {"heads": "L0,L3H10", "restarts": 3}
    fresh = tsne.heads(model, BELL, **options)
    assert same(astuple(tsne.heads(atlas, 1, **options)), astuple(fresh))
    monkeypatch.setattr(stored, "load_model", None)  # what is stored needs no model
    again = tsne.heads(str(atlas.files.url), 1, **options)
    assert same(astuple(again), astuple(fresh)) and again.rows() == fresh.rows()
    assert list(again.layouts) == [(0, head) for head in range(12)] + [(3, 10)]


def test_stored_hidden_states_equal_fresh_ones(atlas, model, monkeypatch):
    fresh = tsne.hidden(model, BELL, layers=[0, 5], special=False)
    assert same(astuple(tsne.hidden(atlas, 1, layers=[5, 0], special=False)), astuple(fresh))
    monkeypatch.setattr(stored, "load_model", None)
    assert same(astuple(tsne.hidden(atlas, 1, layers=[0, 5], special=False)), astuple(fresh))
    assert set(atlas.table("layouts")["head"].to_pylist()) == {-1}


def test_layouts_of_cross_attention_images_and_texts_without_points(pairs, images, atlas, model, tmp_path):
    crossed = ha.open(shutil.copytree(pairs.files.url, tmp_path / "pairs.atlas"))
    network = models.load(pairs.header["model"]["source"])
    fresh = tsne.heads(network, next(iter(data.load("sample", limit=1))), restarts=2, iterations=40)
    for _ in range(2):
        result = tsne.heads(crossed, 4, restarts=2, iterations=40)
        assert set(result.layouts) == set(fresh.layouts) and "cross attention" in " ".join(result.remarks)
        assert result.points[5].query.sum() < len(result.points[5].text)
    pictured = ha.open(shutil.copytree(images.files.url, tmp_path / "images.atlas"))
    picture = read_rows(images, [3], ["image"])[0]["image"]
    network = models.load(images.header["model"]["source"], modality="image")
    fresh = tsne.heads(network, picture, heads="L1", restarts=2, iterations=40)
    assert same(astuple(tsne.heads(pictured, 3, heads="L1", restarts=2, iterations=40)), astuple(fresh))
    empty = ha.collect.maps(model, ["\u200b"], tmp_path / "empty.atlas", resolution=8)
    fresh = tsne.heads(model, "\u200b", heads="L0·H0", restarts=2, special=False)
    for _ in range(2):
        assert same(
            astuple(tsne.heads(empty, 0, heads="L0·H0", restarts=2, special=False)), astuple(fresh)
        )  # fmt: skip


def test_results_have_names_and_other_options_replace_them(atlas, capfd):
    tsne.heads(atlas, 0, heads="L0H2", restarts=1)
    tsne.heads(atlas, 0, heads="L0H2", restarts=2, name="more")
    tsne.hidden(atlas, 0, layers=[1])
    assert list(atlas.results("tsne")) == ["heads-0", "more", "hidden-0"]
    recipe = atlas.results("tsne")["more"]["recipe"]["options"]
    assert (recipe["heads"], recipe["restarts"], recipe["example"], recipe["unit"]) == ("L0·H2", 2, 0, "token")
    shown = str(ha.open(atlas.files.url))
    assert "heads-0      1 head on example 0, least KL" in shown and "(L0·H2)" in shown
    assert "hidden-0     hidden states of 1 layer on example 0" in shown
    tsne.heads(atlas, 0, heads=[(0, 2)], restarts=2)
    assert "heads-0: replaced" in capfd.readouterr().err and atlas.latest("tsne") == "heads-0"
    rows = atlas.table("layout_heads", "heads-0").to_pylist()
    assert len(rows) == 1 and rows[0]["kl"] == min(rows[0]["kl_restarts"]) and len(rows[0]["kl_restarts"]) == 2
    assert "tsne      – missing: headatlas tsne heads" in str(ha.collect.maps("packaged", [CAT], "memory://none.atlas"))


# experiments


def test_an_experiment_has_a_row_for_every_run(atlas):
    table = tsne.compare(atlas, examples=[0, 1], **FEW | {"runs": 4})
    assert table.num_rows == 2 * 4 * (2 + 2)
    rows = tsne.compared(table).to_pylist()
    assert [(row["layer"], row["kind"]) for row in rows] == [(0, "head"), (0, "standard"), (1, "head"), (1, "standard")]
    kl = [row["kl"] for row in table.to_pylist() if row["layer"] == 1 and row["head"] == 3]
    assert rows[2]["kl_median"] == pytest.approx(np.median(kl))
    assert drawing.compare(table).axes
    assert "compare      2 texts, 4 runs, 32 layouts" in str(atlas)
    names = {path.name for folder in folders(atlas, "tsne", "compare") for path in folder.rglob("*")}
    assert names == {"tables.json", "layout_runs.parquet"}


def test_disturbance_replaces_a_share_of_the_tokens_by_others_of_the_text(atlas, model):
    long = read(model, next(iter(data.load("sample", limit=1))))
    other = disturbed(long, 0.05, (0, 1))
    ids, before = other.encoded.source.ids, long.encoded.source.ids
    plain = ~long.encoded.source.special
    assert 0 < (ids != before).sum() <= round(0.05 * plain.sum())
    assert set(ids) <= set(before) and (ids[~plain] == before[~plain]).all()
    assert not np.array_equal(long.maps[0], other.maps[0])
    table = tsne.robustness(atlas, examples=[0], repeats=3, heads="L0H2")
    assert table.num_rows == 2 * (3 * 8 + 3 * 8)
    row = tsne.robust(table).to_pylist()[0]
    part = [row["kl"] for row in table.to_pylist() if row["disturbed"] and row["head"] == 2]
    assert row["mean_with"] == pytest.approx(np.mean(part)) and row["deviation_with"] == pytest.approx(np.std(part))
    assert atlas.results("tsne")["robustness"]["recipe"]["options"]["repeats"] == 3
    assert drawing.robustness(table).axes


def test_numbers_depend_on_the_position_in_the_list(atlas, model, tmp_path):
    """Text n of a list uses the random numbers of position n, as before there were atlases."""
    single = tsne.compare(ha.collect.maps(model, [BELL], tmp_path / "bell.atlas", resolution=8), **FEW)
    assert tsne.compare(atlas, examples=[1], **FEW)["kl"] == single["kl"]
    both = tsne.compare(atlas, examples=[1, 0], **FEW).to_pylist()
    assert [row["kl"] for row in both if row["example"] == 1] == single["kl"].to_pylist()
    assert [row["example"] for row in both] == [1] * 8 + [0] * 8
    reordered = tsne.compare(atlas, examples=[0, 1], **FEW).to_pylist()
    assert [row["kl"] for row in reordered if row["example"] == 1] != single["kl"].to_pylist()


def test_examples_with_the_same_id_stay_separate(model, tmp_path):
    options = FEW | {"runs": 3}
    twins = [Example("twin", text=CAT), Example("twin", text=BELL)]
    distinct = [Example("a", text=CAT), Example("b", text=BELL)]
    tables = [
        tsne.compare(ha.collect.maps(model, texts, tmp_path / f"{number}.atlas", resolution=8), **options)
        for number, texts in enumerate((twins, distinct))
    ]
    assert set(tables[0]["id"].to_pylist()) == {"twin"} and set(tables[0]["example"].to_pylist()) == {0, 1}
    assert tables[0].drop_columns("id") == tables[1].drop_columns("id")
    assert tsne.compared(tables[0]) == tsne.compared(tables[1])


# stops


RUNS = {  # a call, and how many manifests it writes
    "heads": (lambda atlas: tsne.heads(atlas, 1, heads="L0H2,L1H3,L2", restarts=2), 15),
    "hidden": (lambda atlas: tsne.hidden(atlas, 1, layers=[0, 3]), 3),
    "compare": (lambda atlas: tsne.compare(atlas, examples=[1, 0], **FEW), 3),
    "robustness": (lambda atlas: tsne.robustness(atlas, examples=[1, 0], repeats=21, heads="L0H2"), 5),
}


@pytest.fixture(scope="module")
def undisturbed(collected, tmp_path_factory):
    """The bits of an atlas and the returned value after an undisturbed run of each kind."""
    results = {}
    for kind, (run, _) in RUNS.items():
        path = shutil.copytree(collected, tmp_path_factory.mktemp(kind) / "x.atlas")
        result = run(ha.open(path))
        results[kind] = bits(path), result
    return results


def equal(first, second):
    return first == second if hasattr(first, "column_names") else same(astuple(first), astuple(second))


@pytest.mark.parametrize(("kind", "at"), [(kind, at) for kind, (_, count) in RUNS.items() for at in {1, 2, count}])
def test_a_stopped_run_continues_to_the_same_bits(atlas, undisturbed, monkeypatch, kind, at):
    run, path = RUNS[kind][0], atlas.files.url
    with stopping(monkeypatch, RuntimeError("stopped"), at), pytest.raises(RuntimeError, match="stopped"):
        run(atlas)
    assert not ha.open(path).results("tsne")
    assert equal(run(ha.open(path)), undisturbed[kind][1])
    assert bits(path) == undisturbed[kind][0]


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize(
    ("where", "after"), [("delete_manifest", 0), ("delete_manifest", 1), ("remove", 0), ("remove", 3)]
)
def test_a_stop_while_parts_are_deleted(atlas, undisturbed, monkeypatch, kind, where, after):
    """Tables are written, parts are not all deleted: nothing is recomputed."""
    run, path, owner = RUNS[kind][0], atlas.files.url, Writer if where == "delete_manifest" else Files
    delete, calls = getattr(owner, where), []

    def failing(self, name):
        calls.append(name)
        if len(calls) > after:
            raise RuntimeError("stopped")
        delete(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(owner, where, failing)
        with pytest.raises(RuntimeError, match="stopped"):
            run(atlas)
    monkeypatch.setattr("headatlas.atlas.engine.run_blocks", None)
    assert equal(run(ha.open(path)), undisturbed[kind][1])
    assert bits(path) == undisturbed[kind][0]


def test_parts_and_tables_that_are_damaged_are_recomputed(atlas, undisturbed, monkeypatch, capfd):
    run, path = RUNS["compare"][0], atlas.files.url
    with stopping(monkeypatch, RuntimeError, 3), pytest.raises(RuntimeError):
        run(atlas)
    parts = sorted(folders(ha.open(path), "tsne", "compare")[2].glob("part-*"))
    parts[1].write_bytes(b"half")
    assert len(parts) == 2
    run(ha.open(path))
    assert "part-000001.parquet does not match its checksum: recomputed" in " ".join(capfd.readouterr().err.split())
    assert bits(path) == undisturbed["compare"][0]
    table = folders(ha.open(path), "tsne", "compare")[2] / "layout_runs.parquet"
    table.write_bytes(table.read_bytes()[:-8])
    assert equal(run(ha.open(path)), undisturbed["compare"][1])
    assert bits(path) == undisturbed["compare"][0]


def test_bits_do_not_depend_on_the_number_of_threads(atlas, undisturbed, monkeypatch):
    monkeypatch.setattr("headatlas.parallel.cores", lambda: 1)
    for kind in ("heads", "hidden"):
        assert equal(RUNS[kind][0](atlas), undisturbed[kind][1])


# command line and mistakes


def test_commands_on_an_atlas(atlas, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        text = done("tsne", "heads", "x.atlas", 1, "--heads", "L0", "--restarts", 2, "-o", "all.parquet")
        assert "kl_median" in text
    positions = pq.read_table("all.parquet")
    assert positions["x"].to_pylist() == ha.open("x.atlas").table("layouts")["x"].to_pylist()
    assert json.loads(positions.schema.metadata[b"headatlas"])["restarts"] == 2
    assert "perplexity" in done("tsne", "hidden", "x.atlas", 1)
    text = done("tsne", "compare", "x.atlas", "--examples", "0,1", "--runs", 2, "--heads", "L0H2", "--figure", "c.png")
    assert "kl_median" in text and (tmp_path / "c.png").stat().st_size > 5_000
    text = done(
        "tsne", "robustness", "x.atlas", "--examples", 1, "--repeats", 2, "--heads", "L0H2", "--figure", "r.svg"
    )
    assert "mean_growth" in text and "Under disturbance" in (tmp_path / "r.svg").read_text()
    shown = done("info", "x.atlas")
    for name in ("heads-1", "hidden-1", "compare", "robustness"):
        assert name in shown
    assert "tables       layouts, layout_heads, layout_runs" in shown
    assert "disturbed" in done("table", "x.atlas", "layout_runs", "--of", "compare")
    code, _, err = call("table", "x.atlas", "layouts")
    assert (
        code == 1
        and "robustness of x.atlas has no table layouts. Choose a result that has it: heads-1, hidden-1" in err
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("heads", "x.atlas", "9"), "the examples of x.atlas are 0 to 2"),
        (("heads", "x.atlas", "0", "--heads", "L77"), "it has 6 layers of 12 heads"),
        (("heads", "x.atlas", "0", "--restarts", "0"), "at least 1 restart"),
        (("hidden", "x.atlas", "0", "--perplexity", "0"), "both are at least 1"),
        (("compare", "x.atlas", "--optimizer", "magic"), "kernel or opentsne"),
        (("compare", "x.atlas", "--examples", "0,x"), "write numbers with commas"),
        (("compare", "x.atlas", "--examples", ","), "name at least one"),
        (("compare", "x.atlas", "--examples", "0,9"), "0 to 2"),
        (("compare", "x.atlas", "--examples", "1,0,1"), "example 1 is given 2 times"),
        (("compare", "x.atlas", "--runs", "1"), "at least 2"),
        (("compare", "x.atlas", "--figure", "x.doc"), "choose a name that ends in"),
        (("compare", "x.atlas"), "example 2 (2) has 1 token besides special ones"),
        (("compare", "packaged"), "there is no atlas at packaged. Make one: headatlas collect"),
        (("robustness", "x.atlas", "--share", "2"), "between 0 and 1"),
        (("robustness", "x.atlas", "--heads", "H3"), "write all, a layer such as L3"),
    ],
)
def test_mistakes_give_one_line_and_leave_no_trace(atlas, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    before = bits(atlas.files.url)
    code, _, err = call("tsne", *arguments)
    assert code == 1 and words in " ".join(err.split()) and len(err.strip().splitlines()) == 1
    assert bits(atlas.files.url) == before


def test_mistakes_in_python(atlas, images, model):
    with pytest.raises(OptionError, match="only layouts of the examples of an atlas are stored"):
        tsne.heads(model, CAT, name="cat")
    with pytest.raises(OptionError, match="only an atlas has numbered examples"):
        tsne.heads(model, 2)
    with pytest.raises(OptionError, match="layer 9: hidden states are known of layers 0 to 5"):
        tsne.hidden(atlas, 0, layers=[9])
    with pytest.raises(OptionError, match="these experiments are for texts"):
        tsne.compare(images)
    with pytest.raises(DataError, match="besides special ones"):
        tsne.robustness(atlas, examples=[2])
    with pytest.raises(StoreError, match="no table layouts yet"):
        atlas.table("layouts")
