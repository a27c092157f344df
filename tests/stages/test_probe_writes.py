"""What heads write: numbers of real heads from the weights themselves."""

import numpy as np
import pytest

import headatlas as ha
from headatlas.stages.probe.source import drawn_examples

TEXTS = [example.text for example in ha.data.load("sample", limit=4)]
HEAD, WIDTH = 5, 32


def test_numbers_of_a_real_head_from_its_weights():
    atlas = ha.collect.maps("packaged", TEXTS, "memory://writes-test.atlas", resolution=8, qk_tokens=0)
    table = ha.probe.writes(atlas, examples=2).to_pandas()
    model = ha.models.load("packaged")
    weight = model.network.encoder.layer[3].attention.output.dense.weight.detach().numpy()  # (hidden, head · feature)
    part = weight[:, HEAD * WIDTH : (HEAD + 1) * WIDTH].astype(float)
    expected = {"written": [], "moved": [], "from_previous": [], "from_special": []}
    strongest = []
    for number in drawn_examples(atlas, 2, 0):
        attention, vectors = ha.models.attention(model, TEXTS[number]), ha.models.vectors(model, TEXTS[number])
        full, written = attention.map(3, HEAD).astype(float), vectors.values[3][HEAD].astype(float) @ part.T
        moved = np.array([[weight * np.linalg.norm(value) for weight, value in zip(row, written, strict=True)]
                          for row in full])  # fmt: skip
        expected["written"].append(np.mean([np.linalg.norm(row @ written) for row in full]))
        expected["moved"].append(moved.sum(1).mean())
        expected["from_previous"].append(sum(moved[i, i - 1] for i in range(1, len(moved))) / moved.sum())
        expected["from_special"].append((moved[:, 0].sum() + moved[:, -1].sum()) / moved.sum())
        strongest.append(moved[1:-1, 1:-1].max())
    rows = table[(table.layer == 3) & (table["head"] == HEAD)].set_index("measure")["mean"]
    for name, values in expected.items():
        assert rows[name] == pytest.approx(np.mean(values), rel=1e-4), name
    pairs = atlas.table("probe_pairs").to_pandas()
    own = pairs[(pairs.layer == 3) & (pairs["head"] == HEAD)]
    assert own["moved"].iloc[0] == pytest.approx(max(strongest), rel=1e-4)
    assert not own.duplicated(["query_token", "key_token"]).any() and own["moved"].is_monotonic_decreasing
