"""Mistakes that cost little: reported before torch is imported and before anything is written."""

import contextlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import headatlas as ha
from headatlas.errors import DataError
from support.commands import bits, call
from support.planted import drawn, planted
from support.small_files import write

HEAVY = ("torch", "transformers", "sklearn", "distributed")
CHILD = f"""
import json, sys
from headatlas.cli import app
results = []
for line in json.load(sys.stdin):
    try:
        app(line.split())
    except SystemExit as end:
        results.append([end.code, [name for name in {HEAVY} if name in sys.modules]])
    print("END", file=sys.stderr)
print(json.dumps(results))
"""

# one process runs them all: what one imports, all later ones would show
MISTAKES = {
    "collect packaged gone.csv -o new.atlas": "gone.csv is missing",
    "collect packaged notes.docx -o new.atlas": "is not a dataset in a known form",
    "collect packaged reviews.csv --text-column revue -o new.atlas": "has no column 'revue'. Its columns: id, review",
    "collect packaged reviews.csv --pair-column revue -o new.atlas": "has no column 'revue'",
    "collect packaged bad.jsonl -o new.atlas": "is not valid JSON (line 1",
    "collect packaged sample -o folder": "folder is not an atlas and not empty (it holds file)",
    "collect packaged sample -o folder/file": "a file stands where a folder is needed",
    "collect packaged sample -o folder/file/x.atlas": "a file stands where a folder is needed",
    "collect packaged sample -o broken.atlas": "broken.atlas/atlas.json is damaged",
    "collect packaged sample -o new.atlas --resolution 1": "between 2 and 256",
    "collect packaged sample -o new.atlas --overlong cut": "choose truncate or window",
    "collect packaged sample -o new.atlas --limit 0": "at least 1 example",
    "collect ./gone sample -o new.atlas": "there is no folder ./gone, and a model of the hub cannot have this name",
    "collect a/b/c sample -o new.atlas": "there is no folder a/b/c",
    "collect folder sample -o new.atlas": "folder is a folder without config.json",
    "collect bert-base-uncasedd sample -o new.atlas": "cannot load the model 'bert-base-uncasedd'; give a model in one",
    "evaluate packaged gone.json": "is not a dataset in a known form",
    "evaluate packaged squad:gone.json": "gone.json is missing",
    "evaluate packaged sample:questions": "packaged has no trained head for question answering",
    "evaluate packaged sample": "sample holds no questions",
    "evaluate folder sample:questions": "folder is a folder without config.json",
    "evaluate base sample:questions": "base has no trained head for question answering (it is a BertModel)",
    "evaluate packaged sample:questions --threshold often": "--threshold often: give a number, auto or never",
    "evaluate packaged sample:questions --collect folder": "folder is not an atlas and not empty",
    "run bert-base-uncasedd sample -o new.atlas --encoder heads": "cannot load the model 'bert-base-uncasedd'",
    "run packaged gone.csv -o new.atlas": "gone.csv is missing",
    "run packaged reviews.csv --text-column revue -o new.atlas": "has no column 'revue'",
    "run packaged reviews.csv --text-column revue -o new.atlas --encoder heads": "has no column 'revue'",
    "run packaged sample -o new.atlas --method kmean": "--method kmean: choose",
    "run packaged sample -o new.atlas --projection pcaa": "--projection pcaa: choose",
    "run packaged sample -o new.atlas --encoder profil": "no encoder is named 'profil'",
    "run packaged sample -o new.atlas --encoder gone.safetensors": "the file gone.safetensors is missing",
    "run packaged sample -o folder": "folder is not an atlas",
    "finetune packaged squad:gone.json -o new": "gone.json is missing",
    "finetune packaged reviews.csv --task lm --text-column revue -o new": "has no column 'revue'",
    "finetune ./gone sample:questions -o new": "there is no folder ./gone, and a model of the hub cannot",
    "finetune packaged sample:questions --task qa -o new": "--task qa: choose questions, classification, lm",
    "finetune packaged sample:questions --steps 0 -o new": "--steps 0: give a whole number of at least 1",
    "finetune packaged sample:questions -o folder": "folder is not empty (file) and has no recipe.json",
    "finetune packaged sample:questions -o folder/file": "a file stands where a folder is needed",
    "features gone.atlas": "there is no atlas at gone.atlas",
    "features folder": "folder is not an atlas",
    "features small.atlas --encoder profil": "no encoder is named 'profil'",
    "cluster gone.atlas": "there is no atlas",
    "cluster small.atlas --method kmean": "--method kmean: choose",
    "cluster small.atlas --of nothere": "it has planted",
    "project gone.atlas": "there is no atlas",
    "project small.atlas --method ica": "--method ica: choose",
    "correlate gone.atlas": "there is no atlas",
    "null gone.atlas": "there is no atlas",
    "null small.atlas": "Run `headatlas cluster small.atlas` first",
    "compare small.atlas gone.atlas": "there is no atlas at gone.atlas",
    "compare small.atlas small.atlas --steps 1": "--steps has 1 labels for 2 atlases: give one for each",
    "compare small.atlas small.atlas --match name": "--match name: choose place or function",
    "compare small.atlas small.atlas --noise small.atlas": "it has the weights of small",
    "tsne heads gone.atlas 0": "there is no atlas",
    "tsne hidden gone.atlas 0": "there is no atlas",
    "tsne words gone.atlas gone.txt": "there is no atlas",
    "tsne words packaged gone.txt": "gone.txt is missing",
    "tsne activity gone.atlas 0": "there is no atlas",
    "tsne compare gone.atlas": "there is no atlas",
    "tsne robustness gone.atlas": "there is no atlas",
    "encoder train gone.atlas -o new.safetensors": "there is no atlas",
    "export gone.atlas site": "there is no atlas",
    "serve gone.atlas": "there is no atlas",
    "plot gone.atlas heads -o new.png": "there is no atlas",
    "table gone.atlas heads": "there is no atlas",
    "info gone.atlas": "there is no atlas",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cheap")
    with contextlib.chdir(folder):
        write("reviews.csv", "id,review\n1,good\n")
        write("bad.jsonl", "{1}\n")
        write("folder/file", "mine")
        write("base/config.json", '{"architectures": ["BertModel"]}')
        write("base/model.safetensors", "")
        write("broken.atlas/atlas.json", '{"format"')
        planted("small.atlas", drawn(np.ones((2, 2, 5)), 4))
    return folder


@pytest.fixture(scope="module")
def results(home):
    """Exit status, heavy modules and message of every command, and what they left on disk."""
    before = bits(home)
    process = subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps(list(MISTAKES)), cwd=home, capture_output=True, text=True,
        timeout=120, env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert bits(home) == before
    messages = process.stderr.split("END\n")
    return {
        line: (*facts, err) for line, facts, err in zip(MISTAKES, json.loads(process.stdout), messages, strict=False)
    }


@pytest.mark.parametrize("line", MISTAKES)
def test_a_cheap_mistake_is_reported_before_torch_is_imported(line, results):
    code, imported, err = results[line]
    assert (code, imported) == (1, [])
    assert err.startswith("headatlas: ") and err.count("\n") == 1 and MISTAKES[line] in err


def test_a_corrected_command_is_not_blocked(folder):
    write("reviews.csv", "id,review\n1,good\n2,bad\n")
    line = ("collect", "packaged", "reviews.csv", "-o", "x.atlas", "--resolution", "4", "--text-column")
    assert call(*line, "revue")[0] == 1 and not (folder / "x.atlas").exists()
    assert call(*line, "review")[0] == 0


def test_an_error_far_down_in_a_dataset_leaves_nothing_behind(folder):
    write("texts.jsonl", '{"text": "good"}\n' * 2000 + '{"text": 3}\n')
    with pytest.raises(DataError, match="not text"):
        ha.collect.maps("packaged", "texts.jsonl", "x.atlas", resolution=4)
    assert not (folder / "x.atlas").exists()


def test_a_collection_that_failed_before_its_first_piece_can_be_changed(folder, monkeypatch):
    from headatlas.stages.collect import plan

    def broken(*rest):
        raise DataError("no")

    with monkeypatch.context() as patch:
        patch.setattr(plan, "_write_tables", broken)
        with pytest.raises(DataError):
            ha.collect.maps("packaged", ["one", "two"], "x.atlas", resolution=4)
    assert "not complete" in call("features", "x.atlas")[2]
    assert call("info", "x.atlas")[0] == 0
    assert ha.collect.maps("packaged", ["other", "texts"], "x.atlas", resolution=8).done == ["collect"]
