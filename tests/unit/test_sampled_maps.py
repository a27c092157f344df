"""Reading some maps of an array by their index, with blocks of any size."""

import numpy as np
import pytest

from headatlas.atlas.sampled_maps import existing_heads, read_maps
from headatlas.atlas.store import Atlas
from headatlas.numeric.sampling import random_sample, systematic_sample
from support.atlases import writer
from support.planted import drawn, planted

PATTERNS = drawn(np.random.default_rng(3).random((2, 3, 5)), 40)


def atlas_in_blocks(folder, block):
    return planted(folder / f"{block}.atlas", PATTERNS, block=block, missing=[(1, 0)])


@pytest.mark.parametrize("array", ["pooled", "stats", "features"])
def test_indexed_maps_are_read_with_any_block_size(array, tmp_path):
    cells = np.argwhere(np.ones((2, 3), bool))
    index = systematic_sample(40, cells, 100, seed=1)
    of = "planted" if array == "features" else None
    for block in (4, 16, 64):
        atlas = atlas_in_blocks(tmp_path, block)
        existing, values = read_maps(atlas, array, index, of)
        assert (existing == index[(index[:, 1:] != [1, 0]).any(1)]).all()
        expected = atlas.read(array, of=of)[tuple(existing.T)]
        assert values.dtype == expected.dtype and (values == expected).all()


def test_a_map_with_any_value_exists_and_an_empty_selection_is_no_error(tmp_path):
    atlas = atlas_in_blocks(tmp_path, 16)
    stats = atlas.read("stats")
    stats[5, 0, 1, 1:] = np.nan  # statistics that are not defined
    writer(atlas, "collect", "collect").write_blocks("stats", 0, stats)
    existing, values = read_maps(atlas, "stats", np.array([[5, 0, 1], [5, 1, 0]]))
    assert existing.tolist() == [[5, 0, 1]] and not np.isnan(values[0, 0]) and np.isnan(values[0, 1:]).all()
    assert read_maps(atlas, "pooled", np.array([[5, 1, 0]]))[1].shape == (0, 8, 8)
    assert read_maps(atlas, "pooled", np.zeros((0, 3), np.int64))[1].shape == (0, 8, 8)


def test_blocks_without_a_sampled_map_are_not_read(tmp_path, monkeypatch):
    atlas = atlas_in_blocks(tmp_path, 4)
    read, ranges = Atlas.read, []

    def watched(self, name, where=(), of=None):
        ranges.append(where)
        return read(self, name, where, of)

    monkeypatch.setattr(Atlas, "read", watched)
    read_maps(atlas, "pooled", np.array([[1, 0, 0], [2, 0, 0], [9, 1, 1]]))
    assert ranges == [slice(0, 4), slice(8, 12)]


def test_heads_are_those_of_the_model(tmp_path):
    heads = existing_heads(atlas_in_blocks(tmp_path, 16))
    assert heads.tolist() == [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2]]
    assert len(random_sample(40, heads, 100, heads.tolist())) == 100
