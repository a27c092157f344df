"""Comparisons as the page gets them: numbers against tables, maps against arrays, sentences, exports."""

import numpy as np
import pytest

from headatlas.statistics import statistic
from headatlas.web import export_items, export_size
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.single import make
from headatlas.web.views.snapshot import Snapshot
from headatlas.wording import amount
from support import served
from support.compared import STEPS
from support.comparisons import CHANGED, TEXTS
from support.served import ask, attention, error

NAMES = ("tuned", "series", "shape")


@pytest.fixture(scope="module")
def client(compared):
    return served.client(compared)


def rows(atlas, table, of, **values):
    """The rows of a table in which some columns have these values; NaN as None."""
    listed = atlas.table(table, of).to_pylist()
    chosen = [row for row in listed if all(row[name] == value for name, value in values.items())]
    return [{name: None if value != value else value for name, value in row.items()} for row in chosen]


def shared(payload, row):
    """The fields of a payload that a row of a table has, and those of the row."""
    names = payload.keys() & row.keys()
    return {name: payload[name] for name in names}, {name: row[name] for name in names}


def step_of(client, name, step=1):
    return ask(client, ENDPOINTS.compare_step, comparison=name, step=step).json()


def test_all_comparisons_are_listed(client, compared):
    payload = ask(client, ENDPOINTS.compare).json()
    assert [card["name"] for card in payload["comparisons"]] == list(compared.results("compare")) == list(NAMES)
    assert payload["comparisons"][0]["line"].startswith("compared → tuned, on 24 examples, beside two seeds")
    assert payload["command"] == f"headatlas compare {compared.files.url} OTHER.atlas"


def test_models_and_series_are_those_of_the_tables(client, compared):
    for name in NAMES:
        payload = ask(client, ENDPOINTS.comparison, comparison=name).json()
        facts = compared.facts("compare", name)
        listed = rows(compared, "compare_models", name)
        assert len(payload["models"]) == len(listed)
        for model, row in zip(payload["models"], listed, strict=True):
            mine, stored = shared(model, row)
            assert mine == stored and {"role", "label", "heads"} <= mine.keys()
        names = compared.table("compare_stats", name)["statistic"].to_pylist()
        assert [card["name"] for card in payload["statistics"]] == names[: len(set(names))]
        assert payload["match"] == facts["match"] and payload["clustering"] == "kmeans"
        assert (payload["examples"], payload["groups"]) == (TEXTS, TEXTS)
        assert payload["across"] == compared.array("compare_mean", name).shape[2]


def test_a_series_has_the_jobs_of_heads(client, compared):
    payload = ask(client, ENDPOINTS.comparison, comparison="series").json()
    listed = [row for row in rows(compared, "compare_series", "series") if row["statistic"] is not None]
    assert [model["label"] for model in payload["models"]] == STEPS and listed
    for job, row in zip(payload["series"], listed, strict=True):
        assert job == row
    assert payload["findings"][0].startswith("1 of 8 heads takes up") and "from 1000 on" in payload["findings"][0]
    assert ask(client, ENDPOINTS.comparison, comparison="tuned").json()["series"] == []


@pytest.mark.parametrize(("name", "steps"), [("tuned", 1), ("series", 3), ("shape", 1)])
def test_numbers_of_a_step_are_those_of_the_tables(client, compared, name, steps):
    for step in range(1, steps + 1):
        payload = step_of(client, name, step)
        for part in ("heads", "layers", "patterns", "matches"):
            table = f"compare_{part}"
            listed = rows(compared, table, name, step=step) if compared.has_table(table, name) else []
            assert len(payload[part]) == len(listed)
            for values, row in zip(payload[part], listed, strict=True):
                mine, stored = shared(values, row)
                assert mine == stored and len(mine) >= len(row) - 1  # but the step
        assert bool(payload["matches"]) == (name == "shape")


def test_differences_are_in_the_order_of_statistics(client, compared):
    names = [card["name"] for card in ask(client, ENDPOINTS.comparison, comparison="tuned").json()["statistics"]]
    for head in step_of(client, "tuned")["heads"]:
        stored = rows(compared, "compare_stats", "tuned", layer=head["layer"], head=head["head"])
        by_name = {row["statistic"]: row["difference"] for row in stored}
        assert head["differences"] == [by_name[name] for name in names]


def test_statistics_of_a_head_come_with_the_most_telling_first(client, compared):
    layer, head = CHANGED
    payload = ask(client, ENDPOINTS.compare_head, comparison="series", layer=layer, head=head).json()
    assert [entry["step"] for entry in payload["steps"]] == [1, 2, 3]
    for entry in payload["steps"]:
        listed = rows(compared, "compare_stats", "series", step=entry["step"], layer=layer, head=head)
        stored = {row["statistic"]: row for row in listed}
        assert {row["statistic"] for row in entry["statistics"]} == set(stored)
        for row in entry["statistics"]:
            mine, expected = shared(row, stored[row["statistic"]])
            assert mine == expected and len(mine) == len(row)
        telling = [row for row in entry["statistics"] if statistic(row["statistic"]).high is not None]
        assert entry["statistics"][: len(telling)] == telling
        sizes = [abs(row["difference"] or 0) / statistic(row["statistic"]).least for row in telling]
        assert sizes == sorted(sizes, reverse=True)
    (itself,) = rows(compared, "compare_stats", "series", step=3, layer=layer, head=head, statistic="self")
    change = f"attention to the token itself from {amount(itself['before'])} to {amount(itself['after'])} "
    assert change in payload["steps"][-1]["sentence"]
    assert (
        "no head 9" in error(ask(client, ENDPOINTS.compare_head, comparison="series", layer=0, head=9), 404)["message"]
    )


def test_the_sentence_that_leads(client):
    tuned = step_of(client, "tuned")
    assert tuned["sentence"].startswith(
        "1 of 8 heads changed more than between seeds, all in layer 1; most of all L1·H2, shift 0."
    )
    assert not any(line.startswith("1 of 8 heads changed") for line in tuned["findings"])  # it is not said twice
    assert any(line.startswith("L1·H2, shift") for line in tuned["findings"])
    assert step_of(client, "series", 2)["sentence"].startswith("At 1000, L1·H2 moved most of 8 heads: shift 0.2")
    assert step_of(client, "shape")["findings"][0].startswith("Heads are matched by what they do: 6 of 8")


def test_maps_are_those_of_the_arrays(client, compared):
    for name in NAMES:
        models = 1 + len(compared.facts("compare", name)["steps"])
        mean = compared.read("compare_mean", of=name)[:models].astype(np.float32)
        for model in range(models):
            sent = attention(ask(client, ENDPOINTS.compare_means, comparison=name, model=model))
            assert np.abs(sent.reshape(mean.shape[1:]) - np.nan_to_num(mean[model])).max() < 1e-4
        pooled = compared.read("compare_pooled", of=name)[:, :models].astype(np.float32)
        for place, layer in np.ndindex(len(pooled), pooled.shape[2]):
            sent = attention(ask(client, ENDPOINTS.compare_maps, comparison=name, place=int(place), layer=int(layer)))
            expected = np.nan_to_num(pooled[place, :, layer])
            assert np.abs(sent.reshape(expected.shape) - expected).max() < 1e-4


def test_kept_examples_have_their_tokens(client, compared):
    payload = ask(client, ENDPOINTS.compare_examples, comparison="tuned").json()["examples"]
    listed = rows(compared, "compare_examples", "tuned")
    assert len(payload) == len(listed) == 6
    for kept, row in zip(payload, listed, strict=True):
        assert (kept["place"], kept["example"], kept["id"]) == (row["place"], row["example"], row["id"])
        assert kept["tokens"] == row["tokens"] and kept["tokens"][0] == "[CLS]" and kept["shift"] == row["shift"]


@pytest.mark.parametrize(
    ("endpoint", "values", "message"),
    [
        ("comparison", {"comparison": "other"}, "no comparison called 'other'"),
        ("compare_step", {"comparison": "tuned", "step": 2}, "they go from 1 to 1"),
        ("compare_step", {"comparison": "tuned", "step": 0}, "no step 0"),
        ("compare_means", {"comparison": "tuned", "model": 2}, "they go from 0 to 1"),  # seeds are numbers only
        ("compare_maps", {"comparison": "tuned", "place": 6, "layer": 0}, "they go from 0 to 5"),
        ("compare_maps", {"comparison": "tuned", "place": 0, "layer": 2}, "no layer 2"),
    ],
)
def test_what_does_not_exist_is_explained(client, endpoint, values, message):
    assert message in error(ask(client, getattr(ENDPOINTS, endpoint), **values), 404)["message"]


def test_an_atlas_without_comparisons_names_the_command():
    client = served.client(served.bare())
    payload = ask(client, ENDPOINTS.compare).json()
    assert payload["comparisons"] == [] and payload["command"].startswith("headatlas compare ")
    assert "compare" in error(ask(client, ENDPOINTS.comparison, comparison="x"), 404)["command"]


def test_an_export_has_what_the_page_shows(compared, tmp_path):
    snapshot = Snapshot(compared)
    items = {item.path: item for item in export_items.stored(snapshot, [])}
    for endpoint, values in (
        (ENDPOINTS.compare, {}), (ENDPOINTS.comparison, {"comparison": "shape"}),
        (ENDPOINTS.compare_examples, {"comparison": "tuned"}),
        (ENDPOINTS.compare_step, {"comparison": "series", "step": 3}),
        (ENDPOINTS.compare_head, {"comparison": "series", "layer": 1, "head": 3}),
        (ENDPOINTS.compare_means, {"comparison": "series", "model": 3}),
        (ENDPOINTS.compare_maps, {"comparison": "shape", "place": 2, "layer": 2}),
    ):  # fmt: skip
        assert endpoint.path(**values) in items
    written = {path: item.read(snapshot) for path, item in items.items() if "/compare" in path}
    sizes = [len(value if isinstance(value, bytes) else value.model_dump_json()) for value in written.values()]
    assert 0.5 < export_size.comparison_bytes(snapshot) / sum(sizes) < 2


def test_a_single_file_of_the_overview_has_comparisons_where_they_are_small(compared):
    files = make.contents(compared).files
    for endpoint, values in (
        (ENDPOINTS.compare, {}), (ENDPOINTS.comparison, {"comparison": "series"}),
        (ENDPOINTS.compare_means, {"comparison": "series", "model": 2}),
        (ENDPOINTS.compare_maps, {"comparison": "tuned", "place": 0, "layer": 1}),
    ):  # fmt: skip
        assert endpoint.path(**values) in files
    assert ENDPOINTS.comparison.path(comparison="series") not in make.contents(compared, head=(0, 0)).files
