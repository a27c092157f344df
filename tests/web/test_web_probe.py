"""What heads look at and write as the page gets it: numbers against tables, sentences, searches, what is missing."""

import pytest

import headatlas as ha
from headatlas.web import export_items
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.views import probe
from headatlas.web.views.snapshot import Snapshot
from support import served
from support.served import ask, error
from support.treebank import SENTENCES, write_treebank


@pytest.fixture(scope="module")
def atlas():
    treebank = write_treebank(served.folder() / "probe.conllu", 24)
    atlas = ha.collect.maps("packaged", f"conllu:{treebank}", served.folder() / "probe.atlas", resolution=8)
    for analysis in (ha.probe.surface, ha.probe.syntax, ha.probe.distances, ha.probe.writes, ha.probe.parking):
        analysis(atlas)
    ha.probe.detect(atlas, repeats=20)
    return atlas


@pytest.fixture(scope="module")
def client(atlas):
    return served.client(atlas)


def test_analyses_have_findings_or_say_what_to_run(client):
    cards = {card["name"]: card for card in ask(client, ENDPOINTS.probe).json()["analyses"]}
    assert cards["surface"]["examples"] == 24 and cards["surface"]["findings"][0].startswith("1 head puts over half")
    assert cards["syntax"]["panels"][0]["panel"] == "relations"
    assert [panel["panel"] for panel in cards["detect"]["panels"]] == ["roles"]
    assert "heads have a role: " in cards["detect"]["findings"][0]
    assert [panel["panel"] for panel in cards["writes"]["panels"]] == ["measures", "rows"]
    assert cards["spectrum"]["examples"] is None and cards["spectrum"]["missing"] is None
    assert cards["spectrum"]["command"].startswith("headatlas probe spectrum ") and not cards["spectrum"]["panels"]
    assert not {card["table"] for card in cards["distances"]["panels"]} & {"probe_distance_map", "probe_distance_tree"}


def test_measures_are_those_of_the_table(client, atlas):
    measures = ask(client, ENDPOINTS.probe_measures, table="probe_writes").json()["measures"]
    rows = atlas.table("probe_writes").to_pylist()
    assert [measure["name"] for measure in measures] == list(dict.fromkeys(row["measure"] for row in rows))
    grids = {measure["name"]: measure for measure in measures}
    for row in rows:
        for kind in ("mean", "low", "high"):
            assert grids[row["measure"]][kind][row["layer"]][row["head"]] == row[kind]
    assert grids["from_previous"]["share"] and not grids["written"]["share"]


@pytest.mark.parametrize(
    ("table", "by", "columns"),
    [("probe_detect", "on", ("score", "low", "high", "chance")),
     ("probe_parking", "rest", ("effect", "effect_low", "effect_high", "others"))],
)  # fmt: skip
def test_roles_are_those_of_the_table(client, atlas, table, by, columns):
    payload = ask(client, ENDPOINTS.probe_roles, table=table).json()
    roles = {role["key"]: role for role in payload["roles"]}
    rows = [row for row in atlas.table(table).to_pylist() if f"{row['detector']}.{row[by]}" in roles]
    assert payload["false_rate"] == 0.05 and payload["least_effect"] == 0.1 and len(rows) == 72 * len(roles) > 0
    for row in rows:
        role, place = roles[f"{row['detector']}.{row[by]}"], (row["layer"], row["head"])
        grids = ("value", "low", "high", "reference", "effect", "q")
        for grid, column in zip(grids, (*columns, "effect", "q"), strict=True):
            assert role[grid][place[0]][place[1]] == row[column], column
        assert role["having"] == sum(
            each["role"] for each in rows if (each["detector"], each[by]) == (row["detector"], row[by])
        )
        assert role["marked"][place[0]][place[1]] == (row["role"] and row.get("parks", True))
    if table == "probe_detect":
        assert roles["previous.texts"]["title"] == "Previous-token head" and roles["previous.texts"]["marked"][0][2]
        assert roles["duplicate.repeated"]["on"] == "on repeated random tokens"
    else:
        rests = list(atlas.facts("probe", "parking")["rests"])
        assert [key.partition(".")[2] for key in roles][:2] == rests


def test_a_table_without_roles_is_refused(client):
    assert "no roles" in error(ask(client, ENDPOINTS.probe_roles, table="probe_writes"), 404)["message"]


def test_rows_are_those_of_the_table(client, atlas):
    payload = ask(client, ENDPOINTS.probe_rows, table="probe_pairs").json()
    rows = atlas.table("probe_pairs").to_pylist()
    names = [column["name"] for column in payload["columns"]]
    assert payload["total"] == len(rows) and [dict(zip(names, row, strict=True)) for row in payload["rows"]] == rows


def test_relations_have_cases_in_their_sentences(client, atlas):
    payload = ask(client, ENDPOINTS.probe_relations).json()
    assert [row["relation"] for row in payload["relations"]] == atlas.table("probe_relations")["relation"].to_pylist()
    assert payload["cases"] and len(payload["cases"]) == atlas.table("probe_syntax_cases").num_rows
    for number, words in payload["words"].items():
        assert words == [word[0] for word in SENTENCES[int(number) % 2]]


def test_distances_are_in_the_order_of_the_tree(client, atlas):
    payload = ask(client, ENDPOINTS.probe_distances).json()
    assert [head["order"] for head in payload["heads"]] == list(range(72))
    place = {(head["layer"], head["head"]): number for number, head in enumerate(payload["heads"])}
    for row in atlas.table("probe_distances").slice(0, 50).to_pylist():
        first, second = place[row["layer"], row["head"]], place[row["other_layer"], row["other_head"]]
        assert payload["distances"][first][second] == payload["distances"][second][first] == row["distance"]


def test_many_heads_have_no_matrix(atlas, monkeypatch):
    monkeypatch.setattr(probe, "MATRIX", 10)
    payload = probe.distances(Snapshot(atlas))
    assert len(payload.heads) == 72 and not payload.distances and "too many" in payload.note


def test_what_tells_most_about_a_head_comes_first(client, atlas):
    payload = ask(client, ENDPOINTS.probe_head, layer=0, head=2).json()
    first = payload["leading"][0]
    assert first["analysis"] == "detect" and first["sentence"].startswith("Previous-token head: >99% [")
    assert 1 <= len(payload["leading"]) <= 3 and payload["command"].startswith("headatlas probe all ")
    said = {part["name"]: part["sentences"] for part in payload["analyses"]}
    assert all(each["sentence"] in said[each["analysis"]] for each in payload["leading"])
    assert sum("head: " in each["sentence"] for each in payload["leading"]) == 1  # a local head, too, but that is less
    roles = {(row["layer"], row["head"]) for row in atlas.table("probe_detect").to_pylist() if row["role"]}
    related = {(row["layer"], row["head"]) for row in atlas.table("probe_relations").to_pylist() if row["gain_low"] > 0}
    nothing = [(layer, head) for layer in range(6) for head in range(12) if (layer, head) not in roles | related]
    for layer, head in nothing[:3]:
        assert not ask(client, ENDPOINTS.probe_head, layer=layer, head=head).json()["leading"]
    for layer, head in sorted(related)[:2]:
        led = ask(client, ENDPOINTS.probe_head, layer=layer, head=head).json()["leading"]
        assert any(each["analysis"] == "syntax" and "best offset" in each["sentence"] for each in led)


def test_a_head_in_sentences(client):
    said = {part["name"]: part for part in ask(client, ENDPOINTS.probe_head, layer=0, head=2).json()["analyses"]}
    assert (
        said["surface"]["sentences"][0].startswith("Puts >99% [")
        and "previous token" in said["surface"]["sentences"][0]
    )
    assert said["distances"]["sentences"][0].startswith("Attends most like L")
    assert said["writes"]["sentences"][0].startswith("Moves most between these tokens")
    assert not said["spectrum"]["done"] and "probe spectrum" in said["spectrum"]["command"]
    assert "layer" in error(ask(client, ENDPOINTS.probe_head, layer=99, head=0), 404)["message"]


@pytest.mark.parametrize("table", ["probe_spectrum", "heads", "nonsense"])
def test_other_tables_are_not_given(client, table):
    assert "no table of heads" in error(ask(client, ENDPOINTS.probe_rows, table=table), 404)["message"]
    assert "no table of heads" in error(ask(client, ENDPOINTS.probe_measures, table=table), 404)["message"]


def test_tables_without_measures_are_refused(client):
    assert "no measures" in error(ask(client, ENDPOINTS.probe_measures, table="probe_pairs"), 404)["message"]


def test_an_export_has_what_the_page_shows(atlas):
    snapshot = Snapshot(atlas)
    paths = {item.path for item in export_items.stored(snapshot, [])}
    for endpoint, values in ((ENDPOINTS.probe, {}), (ENDPOINTS.probe_relations, {}), (ENDPOINTS.probe_distances, {}),
                             (ENDPOINTS.probe_measures, {"table": "probe_surface"}),
                             (ENDPOINTS.probe_rows, {"table": "probe_pairs"}),
                             (ENDPOINTS.probe_roles, {"table": "probe_detect"}),
                             (ENDPOINTS.probe_head, {"layer": 5, "head": 11})):  # fmt: skip
        assert endpoint.path(**values) in paths
    bare = {item.path for item in export_items.stored(Snapshot(served.bare()), [])}
    assert ENDPOINTS.probe_relations.path() not in bare and ENDPOINTS.probe.path() in bare


def post(client, **body):
    return client.post(f"/{ENDPOINTS.search.path()}", json={"source": {}, "target": {}, "examples": 8} | body)


def test_a_search_is_that_of_python(client, atlas):
    key = post(client, source={"upos": ["VERB"]}, target={"relation": ["obj"]}).json()["key"]
    found = ask(client, ENDPOINTS.search_results, key=key).json()
    rows = ha.probe.search(atlas, {"upos": "VERB"}, {"relation": "obj"}, examples=8).to_pylist()
    assert [(head["layer"], head["head"]) for head in found["heads"]] == [(row["layer"], row["head"]) for row in rows]
    assert found["heads"][0]["attention"] == pytest.approx(rows[0]["attention"])
    assert found["sentence"].startswith("From upos = VERB to relation = obj, L") and found["queries"] == 8
    assert ask(client, ENDPOINTS.search_progress, key=key).json() == {"done": 0, "total": 0}
    names = ask(client, ENDPOINTS.probe).json()["search"]
    assert "obj" in names["columns"]["deprel"] and "number" in names["kinds"]


def test_a_wrong_search_is_explained(client):
    response = post(client, source={"upoz": ["VERB"]})
    assert response.status_code == 422 and "choose token" in response.json()["error"]["message"]
    assert post(client, examples=0).status_code == 422
    assert "forgotten" in error(ask(client, ENDPOINTS.search_results, key="0" * 32), 404)["message"]


def test_nothing_is_searched_without_the_model():
    plain = served.client(served.bare())
    assert not ask(plain, ENDPOINTS.atlas).json()["live"]  # the page shows no form
    assert post(plain).status_code == 404
