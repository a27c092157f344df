"""When do heads take up their jobs? A small decoder trained from scratch, its checkpoints compared.

    python examples/train_series.py FOLDER [--steps 2000] [--every 50] [--json]

Two seeds of the same small Llama are trained on texts in which a phrase of random words comes again and again, after a
few other words: from the second time on its words can only be predicted by looking back, as induction heads do, and
no fixed distance tells where. Checkpoints of each seed are collected on texts that no training saw, and compared as a
series. Heads of one place in two seeds have nothing in common, so the seeds are two series. What is in FOLDER already
is not computed again.
"""

import argparse
import json
import random
import re
from collections import Counter
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, PreTrainedTokenizerFast

import headatlas as ha

SHAPE = {
    "hidden_size": 128,
    "initializer_range": 0.08,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
WORDS, LENGTH = 100, 64  # in the vocabulary, and in a text
BATCH = 32
UNKNOWN, START = "<unk>", "<s>"
HELD_OUT = 60  # texts to collect on
SHOWN = (0, 2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 16, 20, 30, 40)  # checkpoints, in units of `--every`


def repeated(rng: random.Random, words: list[str]) -> str:
    """A phrase of 8 to 20 random words again and again, each time followed by up to six other words."""
    phrase, text = [rng.choice(words) for _ in range(rng.randint(8, 20))], []
    while len(text) < LENGTH:
        text += phrase + [rng.choice(words) for _ in range(rng.randint(0, 6))]
    return " ".join(text[:LENGTH])


def make_texts(folder: Path, count: int) -> list[str]:
    """Write texts to train on, and other texts to collect on; returns the words, the most frequent of our corpus."""
    counts = Counter(word for example in ha.data.load("sample") for word in re.findall(r"\w+", example.text.lower()))
    words, rng = [word for word, _ in counts.most_common(WORDS)], random.Random(0)
    for name, number in (("train", count), ("held", HELD_OUT)):
        lines = [json.dumps({"text": repeated(rng, words)}) + "\n" for _ in range(number)]
        (folder / f"{name}.jsonl").write_text("".join(lines))
    return words


def make_architecture(folder: Path, words: list[str]) -> None:
    """A folder with a configuration and a tokenizer whose tokens are words, without weights."""
    numbers = {word: number for number, word in enumerate([START, UNKNOWN, *words])}
    tokenizer = Tokenizer(models.WordLevel(numbers, UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"bos_token": START, "eos_token": START, "pad_token": START, "unk_token": UNKNOWN}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=LENGTH, **special).save_pretrained(folder)
    numbers = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0, "vocab_size": len(numbers)}
    LlamaConfig(**SHAPE, **numbers, max_position_embeddings=LENGTH).save_pretrained(folder)


def train_seeds(folder: Path, steps: int, every: int) -> list[Path]:
    """Train two seeds, and keep checkpoints."""
    train, held, architecture = folder / "train.jsonl", folder / "held.jsonl", folder / "architecture"
    if not (architecture / "config.json").exists():
        make_architecture(architecture, make_texts(folder, steps * BATCH))
    runs = [folder / f"seed{seed}" for seed in range(2)]
    for seed, run in enumerate(runs):
        ha.finetune.lm(
            architecture, str(train), run, evaluation=str(held), max_tokens=LENGTH, steps=steps, batch=BATCH,
            learning_rate=2e-3, save_every=every, evaluate_every=every, seed=seed, threads=1,
        )  # fmt: skip
    return runs


def compare(folder: Path, run: Path, steps: int, every: int) -> ha.Atlas:
    """Collect the checkpoints of a seed, and compare them as a series."""
    held, chosen = str(folder / "held.jsonl"), [number * every for number in SHOWN if number * every <= steps]
    atlases = [
        ha.collect.maps(run / "steps" / f"{step:06d}", held, folder / f"{run.name}-step{step}.atlas") for step in chosen
    ]
    ha.compare.models(*atlases, steps=[str(step) for step in chosen], name="series")
    return atlases[0]


def jobs(atlas: ha.Atlas) -> list[dict]:
    """What each head does at the end and did not do at first, with the step at which it takes that up."""
    models = {row["model"]: row["label"] for row in atlas.table("compare_models").to_pylist()}
    rows = [row for row in atlas.table("compare_series").to_pylist() if row["taken_up"] is not None]
    return [{**row, "taken_up": int(models[row["taken_up"]])} for row in rows]


def losses(run: Path) -> dict[int, float]:
    """The loss on the texts that training did not see, by step."""
    rows = [json.loads(line) for line in (run / "metrics.jsonl").open()]
    return {row["step"]: row["loss"] for row in rows if row["kind"] == "evaluation"}


def show(run: Path, atlas: ha.Atlas) -> None:
    """What was found, and the statistic of each job over the steps."""
    print(f"\n{run.name}\n{ha.compare.summary(atlas, 'series')}\n")
    print("loss: " + ", ".join(f"step {step} {loss:.2f}" for step, loss in losses(run).items()))
    for row in sorted(jobs(atlas), key=lambda row: (row["taken_up"], row["layer"], row["head"])):
        values = " ".join(f"{value:.2f}" for value in row["values"])
        print(f"step {row['taken_up']:5}  L{row['layer']}·H{row['head']} {row['statistic']:18} {values}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    runs = train_seeds(options.folder, options.steps, options.every)
    atlases = [compare(options.folder, run, options.steps, options.every) for run in runs]
    if options.json:
        found = {
            run.name: {"losses": losses(run), "jobs": jobs(atlas)} for run, atlas in zip(runs, atlases, strict=True)
        }
        print(json.dumps(found, indent=1))
        return
    for run, atlas in zip(runs, atlases, strict=True):
        show(run, atlas)


if __name__ == "__main__":
    main()
