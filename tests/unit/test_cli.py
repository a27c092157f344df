"""The command line, and its answers to user errors: one clear line, exit status 1, nothing lost."""

import io
import json

import pyarrow.parquet as pq
import pytest
from PIL import Image

import headatlas as ha
from headatlas.cli import app


def run(*arguments):
    """Exit status of a command."""
    with pytest.raises(SystemExit) as end:
        app([str(argument) for argument in arguments])
    return end.value.code or 0


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "x.atlas"
    ha.collect.maps("packaged", ha.data.load("sample", limit=8), path, resolution=8)
    return path


def test_collect_writes_an_atlas_and_shows_it(tmp_path, capfd):
    texts = tmp_path / "texts.txt"
    texts.write_text("The cat sat.\n\nIt slept, then it ate.\n")
    assert run("collect", "packaged", texts, "-o", tmp_path / "x.atlas", "--resolution", "8") == 0
    out, err = capfd.readouterr()
    assert "✓ complete" in out and "2 example × 6 layer × 12 head" in out
    assert "collecting" in err and "examples/s" in err
    assert ha.open(tmp_path / "x.atlas").done == ["collect"]


def test_info_as_text_and_json(atlas, capfd):
    assert run("info", atlas) == 0
    assert "all-MiniLM-L6-v2 (bert): 6 encoder layers × 12 heads" in capfd.readouterr().out
    assert run("info", atlas, "--json") == 0
    facts = json.loads(capfd.readouterr().out)
    assert facts["arrays"]["pooled"]["shape"] == [8, 6, 12, 8, 8]
    assert facts["model"]["layers"][0]["kind"] == "encoder"
    assert facts["results"]["collect"][0]["recipe"]["options"]["resolution"] == 8


def test_tables_as_text_csv_and_parquet(atlas, capfd, monkeypatch):
    assert run("table", atlas, "heads") == 0
    out, err = capfd.readouterr()
    assert "previous" in out and "32 more rows. For the whole table: --csv or --parquet" in err
    assert run("table", atlas, "heads", "--csv") == 0
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 73 and lines[0].startswith("layer,head,kind,key_head,offset-4")
    stream = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr("sys.stdout", stream)
    assert run("table", atlas, "tokens", "--parquet") == 0
    tokens = pq.read_table(io.BytesIO(stream.buffer.getvalue()))
    assert tokens.equals(ha.open(atlas).table("tokens"))


def test_text_from_a_dataset_is_printed_as_text(tmp_path, capfd):
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"text": "[bold red]not markup[/] here", "label": "[link=x]"}) + "\n")
    assert run("collect", "packaged", rows, "-o", tmp_path / "x.atlas", "--resolution", "4") == 0
    assert run("table", tmp_path / "x.atlas", "examples") == 0
    assert "[bold red]not markup[/] here" in capfd.readouterr().out


def test_empty_texts_are_skipped_counted_and_named(tmp_path, capfd):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "One."}\n{"text": "  "}\n{"text": "Two."}\n')
    assert run("collect", "packaged", rows, "-o", tmp_path / "x.atlas", "--resolution", "4") == 0
    out, err = capfd.readouterr()
    assert "skipped: 1 example (1: empty text)" in err and "2 texts" in out and "1 skipped" in out


def mistakes(folder):
    (folder / "empty.txt").write_text("")
    (folder / "blank.txt").write_text("\n  \n")
    (folder / "latin.txt").write_bytes("caf\xe9 au lait\n".encode("latin-1"))
    (folder / "rows.csv").write_text("review,stars\ngood,5\n")
    (folder / "pickle").mkdir()
    (folder / "pickle" / "config.json").write_text('{"model_type": "bert"}')
    (folder / "pickle" / "pytorch_model.bin").write_bytes(b"x")
    (folder / "stranger").mkdir()
    (folder / "stranger" / "letter.txt").write_text("mine")
    (folder / "fine.txt").write_text("A fine text.\n")
    return [
        (("collect", "packaged", "empty.txt", "-o", "x"), "empty.txt has no examples"),
        (("collect", "packaged", "blank.txt", "-o", "x"), "blank.txt has no examples"),
        (("collect", "packaged", "latin.txt", "-o", "x"), "UTF-8"),
        (("collect", "packaged", "missing.txt", "-o", "x"), "missing.txt"),
        (("collect", "packaged", "rows.csv", "--text-column", "body", "-o", "x"), "review, stars"),
        (("collect", "packaged", "nonsense", "-o", "x"), "squad:"),
        (("collect", "no-such/model", "fine.txt", "-o", "x"), "give a model in one of three ways"),
        (("collect", "pickle", "fine.txt", "-o", "x"), "only safetensors are read"),
        (("collect", "packaged", "fine.txt", "-o", "stranger"), "is not an atlas and not empty"),
        (("collect", "packaged", "fine.txt", "-o", "x", "--overlong", "drop"), "choose truncate or window"),
        (("collect", "packaged", "fine.txt", "-o", "x", "--resolution", "1"), "between 2 and 256"),
        (("collect", "packaged", "fine.txt", "-o", "x", "--workers", "-1"), "cannot be negative"),
        (("collect", "packaged", "fine.txt", "-o", "x", "--limit", "0"), "limit"),
        (("info", "nowhere"), "there is no atlas at nowhere"),
        (("info", "stranger"), "is not an atlas"),
        (("table", "nowhere", "heads"), "there is no atlas"),
    ]


@pytest.mark.parametrize("number", range(16))
def test_a_mistake_gives_one_clear_line_and_exit_1(number, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # the environment variable was already read
    monkeypatch.chdir(tmp_path)
    arguments, message = mistakes(tmp_path)[number]
    assert run(*arguments) == 1
    err = capfd.readouterr().err
    last = err.strip().splitlines()[-1]
    assert last.startswith("headatlas: ") and message in last
    assert "Traceback" not in err
    assert (tmp_path / "stranger" / "letter.txt").read_text() == "mine"


def test_wrong_usage_ends_with_2(capfd):
    assert run("collect", "packaged") == 2
    assert run("nonsense") == 2
    assert run("table", "x", "y", "--no-such-option") == 2


def test_files_that_are_not_images_are_skipped_counted_and_named(tmp_path, capfd):
    from transformers import ViTConfig, ViTModel

    ViTModel(ViTConfig(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=32, image_size=32,
                       patch_size=8)).save_pretrained(tmp_path / "vit")  # fmt: skip
    folder = tmp_path / "images" / "red"
    folder.mkdir(parents=True)
    for number in range(3):
        Image.new("RGB", (40, 50), (200, 20 * number, 0)).save(folder / f"{number}.png")
    (folder / "zero.png").write_bytes(b"")
    (folder / "letter.jpg").write_text("not an image")
    assert run("collect", tmp_path / "vit", f"images:{tmp_path / 'images'}", "-o", tmp_path / "x.atlas") == 0
    out, err = capfd.readouterr()
    assert "skipped: 2 examples (red/letter.jpg" in err and "red/zero.png" in err
    assert "3 images" in out and "2 skipped" in out
    atlas = ha.open(tmp_path / "x.atlas")
    assert atlas.table("examples")["label"].to_pylist() == ["red"] * 3
    assert atlas.table("tokens").to_pandas().query("example == 0").text.tolist()[:3] == ["[CLS]", "0,0", "0,1"]
