"""The loop: the Trainer of transformers, with our batches, pace, metrics, checkpoints and progress bar."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from headatlas.errors import ModelError
from headatlas.progress import Advance
from headatlas.stages.finetune.batches import ENDLESS, Batches, Feature, collate
from headatlas.stages.finetune.checkpoints import Checkpoint, Checkpoints
from headatlas.stages.finetune.losses import asks, loss_and_outputs
from headatlas.stages.finetune.metrics import Metrics
from headatlas.stages.finetune.pace import Pace
from headatlas.stages.finetune.task import Evaluator

LOG_EVERY = 10  # steps
CHECKPOINT_SECONDS = 180.0  # training time that may be lost
WEIGHT_DECAY = 0.01


@dataclass
class Plan:
    """Everything a training run needs besides the network."""

    batches: Batches[Any]
    pad: int
    pace: Pace
    learning_rate: float
    seed: int
    evaluate_every: int | None
    save_every: int | None
    evaluate: Evaluator | None
    save: Callable[[Any, Path], None]  # writes a network so that from_pretrained loads it
    advance: Advance  # the progress bar


class _Features(Dataset[Feature]):
    """The sampler yields features themselves."""

    def __getitem__(self, feature: Feature) -> Feature:
        return feature

    def __len__(self) -> int:
        return ENDLESS


class Training(Trainer):  # type: ignore[misc]
    """Takes batches and evaluation from a plan."""

    def __init__(self, network: Any, plan: Plan, checkpoints: Checkpoints, metrics: Metrics) -> None:
        self.plan, self.metrics = plan, metrics
        super().__init__(network, _arguments(plan, checkpoints), train_dataset=_Features())
        self.remove_callback(PrinterCallback)
        self.add_callback(_Keeper(self, checkpoints))

    def get_train_dataloader(self) -> Any:
        """Our batches; a generator of its own leaves the random numbers of dropout alone."""
        loader = DataLoader(
            _Features(),
            batch_sampler=self.plan.batches,
            collate_fn=partial(collate, pad=self.plan.pad),
            generator=torch.Generator(),
        )
        return self.accelerator.prepare(loader)

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **options: Any) -> Any:
        """The loss of transformers, but for questions."""
        if not asks(inputs):
            return super().compute_loss(model, inputs, return_outputs, **options)
        loss, outputs = loss_and_outputs(model, inputs)
        return (loss, outputs) if return_outputs else loss

    def evaluate(self, *args: Any, **options: Any) -> dict[str, float]:
        """Write a row of evaluation."""
        self.control.should_evaluate = False  # or it would be done again after the last step
        if self.plan.evaluate is None:
            return {}
        started = time.monotonic()
        values = evaluated(self.model, self.state.global_step, self.plan.evaluate)
        if self.is_world_process_zero():
            seconds = {"seconds": self.plan.pace.elapsed, "evaluation_seconds": time.monotonic() - started}
            self.metrics.write("evaluation", self.state.global_step, {**values, **seconds})
        return values


def evaluated(network: Any, step: int, evaluator: Evaluator) -> dict[str, Any]:
    """What an evaluator says of a network, which is set back to training afterwards."""
    network.eval()
    try:
        with torch.no_grad():
            return dict(evaluator(network, step))
    finally:
        network.train()


class _Keeper(TrainerCallback):  # type: ignore[misc]
    """Sets the learning rate, and decides when to log, evaluate, save and stop."""

    def __init__(self, training: Training, checkpoints: Checkpoints) -> None:
        self.training, self.checkpoints = training, checkpoints
        self.plan = training.plan
        self.saved = time.monotonic()
        self.rate = 0.0
        self.shown = 0  # items read by this process

    def _read(self, step: int) -> int:
        """Items read after a step, by all processes."""
        number = step * self.training.args.world_size - 1
        read = self.plan.batches.read
        return read[min(number, len(read) - 1)] if step and read else 0

    def on_step_begin(self, args: Any, state: Any, control: Any, optimizer: Any = None, **others: Any) -> None:
        """Set the learning rate to what it should be in the middle of the step."""
        step = state.global_step
        items = (self._read(step) + self._read(step + 1)) / 2
        self.rate = self.plan.learning_rate * self.plan.pace.factor(self.plan.pace.share(step + 0.5, items))
        for group in optimizer.param_groups:
            group["lr"] = self.rate

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Decide what follows this step; the first process decides what depends on the clock."""
        step, plan = state.global_step, self.plan
        batches_done = step * args.world_size >= len(plan.batches.read) and plan.batches.last
        late = plan.pace.share(step, 0) >= 1 or batches_done
        due = step % LOG_EVERY == 0 and time.monotonic() - self.saved >= CHECKPOINT_SECONDS
        late, due = self._agreed(late), self._agreed(due)
        kept = plan.save_every is not None and step % plan.save_every == 0
        control.should_training_stop = control.should_training_stop or late
        control.should_save = due or kept
        control.should_log = step % LOG_EVERY == 0 or control.should_save or control.should_training_stop
        every = plan.evaluate_every
        control.should_evaluate = (every is not None and step % every == 0) or control.should_training_stop
        self._show(step)

    def _show(self, step: int) -> None:
        """Advance the bar, whose end is where training will be at this pace."""
        read = self._read(step)
        new = read - self._read(step - 1)
        self.shown += new
        share = self.plan.pace.share(step, read)
        self.plan.advance(new, self.shown + round(read * (1 / share - 1)) if share else None)

    def _agreed(self, flag: bool) -> bool:
        """What the first process says, since clocks differ."""
        accelerator = self.training.accelerator
        if accelerator.num_processes == 1:
            return flag
        from accelerate.utils import broadcast

        return bool(broadcast(torch.tensor([int(flag)], device=accelerator.device))[0])

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **others: Any) -> None:
        """Write the mean loss since the last row."""
        if not logs or "loss" not in logs:
            return
        if not math.isfinite(logs["loss"]):
            raise ModelError(f"the loss is not a number at step {state.global_step:,}. Use a lower --learning-rate")
        if state.is_world_process_zero:
            values = {"loss": float(logs["loss"]), "learning_rate": self.rate, "seconds": self.plan.pace.elapsed}
            values["examples"] = self._read(state.global_step)
            self.training.metrics.write("training", state.global_step, values)

    def on_save(self, args: Any, state: Any, control: Any, model: Any = None, **others: Any) -> None:
        """Give the checkpoint its name, and keep the model if asked to."""
        step = state.global_step
        if state.is_world_process_zero:
            written = self.checkpoints.unfinished / f"checkpoint-{step}"
            self.checkpoints.complete(written, step, self.plan.pace.elapsed)
            if self.plan.save_every is not None and step % self.plan.save_every == 0:
                self.checkpoints.keep(step, partial(self.plan.save, model))
        self.saved = time.monotonic()


def _arguments(plan: Plan, checkpoints: Checkpoints) -> TrainingArguments:
    bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    return TrainingArguments(
        output_dir=str(checkpoints.unfinished),
        per_device_train_batch_size=plan.batches.batch_size,
        max_steps=plan.pace.steps or ENDLESS,
        learning_rate=plan.learning_rate,
        lr_scheduler_type="constant",  # the callback sets the rate
        weight_decay=WEIGHT_DECAY,
        bf16=bf16,
        logging_strategy="no",
        eval_strategy="no",
        save_strategy="no",
        logging_nan_inf_filter=False,
        seed=plan.seed,
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        use_cpu=not torch.accelerator.is_available(),
        dataloader_pin_memory=torch.cuda.is_available(),
    )


def train(network: Any, plan: Plan, checkpoint: Checkpoint | None, checkpoints: Checkpoints, metrics: Metrics) -> int:
    """Train from the start or from a checkpoint; the number of steps at the end."""
    training = Training(network, plan, checkpoints, metrics)
    plan.pace.started = time.monotonic()
    training.train(resume_from_checkpoint=str(checkpoint.path) if checkpoint else None)
    return int(training.state.global_step)


@contextmanager
def reproducible(seed: int, threads: int | None) -> Iterator[None]:
    """Fix random numbers and the number of threads; both are as before afterwards."""
    count, state, legacy = torch.get_num_threads(), random.getstate(), np.random.get_state()
    torch.set_num_threads(threads or count)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(count)
        random.setstate(state)
        np.random.set_state(legacy)
