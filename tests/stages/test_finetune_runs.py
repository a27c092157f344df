"""Fine-tuning as a whole: the same bits twice and after a kill, what is saved and refused, every task, adapters."""

import json
import pickle
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

import headatlas as ha
from headatlas.errors import DataError, ModelError, OptionError, StoreError
from headatlas.stages.finetune import training
from headatlas.stages.finetune.metrics import Metrics
from headatlas.stages.finetune.question_features import question_features
from headatlas.stages.finetune.question_items import read_questions
from support.commands import bits, call
from support.training import STEPS, WINDOW, command, interrupt, questions, small_with_questions, train, weights


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return small_with_questions(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def trained(small, tmp_path_factory):
    return train(small, tmp_path_factory.mktemp("trained") / "qa").folder


def numbers(folder):
    """The metrics without what the clock says, and without the scores that only the command adds."""
    rows = [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]
    names = ("kind", "step", "loss", "learning_rate", "examples", "questions")
    return [{name: row[name] for name in names if name in row} for row in rows]


def test_the_same_seed_gives_the_same_bits_and_another_seed_others(small, trained, tmp_path):
    random_state = torch.get_rng_state(), np.random.get_state()[1].tolist()
    again = train(small, tmp_path / "again").folder
    assert weights(again) == weights(trained) and numbers(again) == numbers(trained)
    assert torch.equal(torch.get_rng_state(), random_state[0]) and np.random.get_state()[1].tolist() == random_state[1]
    other = train(small, tmp_path / "other", seed=1, steps=4).folder
    assert weights(other)["model.safetensors"] not in weights(trained).values()


def test_a_finished_folder_holds_the_model_and_how_it_was_made(small, trained):
    assert sorted(path.name for path in trained.iterdir()) == [
        "README.md", "config.json", "metrics.jsonl", "model.safetensors", "recipe.json", "steps", "tokenizer.json",
        "tokenizer_config.json",
    ]  # fmt: skip
    for folder in (trained, trained / "steps" / "000004"):
        assert ha.models.load(str(folder)).notes == ()
        network = transformers.AutoModelForQuestionAnswering.from_pretrained(folder)
        assert "truncation" not in json.loads((folder / "tokenizer.json").read_text()) or (
            json.loads((folder / "tokenizer.json").read_text())["truncation"] is None
        )
        assert network.qa_outputs.weight.shape == (2, 32)
    assert sorted(path.name for path in (trained / "steps").iterdir()) == ["000000", "000004", "000008", "000012"]
    assert weights(trained)["model.safetensors"] == weights(trained)["steps/000012/model.safetensors"]
    recipe = json.loads((trained / "recipe.json").read_text())
    assert recipe["model"] == small and recipe["max_tokens"] == 48 and recipe["data"][0]["name"] == questions(small)
    card = (trained / "README.md").read_text()
    for part in ("pipeline_tag: question-answering", "Trained on squad:", "| steps | 12 |", "qa_outputs"):
        assert part in card


def test_metrics_say_loss_rate_and_time(trained):
    rows = Metrics(trained).rows()
    steps = [row for row in rows if row["kind"] == "training"]
    assert set(steps[0]) == {"kind", "step", "loss", "learning_rate", "seconds", "examples"}
    assert [row["step"] for row in steps] == [4, 8, 10, 12]  # every tenth step, and with each checkpoint
    assert steps[-1]["learning_rate"] == pytest.approx(1e-4 * (1 - 11.5 / 12) / 0.9, rel=1e-4)
    assert [row["step"] for row in rows if row["kind"] == "evaluation"] == [4, 8, 12]


def test_the_evaluation_loss_is_that_of_the_saved_network_one_window_at_a_time(small, trained):
    network = transformers.AutoModelForQuestionAnswering.from_pretrained(trained).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(trained)
    model = ha.models.task_networks.TaskNetwork("small", network, tokenizer, 64)
    losses = []
    for question in read_questions([ha.data.load(questions(small))]).questions:
        for feature in question_features(model, question, ha.data.Window(48, 12)):
            with torch.no_grad():
                output = network(
                    input_ids=torch.tensor([feature.ids.tolist()]),
                    token_type_ids=torch.tensor([feature.types.tolist()]),
                )
            log = [torch.log_softmax(logits[0].double(), 0) for logits in (output.start_logits, output.end_logits)]
            start, end = feature.targets["start_positions"], feature.targets["end_positions"]
            losses.append(-(log[0][start] + log[1][end]).item() / 2)
    (last,) = [row for row in numbers(trained) if row["kind"] == "evaluation" and row["step"] == 12]
    assert last["loss"] == pytest.approx(np.mean(losses), rel=1e-4)


# interruptions


def test_a_killed_run_continues_with_the_same_bits(small, trained, tmp_path):
    folder = tmp_path / "killed"
    child = subprocess.Popen([sys.executable, "-m", "headatlas", *command(small, folder)], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while not (folder / "steps" / "000004").exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL, "the process ended before it could be killed"
    assert not (folder / "README.md").exists() and (folder / "checkpoint").is_dir()
    half = folder / "training.unfinished" / "checkpoint-11"  # a checkpoint that was being written
    half.mkdir(parents=True, exist_ok=True)
    (half / "model.safetensors").write_bytes(b"half")
    code, out, err = call(*command(small, folder))
    assert code == 0 and "12 steps" in out, err
    assert weights(folder) == weights(trained) and numbers(folder) == numbers(trained)
    assert not (folder / "training.unfinished").exists() and not (folder / "checkpoint").exists()


@contextmanager
def largest_file(size):
    """No file may become larger: writing beyond that fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_one_line_and_the_run_continues(small, trained, tmp_path):
    folder = tmp_path / "full"
    interrupt(small, folder)
    with (
        largest_file(60_000),
        pytest.raises(StoreError, match=r"no space left for .*full. What is written is kept: make room"),
    ):
        train(small, folder)
    assert [path.name for path in (folder / "checkpoint").iterdir()] == ["000004"]
    train(small, folder)
    assert weights(folder) == weights(trained)


def test_other_options_in_the_same_folder_are_refused(small, trained):
    before = bits(trained)
    with pytest.raises(
        OptionError, match=r"qa was trained with seed 0, not seed 3. Give the same options to continue, or"
    ):
        train(small, trained, seed=3)
    with pytest.raises(OptionError, match=r"was trained with data squad:.*, not data sample:questions "):
        ha.finetune.questions(small, "sample:questions", trained, **(STEPS | WINDOW))
    assert train(small, trained).folder == trained  # nothing is left to do
    assert bits(trained) == before


def test_a_folder_with_something_else_is_refused_and_one_where_nothing_was_trained_is_not(small, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(
        StoreError, match=r"is not empty \(notes.txt\) and has no recipe.json. Choose another folder with -o"
    ):
        train(small, tmp_path)
    with pytest.raises(DataError, match="is not in SQuAD format"):
        ha.finetune.questions(small, "sample", tmp_path / "x", steps=2)
    assert ha.finetune.questions(small, questions(small), tmp_path / "x", steps=2, batch=2, **WINDOW, threads=1).metrics


class Trap:
    """Unpickled by something that runs code, it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_checkpoint_runs_no_code(small, tmp_path):
    from headatlas.stages.finetune.checkpoints import POSITION, Checkpoints, _digests

    folder = tmp_path / "trap"
    interrupt(small, folder)
    path = Checkpoints(folder).last().path
    (path / "optimizer.pt").write_bytes(pickle.dumps(Trap(tmp_path / "ran"), protocol=2))
    with pytest.raises(StoreError, match="is damaged"):
        train(small, folder)
    position = json.loads((path / POSITION).read_text())
    (path / POSITION).write_text(json.dumps(position | {"files": _digests(path)}))
    with pytest.raises(StoreError, match="holds more than weights and is not loaded"):
        train(small, folder)
    assert not (tmp_path / "ran").exists()


# limits


def test_minutes_end_training_and_the_rate_follows_the_clock(small, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "LOG_EVERY", 1)
    started = time.monotonic()
    result = ha.finetune.questions(
        small, questions(small), tmp_path / "x", minutes=0.05, learning_rate=1e-3, batch=2, threads=1, **WINDOW
    )
    rows = [row for row in result.metrics if row["kind"] == "training"]
    assert 3 <= rows[-1]["seconds"] < time.monotonic() - started
    assert all(row["seconds"] < 3 for row in rows[:-1])
    before = 0.0
    for row in rows:  # the rate is set at the start of a step, between two rows
        rate = row["learning_rate"] / 1e-3
        shares = 0.1 * rate, 1 - 0.9 * rate  # while it rises, and while it falls
        assert any(before / 3 - 1e-4 <= share <= row["seconds"] / 3 + 1e-4 for share in shares)
        before = row["seconds"]


def test_epochs_read_every_question_that_often(small, tmp_path):
    result = ha.finetune.questions(
        small, questions(small), tmp_path / "x", epochs=1.5, limit=6, batch=4, threads=1, **WINDOW
    )
    assert result.metrics[-1]["examples"] == 9
    assert str(result).startswith(f"{tmp_path / 'x'}: {result.metrics[-1]['step']} steps on 9 questions in ")


def test_a_loss_that_is_not_a_number_ends_training(small, tmp_path):
    with pytest.raises(ModelError, match=r"the loss is not a number at step .*. Use a lower --learning-rate"):
        train(small, tmp_path / "x", learning_rate=1e30, steps=40, save_every=1)


def test_an_evaluator_gets_the_network_and_its_numbers_are_written(small, tmp_path):
    seen = []

    def evaluator(network, step):
        seen.append((step, network.training, torch.is_grad_enabled()))
        return {"exact": step / 2}

    result = train(small, tmp_path / "x", evaluator=evaluator, steps=8)
    assert seen == [(4, False, False), (8, False, False)]
    assert [row["exact"] for row in result.metrics if row["kind"] == "evaluation"] == [2, 4]
    assert "exact 4.0" in str(result)
