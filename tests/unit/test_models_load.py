"""Facts of a loaded model, every error of loading it, and the table of families in docs/models.md."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from conftest import ROOT, SPECIALS, byte_tokenizer, word_tokenizer
from headatlas import models
from headatlas.errors import DataError, ModelError
from headatlas.models import packaged
from headatlas.models.batch import pad_token
from headatlas.models.load import WAYS
from headatlas.models.model import Grid
from support.docs import assert_table
from support.families import FAMILIES, PARTLY, REFUSED

PAGE = ROOT / "docs" / "models.md"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with a small BERT and its tokenizer."""
    folder = tmp_path_factory.mktemp("saved") / "small-bert"
    FAMILIES["BERT"].network().save_pretrained(folder)
    word_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    """The same folder, to be damaged."""
    return Path(shutil.copytree(saved, tmp_path / "small-bert"))


def change(folder, **options):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | options))


# --- facts

# kinds of layers with their number, key heads, width; * for layers that are not plain softmax(scaling · q kᵀ + mask)
FACTS = {
    "BERT": "2 encoder 4 8",
    "ALBERT": "2 encoder 4 8",
    "ModernBERT": "3 encoder 4 8",
    "MPNet": "2 encoder 4 8 *",
    "DeBERTa-v2": "2 encoder 4 8 *",
    "XLNet": "2 encoder 4 8 *",
    "GPT-2": "2 decoder 4 8",
    "BLOOM": "2 decoder 4 8 *",
    "Falcon": "2 decoder 4 8 *",
    "Llama": "2 decoder 2 8",
    "Mistral": "2 decoder 2 8",
    "Qwen 3": "2 decoder 2 8",
    "Qwen 3 Next": "1 decoder 2 8",
    "DeepSeek-V3": "2 decoder 4 12",
    "DiffLlama": "2 decoder 2 8",
    "Gemma 2": "3 decoder 2 8 *",
    "Gemma 3": "3 decoder 2 8",
    "Gemma 3 with images": "3 decoder 2 8",
    "GPT-OSS": "3 decoder 2 8 *",
    "T5": "2 encoder 3 decoder 3 cross 4 8 *",
    "BART": "2 encoder 2 decoder 2 cross 4 16",
    "CLIP text": "2 decoder 4 8",
    "CLIP vision": "2 encoder 4 8",
    "ViT": "2 encoder 4 8",
    "DINOv2 with registers": "2 encoder 4 8",
}


def kinds(model):
    counts = {kind: sum(layer.kind == kind for layer in model.layers) for kind in ("encoder", "decoder", "cross")}
    return [f"{count} {kind}" for kind, count in counts.items() if count]


@pytest.mark.parametrize("name", FACTS)
def test_facts_of_a_family(name, small):
    model = small(name).model
    plain = {layer.standard for layer in model.layers}
    assert len(plain) == 1
    star = [] if plain == {True} else ["*"]
    assert " ".join([*kinds(model), str(model.key_heads), str(model.width), *star]) == FACTS[name]
    assert [layer.index for layer in model.layers] == list(range(len(model.layers)))
    assert all(layer.causal == (layer.kind == "decoder") for layer in model.layers)
    assert model.heads == 4
    assert json.loads(json.dumps(model.facts()))["layers"][0]["kind"] == model.layers[0].kind


def test_layers_of_one_model_may_have_different_heads(small):
    model = small("BART").model
    assert [(layer.kind, layer.heads, layer.width) for layer in model.layers[1:3]] == [
        ("encoder", 4, 8),
        ("decoder", 2, 16),
    ]
    attention = models.attention(model, "Who rang the bell?")
    assert [maps.shape[0] for maps in attention.maps] == [4, 4, 2, 2, 2, 2]


def test_layers_name_their_modules(small):
    names = [layer.module for layer in small("T5").model.layers]
    assert names[0].startswith("encoder.block.0") and names[2].startswith("decoder.block.0.layer.0")
    assert names[5].startswith("decoder.block.0.layer.1")


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("Qwen 3 Next", r"3 of 4 layers have no softmax attention \(linear_attention\) and are omitted: 0, 1, 2"),
        ("GPT-OSS", "3 layers give part of their attention to a sink that is not a token"),
        ("ViT", "its image processor is missing: images are scaled to 32 × 32, values from -1 to 1"),
    ],
)
def test_unusual_properties_are_noted(name, note, small):
    assert re.match(note, small(name).model.notes[0])


def test_ordinary_models_have_no_notes(small):
    assert not any(small(name).model.notes for name in ("BERT", "Llama", "Gemma 3", "T5", "BART", "CLIP text", "XLNet"))


@pytest.mark.parametrize(
    ("name", "special"),
    [
        ("ViT", ("[CLS]",)),
        ("DeiT", ("[CLS]", "[DIST]")),
        ("DINOv2 with registers", ("[CLS]", "[REG0]", "[REG1]", "[REG2]")),
    ],
)
def test_tokens_of_an_image_are_special_tokens_and_patches(name, special, small):
    model = small(name).model
    assert model.grid == Grid(special, 4, 4)
    attention = models.attention(model, small(name).pictures[0])
    assert attention.tokens == [*special, *(f"{row},{column}" for row in range(4) for column in range(4))]
    assert attention.map(0, 0).shape == (len(special) + 16,) * 2


def test_the_longest_text_follows_from_positions_and_tokenizer(small):
    limits = {"BERT": 64, "RoBERTa": 62, "MPNet": 62, "GPT-2": 64, "Gemma 3 with images": 64, "XLNet": 1_000_000}
    assert {name: small(name).model.max_tokens for name in limits} == limits
    model = models.load("packaged")
    assert model.max_tokens == 512
    for name in ("RoBERTa", "MPNet"):  # one more token is one too many
        longest = torch.full((1, 62), 9)
        small(name).model.network(input_ids=longest)
        with pytest.raises((IndexError, RuntimeError), match="out of"):
            small(name).model.network(input_ids=torch.cat([longest, longest[:, :1]], 1))


def test_the_hash_follows_weights_and_heads():
    network = FAMILIES["BERT"].network()
    first = models.load(network, tokenizer=word_tokenizer()).hash
    assert models.load(network, tokenizer=word_tokenizer()).hash == first
    with torch.no_grad():
        network.encoder.layer[1].attention.self.key.bias[3] += 1e-3
    assert models.load(network, tokenizer=word_tokenizer()).hash != first
    other_heads = FAMILIES["BERT"].network(num_attention_heads=8)
    assert models.load(other_heads, tokenizer=word_tokenizer()).hash != first


# --- padding and segments


def test_padding_is_a_token_of_the_network():
    config = FAMILIES["Llama"].network().config
    for configured, expected in ((7, 7), (-1, 0), (None, 0), (400, 0)):
        config.pad_token_id = configured
        assert pad_token(config, byte_tokenizer()) == expected
    config.pad_token_id = None
    tokenizer = word_tokenizer()
    assert tokenizer.pad_token_id == pad_token(config, tokenizer) == 0


def test_segments_are_given_to_networks_that_take_them(small):
    assert small("BERT").batch.inputs["token_type_ids"].max() == 1
    assert "token_type_ids" in word_tokenizer().model_input_names
    assert "token_type_ids" not in small("DistilBERT").batch.inputs


# --- names


def test_a_folder_is_loaded_by_its_path(saved):
    model = models.load(saved)
    assert str(model) == "small-bert (bert): 2 encoder layers × 4 heads, 8 wide"
    assert model.source == str(saved) and not model.notes
    assert model.hash == models.load(FAMILIES["BERT"].network(), tokenizer=word_tokenizer()).hash


@pytest.fixture
def hub(folder, tmp_path, monkeypatch):
    """A hub that is offline, with one model in its cache; returns the folder of that model."""
    import huggingface_hub.constants as constants

    cached = tmp_path / "hub/models--someone--small"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs/main").write_text("a" * 40)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return Path(shutil.copytree(folder, cached / "snapshots" / ("a" * 40)))


def test_a_name_of_the_hub_is_found_in_its_cache_with_its_revision(hub):
    model = models.load("someone/small")
    assert (model.name, model.source, model.revision) == ("someone/small", "someone/small", "a" * 40)


@pytest.mark.parametrize("name", ["someone/missing", "missing", "./no/such/folder", "/no/such/folder"])
def test_an_unknown_name_lists_the_three_ways(name, hub):
    with pytest.raises(ModelError) as caught:
        models.load(name)
    assert repr(name) in str(caught.value) and WAYS in str(caught.value)
    assert all(way in WAYS for way in ("hub name", "local folder", "`packaged`"))


def test_a_hub_model_without_safetensors_is_refused(hub):
    (hub / "model.safetensors").rename(hub / "pytorch_model.bin")
    with pytest.raises(
        ModelError, match=r"someone/small stores its weights in a pickle .*M\.from_pretrained\('someone/s"
    ):
        models.load("someone/small")


# --- files that cannot be loaded


def test_a_pickle_is_refused_and_the_given_command_converts_it(folder, tmp_path):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    expected = models.load(folder).hash
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"weights in pytorch_model\.bin, a format that can run code") as caught:
        models.load(folder)
    _, _, command = str(caught.value).partition("convert it once: ")
    program, *arguments = shlex.split(command)
    assert program == "python"
    subprocess.run([sys.executable, *arguments], cwd=tmp_path, check=True, capture_output=True)
    assert models.load(tmp_path / "small-bert-safe").hash == expected


def test_a_model_with_custom_code_is_refused_and_the_code_not_run(folder):
    change(folder, model_type="own", auto_map={"AutoConfig": "own.Config", "AutoModel": "own.Network"})
    ran = folder / "ran"
    (folder / "own.py").write_text(f"open({str(ran)!r}, 'w')\nclass Config: ...\nclass Network: ...\n")
    with pytest.raises(ModelError, match="small-bert needs custom code from the hub, which headatlas never runs"):
        models.load(folder)
    assert not ran.exists()


def without(name):
    return lambda folder: (folder / name).unlink()


def no_tokenizer(folder):
    for path in folder.glob("tokenizer*"):
        path.unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without("config.json"), "is a folder without config.json, so not a model; give a model in one of three ways"),
        (without("model.safetensors"), "has no model.safetensors"),
        (lambda folder: (folder / "model.safetensors").rename(folder / "tf_model.h5"), "has no model.safetensors"),
        (lambda folder: os.truncate(folder / "model.safetensors", 999), "cannot be loaded from its files"),
        (lambda folder: (folder / "config.json").write_text("{"), "from its files.*not a valid JSON"),
        (lambda folder: change(folder, model_type="unheard-of"), "model type `unheard-of`"),
        (lambda folder: change(folder, hidden_size=64), "cannot be loaded from its files"),
        (no_tokenizer, "small-bert has no tokenizer: tokenizer.json or a vocabulary is missing from its folder"),
        (lambda folder: (folder / "tokenizer.json").write_text("{"), "has no tokenizer that can be loaded"),
    ],
)
def test_damaged_files_are_errors_that_say_which(damage, message, folder):
    damage(folder)
    with pytest.raises(ModelError, match=message):
        models.load(folder)


def test_weights_that_are_not_in_the_files_are_noted(folder):
    weights = load_file(folder / "model.safetensors")
    remaining = {name: weight for name, weight in weights.items() if "query" not in name}
    save_file(remaining, folder / "model.safetensors", metadata={"format": "pt"})
    [note] = models.load(folder).notes
    assert note.startswith("4 weights are missing from its files and were set at random: encoder.layer.0")
    assert models.load(folder).hash == models.load(folder).hash


def test_a_tokenizer_that_does_not_know_its_own_words_is_noted(folder):
    no_tokenizer(folder)
    (folder / "vocab.txt").write_text("\n".join([*SPECIALS.values(), *"ACDEFGHIKLMNPQRSTVWY"]))
    [note] = models.load(folder).notes
    assert note.startswith("its tokenizer treats 20 of 20 words of its vocabulary as unknown")
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false, "tokenizer_class": "BertTokenizer"}')
    model = models.load(folder)
    assert not model.notes and models.attention(model, "A C").tokens == ["[CLS]", "A", "C", "[SEP]"]


def test_packaged_weights_are_checked(monkeypatch):
    monkeypatch.setitem(packaged.SHA256, "packaged", "0" * 64)
    with pytest.raises(ModelError, match=r"model\.safetensors .* has sha256 53aa5117…, expected 00000000….*Reinstall"):
        models.load("packaged")


def test_a_packaged_model_that_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(packaged, "PACKAGE", "no-such-package")
    with pytest.raises(ModelError, match=r"not installed\. Run: pip install 'headatlas\[demo\]'"):
        models.load("packaged")


# --- networks that cannot be read


@pytest.mark.parametrize("name", REFUSED)
def test_a_family_that_cannot_be_read_is_refused_by_name(name):
    family, message = REFUSED[name]
    with pytest.raises(ModelError, match=message):
        models.load(family.network(), tokenizer=None if family.reads == "images" else word_tokenizer())


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (lambda: torch.nn.Linear(2, 2), {}, "Linear is not a transformers model"),
        (FAMILIES["BERT"].network, {}, r"BertModel is a network in memory and needs its tokenizer"),
        (FAMILIES["BERT"].network, {"modality": "image"}, "bert reads text, but the data are images"),
        (FAMILIES["ViT"].network, {"modality": "text"}, "vit reads images, but the data are text"),
        (
            lambda: FAMILIES["BERT"].network().bfloat16(),
            {},
            "BertModel is bfloat16 on cpu, .* in float32",
        ),
    ],
)
def test_a_network_that_does_not_fit_is_refused(make, options, message):
    with pytest.raises(ModelError, match=message):
        models.load(make(), **options)


def test_one_model_of_two_modalities_reads_either(small):
    assert small("CLIP text").model.modality == "text" and small("CLIP vision").model.modality == "image"
    assert models.load(FAMILIES["CLIP text"].network(), tokenizer=byte_tokenizer()).modality == "text"


def test_an_empty_text_and_a_missing_image_are_data_errors(small, tmp_path):
    with pytest.raises(DataError, match="the text is empty"):
        models.attention(small("GPT-2").model, "")
    with pytest.raises(DataError, match=r"gone\.png cannot be used: missing"):
        models.attention(small("ViT").model, tmp_path / "gone.png")


# --- the table in the docs


def row(name, model):
    if model.route == "outputs":
        route = "output_attentions"
    else:
        route = "registry, fast" if all(layer.standard for layer in model.layers) else "registry, own eager"
    vectors = "no" if not model.has_vectors else "yes" if model.route == "registry" else "as projected"
    return f"| {name} | `{model.family}` | {route} | {' + '.join(k.split()[1] for k in kinds(model))} | {vectors} |"


def test_the_table_of_families_in_the_docs_matches_the_families(small, load_small):
    lines = ["| family | `model_type` | read through | layers | queries and keys |", "| --- | --- | --- | --- | --- |"]
    lines += [row(name, small(name).model) for name in FAMILIES]
    lines += [row(f"{name} (in part)", load_small(family).model) for name, family in PARTLY.items()]
    assert_table(PAGE, "families", lines)
