"""What the page is told about texts and maps: computed columns, texts of one source, and nearest maps."""

from __future__ import annotations

import numpy as np

from headatlas.data.text_columns import TEXT_COLUMNS
from headatlas.web.api.endpoints import ENDPOINTS
from headatlas.web.views import examples, neighbors
from headatlas.web.views.snapshot import Snapshot
from support import served
from support.planted import planted, replace_examples


def test_columns_computed_from_the_texts_are_sent_with_their_definition():
    payload = served.ask(served.client(served.real()), ENDPOINTS.computed).json()
    assert [column["name"] for column in payload["columns"]] == [column.name for column in TEXT_COLUMNS]
    sent = {column["name"]: column for column in payload["columns"]}
    assert sent["question"]["values"] == ["false", "true", "false", "false"]
    assert sent["sentences"]["values"] == [1, 1, 1, 2]
    assert sent["quotation"]["label"] == "quotation marks" and sent["quotation"]["definition"]
    assert payload["group"] == [0, 1, 2, 3] and payload["group_column"] is None


def test_a_column_of_the_dataset_hides_a_computed_one(tmp_path):
    atlas = planted(tmp_path / "t.atlas", [[[0]]] * 4)
    replace_examples(atlas, {"text": ["a"] * 4, "digits": [1, 2, 3, 4]})
    names = [column.name for column in examples.computed(Snapshot(atlas)).columns]
    assert "digits" not in names and "question" in names


def test_texts_of_one_source_have_one_group(tmp_path):
    atlas = planted(tmp_path / "t.atlas", [[[0]]] * 5)
    replace_examples(atlas, {"id": ["a", "a", "b", "c", "d"], "text": ["x"] * 5, "title": ["t", "t", "t", "u", None]})
    assert examples.computed(Snapshot(atlas)).group == [0, 0, 1, 2, 3]  # windows of one text
    atlas.header["data"]["group"] = "title"  # as the reader of SQuAD declares it
    payload = examples.computed(Snapshot(atlas))
    assert payload.group == [0, 0, 0, 1, 2] and payload.group_column == "title"


def slow_neighbors(features, place):
    """All other maps that exist, the nearest first, with their distances in float64."""
    vector = features[place]
    maps = [index for index in np.ndindex(features.shape[:3]) if index != place and np.isfinite(features[index]).all()]
    return sorted((np.linalg.norm(features[index] - vector), index) for index in maps)


def test_nearest_maps_are_those_of_an_exhaustive_search(monkeypatch):
    atlas, place = served.full(), (7, 1, 2)
    expected = slow_neighbors(atlas.read("features", of="planted").astype(np.float64), place)
    monkeypatch.setattr(neighbors, "ROWS", 7)  # several steps
    for kept in (0, neighbors.KEPT_BYTES):  # read block by block, and from memory
        monkeypatch.setattr(neighbors, "KEPT_BYTES", kept)
        payload = neighbors.neighbors(Snapshot(atlas), "pca", *place)
        sent = [(near.distance, (near.example, near.layer, near.head)) for near in payload.maps]
        assert len(sent) == neighbors.NEAREST and payload.features == "planted"
        np.testing.assert_allclose([d for d, _ in sent], [d for d, _ in expected[: len(sent)]], rtol=1e-5)
        assert {place for _, place in sent[:20]} == {place for _, place in expected[:20]}
        np.testing.assert_allclose(payload.median, np.median([d for d, _ in expected]), rtol=1e-5)


def test_nearest_maps_of_what_does_not_exist_are_an_error():
    client = served.client(served.full())
    for values, status in ((("pca", 0, 2, 3), 200), (("pca", 40, 0, 0), 404), (("umap", 0, 0, 0), 404)):
        path = dict(zip(("projection", "example", "layer", "head"), values, strict=True))
        assert served.ask(client, ENDPOINTS.neighbors, **path).status_code == status
