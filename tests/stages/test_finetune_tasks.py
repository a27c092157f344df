"""Fine-tuning: classes, tokens, training from scratch, adapters, and mistakes."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file

import headatlas as ha
from headatlas.errors import ModelError, OptionError
from support.commands import call, notes
from support.training import (
    command,
    interrupt,
    questions,
    small_folder,
    small_gpt,
    small_with_questions,
    story,
    train,
    weights,
)

DROPOUT = {"own": None, "same": 0.1, "none": 0.0}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return small_with_questions(tmp_path_factory.mktemp("small"))


def table(path, count=60):
    """Texts about rain or sun: one word tells the class."""
    rng = np.random.default_rng(0)
    words = ["the", "bell", "ship", "garden", "school", "night"]
    lines = ["text,mood"]
    for number in range(count):
        chosen = [*rng.choice(words, 5), "rain" if number % 2 else "sun"]
        lines.append(f"{' '.join(rng.permutation(chosen))},{'wet' if number % 2 else 'dry'}")
    path.write_text("\n".join(lines))
    return str(path)


def test_classification_learns_classes_and_says_how_many_it_gets_right(small, tmp_path):
    data = table(tmp_path / "moods.csv")
    result = ha.finetune.classification(
        small, data, tmp_path / "x", label_column="mood", evaluation=data, epochs=8, batch=8, learning_rate=3e-3,
        max_tokens=48, threads=1,
    )  # fmt: skip
    network = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "x").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "x")
    assert network.config.id2label == {0: "dry", 1: "wet"}
    right = 0
    for example in ha.data.load(data):
        logits = network(**tokenizer(example.text, return_tensors="pt")).logits
        right += network.config.id2label[int(logits.argmax())] == example.columns["mood"]
    assert result.metrics[-1]["accuracy"] == pytest.approx(right / 60) and right > 57
    assert "pipeline_tag: text-classification" in (tmp_path / "x" / "README.md").read_text()


@pytest.mark.parametrize(("make", "head"), [(small_folder, "BertForMaskedLM"), (small_gpt, "GPT2LMHeadModel")])
def test_language_modeling_predicts_what_the_model_can(make, head, tmp_path):
    model = make(tmp_path / "model")
    result = ha.finetune.lm(
        model, "sample", tmp_path / "x", evaluation=ha.data.load("sample", limit=30), steps=20, batch=8,
        learning_rate=3e-3, max_tokens=32, evaluate_every=10, limit=30, threads=1,
    )  # fmt: skip
    losses = [row["loss"] for row in result.metrics if row["kind"] == "evaluation"]
    assert losses[1] < losses[0] < 6.2  # an untrained model has about log(400) = 5.99
    assert json.loads((tmp_path / "x" / "config.json").read_text())["architectures"] == [head]
    assert ha.models.load(str(tmp_path / "x")).notes == ()
    if head == "GPT2LMHeadModel":
        assert losses[1] == pytest.approx(slow_language_loss(tmp_path / "x"), rel=1e-4)


def slow_language_loss(folder):
    """The mean of −log p of every token but the first of each window, one window at a time."""
    network = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    losses = []
    for example in ha.data.load("sample", limit=30):
        ids = tokenizer(example.text).input_ids
        for start in range(0, len(ids), 32):
            window = torch.tensor([ids[start : start + 32]])
            if window.shape[1] > 1:
                with torch.no_grad():
                    log = torch.log_softmax(network(window).logits[0].double(), -1)
                losses += [-log[place, token].item() for place, token in enumerate(window[0, 1:])]
    return np.mean(losses)


def test_training_from_scratch_starts_with_random_weights(small, tmp_path):
    bare = small_folder(tmp_path / "bare", weights=False)
    options = {"steps": 1, "batch": 2, "learning_rate": 1e-9, "max_tokens": 16, "limit": 4, "threads": 1}
    layers = {}
    runs = [("flag", small, {"from_scratch": True}), ("folder", bare, {}), ("seed", bare, {"seed": 1})]
    runs.append(("tuned", small, {}))
    for name, model, more in runs:
        ha.finetune.lm(model, "sample", tmp_path / name, **options, **more)
        layers[name] = load_file(tmp_path / name / "model.safetensors")["bert.encoder.layer.0.output.dense.weight"]
    assert torch.equal(layers["flag"], layers["folder"])
    assert not torch.allclose(layers["flag"], layers["seed"])
    given = load_file(f"{small}/model.safetensors")["encoder.layer.0.output.dense.weight"]
    assert torch.allclose(layers["tuned"], given, atol=1e-6) and not torch.allclose(layers["flag"], given)
    assert "started at random: all weights" in (tmp_path / "flag" / "README.md").read_text()


# adapters


def test_adapters_are_merged_so_that_the_folder_loads_without_peft(small, tmp_path):
    before = {name: value.clone() for name, value in load_file(f"{small}/model.safetensors").items()}
    logits = {}

    def evaluator(network, step):
        inputs = torch.arange(5, 25)[None]
        logits[step] = network(input_ids=inputs).start_logits.clone()
        return {}

    folder = tmp_path / "lora"
    interrupt(small, folder, lora=2)
    train(small, folder, lora=2, evaluator=evaluator)
    whole = train(small, tmp_path / "whole", lora=2)
    assert weights(folder) == weights(whole.folder)  # also after an interruption
    for step, path in ((12, folder), (8, folder / "steps" / "000008")):
        network = transformers.AutoModelForQuestionAnswering.from_pretrained(path).eval()
        assert torch.allclose(network(input_ids=torch.arange(5, 25)[None]).start_logits, logits[step], atol=1e-5)
    start = load_file(folder / "steps" / "000000" / "model.safetensors")
    assert all(torch.equal(start[f"bert.{name}"], value) for name, value in before.items() if f"bert.{name}" in start)
    after = load_file(folder / "model.safetensors")
    assert not any("lora" in name for name in after) and "qa_outputs.weight" in after
    changed = {name for name in before if name in after or f"bert.{name}" in after}
    for name in changed:
        difference = after.get(f"bert.{name}", after.get(name)) - before[name]
        adapted = name.endswith("weight") and difference.ndim == 2 and "embeddings" not in name
        rank = int(torch.linalg.matrix_rank(difference, tol=1e-7)) if difference.ndim == 2 else 0
        assert (0 < rank <= 2) if adapted else not difference.any(), name


# mistakes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unanswerable": 1}, "unanswerable 1: give a share below 1"),
        ({"overlap": 48}, "A window of 48 tokens cannot overlap the next by 48"),
        ({"warmup": 2}, "warmup 2: give a share of training, from 0 to 1"),
        ({"dropout": 1.0}, "dropout 1: give a share below 1"),
        ({"steps": 0}, "steps 0: give a whole number of at least 1"),
        ({"minutes": 0.0}, "minutes 0.0: give a number above 0"),
        ({"lora": 2, "from_scratch": True}, "all weights are random here"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(small, tmp_path, options, message):
    with pytest.raises(OptionError, match=message):
        train(small, tmp_path / "x", **options)
    assert not (tmp_path / "x").exists()


def test_a_missing_package_is_named(small, tmp_path, monkeypatch):
    for package, options in (("accelerate", {}), ("peft", {"lora": 2})):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            with pytest.raises(OptionError, match=f"finetune needs {package}. Run: pip install 'headatlas.finetune.'"):
                train(small, tmp_path / "x", **options)


def test_families_without_the_head_are_refused(tmp_path):
    with pytest.raises(ModelError, match="transformers has no QuestionAnswering network of the family vit"):
        ha.finetune.questions("packaged:vit", "sample:questions", tmp_path / "x")
    t5 = transformers.T5Config(vocab_size=400, d_model=32, d_kv=8, d_ff=48, num_heads=4, num_layers=1)
    model = small_folder(tmp_path / "t5", config=t5)
    with pytest.raises(ModelError, match="t5 has an encoder and a decoder"):
        ha.finetune.lm(model, "sample", tmp_path / "y")


def test_two_processes_in_one_folder_are_one_line(small, tmp_path):
    from headatlas.atlas import lock
    from headatlas.atlas.files import Files

    (tmp_path / "x").mkdir()
    with lock.hold(Files(tmp_path / "x"), "training", folder=""):
        code = (
            "import sys; from headatlas.cli import main; "
            f"sys.argv = ['headatlas', *{command(small, tmp_path / 'x')!r}]; main()"
        )
        child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert child.returncode == 1 and f"process {os.getpid()} on" in child.stderr and "Traceback" not in child.stderr


def test_the_command_reads_several_files_and_says_what_it_left_out(small, tmp_path):
    first, second = story(tmp_path / "a.json"), story(tmp_path / "b.json")
    code, out, err = call(
        "finetune", small, first, second, "-o", tmp_path / "x", "--steps", 2, "--batch", 2, "--unanswerable", 0.4,
        "--max-tokens", 32, "--overlap", 8, "--threads", 1,
    )  # fmt: skip
    assert code == 0, err
    lines = notes(err)
    assert lines[0] == "5 questions are left out: an id that occurred before (a, b, c, …)"
    assert lines[1].startswith("3 of 7 questions are unanswerable; 2 of them were made by changing a detail")
    assert out.startswith(f"{tmp_path / 'x'}: 2 steps on ")
    code, _, err = call("finetune", small, first, "-o", tmp_path / "y", "--task", "translation")
    assert code == 1 and "--task translation: choose questions, classification, lm" in err
    code, _, err = call("finetune", small, first, "-o", tmp_path / "y", "--label-column", "mood")
    assert code == 1 and "--label-column is for classification, not for questions" in err


def test_the_command_writes_the_scores_of_evaluate(small, tmp_path):
    call(*command(small, tmp_path / "x", lora=2))
    rows = [json.loads(line) for line in (tmp_path / "x" / "metrics.jsonl").read_text().splitlines()]
    last = [row for row in rows if row["kind"] == "evaluation"][-1]
    scores = ha.evaluate.evaluator(tmp_path / "x", None, questions(small))
    assert {name: last[name] for name in scores} == pytest.approx(scores, abs=1e-3)


def test_dropout_is_that_of_the_configuration_or_what_is_given(small, tmp_path):
    options = {"steps": 2, "save_every": None, "evaluate_every": None}
    runs = {name: train(small, tmp_path / name, **options, dropout=share) for name, share in DROPOUT.items()}
    configs = {name: json.loads((run.folder / "config.json").read_text()) for name, run in runs.items()}
    assert [config["hidden_dropout_prob"] for config in configs.values()] == [0.1, 0.1, 0.0]
    losses = {name: run.metrics[0]["loss"] for name, run in runs.items()}
    assert losses["own"] == losses["same"] != losses["none"]
