"""Null models in use: stops and threads, what is refused, what is left out, and what is printed."""

import itertools
import shutil
from pathlib import Path

import pytest

import headatlas as ha
from headatlas import null, parallel, wording
from headatlas.errors import ModelError, OptionError, StoreError
from headatlas.models import random_weights
from headatlas.null import stage
from support.atlases import stopping
from support.commands import bits, call, done

TABLES = ("null_shares", "null_heads", "null_locality")


@pytest.fixture(scope="module")
def model(packaged_model):
    return packaged_model


@pytest.fixture(scope="module")
def made(null_atlas):
    return null_atlas


@pytest.fixture
def copied(null_copy):
    return null_copy


def rows(atlas, name, of):
    return atlas.table(name, of).to_pylist()


# stops, threads, samples


def test_a_stopped_run_continues_and_ends_with_the_same_bits(copied, model, tmp_path, monkeypatch):
    whole = ha.open(shutil.copytree(copied.files.url, tmp_path / "whole.atlas"))
    monkeypatch.setattr(parallel, "cores", lambda: 1)
    null.references(whole, of="stats", model=model)
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    calls, make = [], stage.NullBlock.__call__
    monkeypatch.setattr(stage.NullBlock, "__call__", lambda self, number: calls.append(number) or make(self, number))
    with pytest.raises(KeyboardInterrupt), stopping(monkeypatch, KeyboardInterrupt, 3):
        null.references(copied, of="stats", model=model)
    first = len(calls)
    assert "null" not in ha.open(copied.files.url).done and first >= 3
    null.references(copied, of="stats", model=model)
    assert len(calls) - first <= 8 - 2  # two parts were written before the stop
    assert bits(copied.files.url) == bits(whole.files.url)
    null.references(copied, of="stats")
    assert bits(copied.files.url) == bits(whole.files.url)


def test_a_larger_sample_includes_a_smaller_one(made):
    chosen = [stage.chosen_examples(made, count, 3) for count in (1, 5, 12, 100)]
    assert [len(numbers) for numbers in chosen] == [1, 5, 12, 12]
    assert all({*small} <= {*large} for small, large in itertools.pairwise(chosen))


def test_one_text_has_no_interval(copied, model):
    table = null.references(copied, of="stats", examples=1, kinds=["shuffled"], model=model)
    assert copied.facts("null", "stats")["examples"] == 1
    assert set(table["low"].to_pylist()) == {None} and sum(table["maps"].to_pylist()) == 72
    ha.collect.maps(model, ["Rain."], "memory://one-text", resolution=8)
    atlas = ha.open("memory://one-text")
    ha.features.image(atlas, "pooled")
    ha.cluster.kmeans(atlas, k=2)
    assert null.references(atlas, model=model).num_rows == 9


# what is refused, and what is left out


def test_wrong_options_are_refused(copied, model):
    for options, message in (
        ({"kinds": ["shufled"]}, "kind shufled: choose untrained, permuted or shuffled, or several"),
        ({"kinds": []}, "kind missing"),
        ({"examples": 0}, "at least 1 example"),
        ({"seed": -1}, "seed cannot be negative"),
    ):
        with pytest.raises(OptionError, match=message):
            null.references(copied, model=model, **options)
    with pytest.raises(StoreError, match="no cluster result called 'other'"):
        null.references(copied, of="other")
    ha.cluster.kmeans(copied, k=3, level="heads")
    with pytest.raises(OptionError, match="kmeans-heads is a clustering of heads"):
        null.references(copied)
    with pytest.raises(ModelError, match=r"untrained, seed 0\) is not the model .* was made with"):
        null.references(copied, of="stats", model=ha.models.untrained(model))


def test_a_model_that_is_gone_is_an_error_and_run_goes_on_without_it(pairs, tmp_path, capsys):
    path = shutil.copytree(pairs.files.url, tmp_path / "x.atlas")
    with ha.open(path).editing() as header:
        header["model"] |= {"source": str(tmp_path / "gone"), "name": "gone"}
    atlas = ha.open(path)
    with pytest.raises(ModelError, match="cannot load the model"):
        null.references(atlas)
    assert "null" not in ha.open(path).done
    capsys.readouterr()
    ha.pipeline.analyze(atlas, encoder="pooled", permutations=9, null=True)
    assert "null models are left out: cannot load the model" in capsys.readouterr().err
    assert ha.open(path).done == ["collect", "features", "cluster", "project", "correlate"]
    model = ha.models.load(pairs.header["model"]["source"])
    assert null.references(atlas, of="kmeans", model=model, examples=4).num_rows == 3 * (
        len(atlas.facts("cluster", "kmeans")["clusters"]) + 1
    )


def test_images_have_no_shuffled_maps(images, tmp_path, capsys):
    atlas = ha.open(shutil.copytree(images.files.url, tmp_path / "x.atlas"))
    with pytest.raises(ModelError, match="vit has no null model: the model with shuffled words is left out: it reads"):
        null.references(atlas, kinds=["shuffled"])
    capsys.readouterr()
    table = null.references(atlas, examples=6)
    line = "vit: the model with shuffled words is left out: it reads images, whose patches cannot be shuffled"
    assert line in " ".join(capsys.readouterr().err.split())
    assert set(table["kind"].to_pylist()) == {"untrained", "permuted"}
    assert atlas.facts("null", "kmeans")["skipped"] == [{"kind": "shuffled", "reason": "image"}]
    assert null.summary(atlas).endswith("whose patches cannot be shuffled")


def test_a_large_model_has_shuffled_maps_only(copied, model, monkeypatch, capsys):
    monkeypatch.setattr(random_weights, "MOST_PARAMETERS", 1000)
    table = null.references(copied, of="stats", examples=2, model=model)
    assert set(table["kind"].to_pylist()) == {"shuffled"}
    assert "too many parameters" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(ModelError, match="too many parameters"):
        null.references(copied, of="stats", kinds=["untrained", "permuted"], model=model)


# text


def test_summaries_name_every_pattern(made):
    text = null.summary(made, "pooled")
    kinds = "with random weights, with its weights shuffled, and with shuffled words"
    assert text.startswith(f"pooled: the model {kinds}, on 12 examples\n")
    for name in made.table("clusters", "pooled")["name"].to_pylist():
        assert f"\n{name}: " in text
    heads = [row["one_job"] for row in rows(made, "null_heads", "pooled")]
    real, untrained, permuted, shuffled = (sum(heads[at : at + 72]) for at in (0, 72, 144, 216))
    assert f"{real} of 72 heads have one job" in text
    others = wording.null_jobs(72, {"untrained": untrained, "permuted": permuted, "shuffled": shuffled})
    assert others in text
    described = " ".join(ha.correlate.summary(made, "pooled").split())
    assert others in described
    assert described.count("on the same examples") == 6


def test_the_command_and_run(tmp_path):
    path = Path(tmp_path / "x.atlas")
    out = done("run", "packaged", "sample", "--limit", 3, "--encoder", "stats", "-o", path, "--null")
    assert "with random weights" in out and ha.open(path).done[-1] == "null"
    before = bits(path)
    assert "of maps; " in done("null", path)
    assert bits(path) == before
    assert "with shuffled words, on 2 examples" in done("null", path, "--kind", "shuffled", "--examples", 2)
    code, _, err = call("null", path, "--kind", "other")
    assert code == 1 and "kind other: choose untrained, permuted or shuffled" in err
    assert set(TABLES) <= {*ha.open(path).tables()}
    assert "null      ✓ complete" in done("info", path)
