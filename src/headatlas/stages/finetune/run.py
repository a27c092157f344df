"""One training run: load the network, train or continue, and save what from_pretrained loads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headatlas import progress
from headatlas.model_names import without_weights
from headatlas.models.load import quiet, resolve
from headatlas.models.task_networks import ALL, TaskNetwork, dropout_settings, read_config, task_network
from headatlas.stages.finetune import adapters
from headatlas.stages.finetune.batches import Batches, Encoder
from headatlas.stages.finetune.card import make_card
from headatlas.stages.finetune.checkpoints import Checkpoint, Checkpoints
from headatlas.stages.finetune.evaluation import encoded, mean_scores, part
from headatlas.stages.finetune.metrics import Metrics
from headatlas.stages.finetune.pace import Pace
from headatlas.stages.finetune.recipe import FINISHED
from headatlas.stages.finetune.saving import guard, save
from headatlas.stages.finetune.stage import first_process
from headatlas.stages.finetune.task import Evaluator, Items, Request
from headatlas.stages.finetune.training import Plan, reproducible, train
from headatlas.wording.finetune import left_out_line
from headatlas.wording.finetune_card import card_text

EPOCHS = 2.0  # if no limit is given
SMALL = 50_000_000  # parameters


@dataclass
class Run:
    """One training run in a folder, started or continued."""

    folder: Path
    recipe: dict[str, Any]
    request: Request
    items: Items
    held: Items | None
    evaluator: Evaluator | None

    def finish(self) -> None:
        """Train to the end, and save the model; errors of the disk and of memory are one line."""
        with guard(), reproducible(self.request.seed, self.request.threads), quiet():
            self._finish()

    def _finish(self) -> None:
        checkpoints, metrics = Checkpoints(self.folder), Metrics(self.folder)
        checkpoint = checkpoints.last()
        if first_process():
            for line in (*self.items.lines, *(self.held.lines if self.held else ())):
                progress.say(line)
            checkpoints.clear_unfinished()
            metrics.cut(checkpoint.step if checkpoint else -1)
        model = self._network()
        network = adapters.with_adapters(model, self.request.lora) if self.request.lora else model.network
        if first_process() and self.request.save_every and checkpoint is None:
            checkpoints.keep(0, lambda path: save(model, network, path))
        with _bar(f"{self.request.task.unit}s") as advance:
            plan = self._plan(model, self._pace(checkpoint), advance)
            train(network, plan, checkpoint, checkpoints, metrics)
        if first_process():
            self._say_without_windows(plan.batches)
            self._save(model, network, plan, checkpoints, metrics)

    def _network(self) -> TaskNetwork:
        task, name = self.request.task, self.recipe["model"]
        random = self.recipe["from_scratch"] or without_weights(name)
        config = read_config(*resolve(name, weights=not random))
        automatic = task.automatic(config)
        settings = {**task.settings(self.items), **dropout_settings(config, self.request.dropout)}
        return task_network(name, automatic, settings=settings, random=random, seed=self.request.seed)

    def _pace(self, checkpoint: Checkpoint | None) -> Pace:
        request = self.request
        epochs = EPOCHS if request.epochs is request.steps is request.minutes is None else request.epochs
        items = None if epochs is None else max(1, round(epochs * len(self.items.items)))
        seconds = None if request.minutes is None else 60 * request.minutes
        return Pace(request.steps, items, seconds, request.warmup, checkpoint.seconds if checkpoint else 0.0)

    def _plan(self, model: TaskNetwork, pace: Pace, advance: progress.Advance) -> Plan:
        request = self.request
        encode = request.task.encoder(model)
        return Plan(
            batches=Batches(self.items.items, encode, request.batch, seed=request.seed, planned=pace.items),
            pad=model.pad,
            pace=pace,
            learning_rate=learning_rate(model, request),
            seed=request.seed,
            evaluate_every=request.evaluate_every,
            save_every=request.save_every,
            evaluate=self._evaluation(model, encode),
            save=lambda network, path: save(model, network, path),
            advance=advance,
        )

    def _evaluation(self, model: TaskNetwork, encode: Encoder[Any]) -> Evaluator | None:
        """The mean loss on a part of the held-out items, and what the evaluator adds."""
        if self.held is None:
            return self.evaluator
        chosen = part(self.held.items, self.request.seed)
        features = encoded(chosen, encode, self.request.seed)

        def evaluate(network: Any, step: int) -> dict[str, Any]:
            scores = mean_scores(network, features, self.request.batch, model.pad)
            more = self.evaluator(network, step) if self.evaluator else {}
            return {**scores, f"{self.request.task.unit}s": len(chosen), **more}

        return evaluate

    def _say_without_windows(self, batches: Batches[Any]) -> None:
        """Items that no window has room for are found as they are encoded."""
        if batches.without_windows:
            ids = [getattr(self.items.items[number], "id", str(number)) for number in sorted(batches.without_windows)]
            progress.say(left_out_line(self.request.task.unit, "too long for a window, or empty", ids))

    def _save(self, model: TaskNetwork, network: Any, plan: Plan, checkpoints: Checkpoints, metrics: Metrics) -> None:
        """Write the model beside its place, then move it there; the card comes last."""
        written = checkpoints.unfinished / "model"
        save(model, network, written)
        rate, rows = plan.learning_rate, metrics.rows()
        card = make_card(self.folder, self.recipe, self.request, model, self.items, self.held, rate, rows)
        (written / FINISHED).write_text(card_text(card))
        for file in sorted(written.iterdir(), key=lambda file: file.name == FINISHED):
            file.rename(self.folder / file.name)
        checkpoints.clear()


@contextmanager
def _bar(unit: str) -> Iterator[progress.Advance]:
    """The progress bar, in one of several processes."""
    if not first_process():
        yield lambda steps, total=None: None
        return
    with progress.bar("training", None, unit) as advance:
        yield advance


def learning_rate(model: TaskNetwork, request: Request) -> float:
    """The given peak, or one that suits: small models, new ones and adapters take larger steps."""
    if request.learning_rate != "auto":
        return float(request.learning_rate)
    if request.lora or model.new == ALL:
        return 5e-4
    return 1e-4 if model.parameters < SMALL else 3e-5
