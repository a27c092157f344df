"""Train the packaged vision transformer on pictures that are drawn as they are needed.

    python examples/train_vit.py OUT

writes a folder as `save_pretrained` does: config.json, model.safetensors in half precision, preprocessor_config.json.
No picture is seen twice: `--start OUT --first 256000` goes on with other pictures. Training pictures have
seed 1, those of the test seed 2, and `sample:images` seed 0.

Besides the class of the picture, the network predicts for every patch whether it shows the subject, and of which class:
a loss at every token needs far fewer pictures than one at [CLS] alone. This second classifier is not saved.
"""

import argparse
import math
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional
from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessorPil

from headatlas.data import drawings

TRAIN, TEST = 1, 2  # seeds of pictures
PATCH = 8
SHAPE = {"hidden_size": 96, "num_hidden_layers": 6, "num_attention_heads": 6, "intermediate_size": 192}
COVERED = 0.25  # share of a patch that shows the subject, from which on the patch has its class
NOTHING = len(drawings.CLASSES)  # the class of other patches
NUMBER = {label: number for number, label in enumerate(drawings.CLASSES)}


def network() -> ViTForImageClassification:
    """The network, not trained."""
    labels = dict(enumerate(drawings.CLASSES))
    config = ViTConfig(**SHAPE, image_size=drawings.SIDE, patch_size=PATCH, id2label=labels, label2id=NUMBER)
    return ViTForImageClassification(config)


def batch(first: int, size: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pixels from -1 to 1, the class of each picture, and the class of each patch."""
    pictures = [drawings.draw(number, seed) for number in range(first, first + size)]
    pixels = torch.from_numpy(np.stack([picture.pixels for picture in pictures])).permute(0, 3, 1, 2) / 127.5 - 1
    classes = torch.tensor([NUMBER[picture.label] for picture in pictures])
    subject = torch.from_numpy(np.stack([picture.subject for picture in pictures]))
    covered = functional.avg_pool2d(subject[:, None], PATCH).flatten(1) > COVERED  # (picture, patch)
    return pixels, classes, torch.where(covered, classes[:, None], NOTHING)


def rate(step: int, steps: int, warmup: int = 300) -> float:
    """The share of the learning rate at a step: up in a line, down as a cosine."""
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def train(options: argparse.Namespace) -> ViTForImageClassification:
    torch.manual_seed(options.seed)
    net = (ViTForImageClassification.from_pretrained(options.start) if options.start else network()).float().train()
    patches = torch.nn.Linear(SHAPE["hidden_size"], NOTHING + 1)
    weights = [*net.parameters(), *patches.parameters()]
    decayed = [{"params": [weight for weight in weights if weight.ndim > 1], "weight_decay": 0.05}]
    decayed += [{"params": [weight for weight in weights if weight.ndim < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(decayed, lr=options.rate, betas=(0.9, 0.98), fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(step, options.steps))
    start, right, losses = time.monotonic(), 0, []
    for step in range(options.steps):
        pixels, classes, of_patches = batch(options.first + step * options.batch, options.batch, TRAIN)
        states = net.vit(pixels).last_hidden_state  # (picture, token, feature)
        logits = net.classifier(states[:, 0])
        loss = functional.cross_entropy(logits, classes)
        total = loss + functional.cross_entropy(patches(states[:, 1:]).flatten(0, 1), of_patches.flatten())
        optimizer.zero_grad()
        total.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
        right, losses = right + int((logits.argmax(1) == classes).sum()), [*losses, float(loss)]
        if (step + 1) % options.report == 0:
            accuracy, seconds = right / options.report / options.batch, time.monotonic() - start
            print(f"step {step + 1}  loss {np.mean(losses):.3f}  accuracy {accuracy:.3f}  {seconds:.0f} s", flush=True)
            right, losses = 0, []
            save(net, options.out)
    return net


def save(net: ViTForImageClassification, folder: Path) -> None:
    """Write the network in half precision, and how pictures are prepared for it."""
    state = {name: value.half() for name, value in net.state_dict().items()}
    net.save_pretrained(folder, state_dict=state)
    ViTImageProcessorPil(size={"height": drawings.SIDE, "width": drawings.SIDE}).save_pretrained(folder)


def score(folder: Path, count: int, seed: int = TEST) -> None:
    """Print the accuracy of a saved network on pictures of another seed, of each kind and of all."""
    net = ViTForImageClassification.from_pretrained(folder, dtype=torch.float32).eval()
    right, wrong = Counter[str](), Counter[tuple[str, str]]()
    kinds = {label: kind for kind, labels in drawings.KINDS.items() for label in labels}
    for first in range(0, count, 100):
        size = min(100, count - first)
        pixels, classes, _ = batch(first, size, seed)
        with torch.no_grad():
            guesses = net(pixels).logits.argmax(1)
        for label, guess in zip(classes.tolist(), guesses.tolist(), strict=True):
            right[kinds[drawings.CLASSES[label]], label == guess] += 1
            if label != guess:
                wrong[drawings.CLASSES[label], drawings.CLASSES[guess]] += 1
    for kind in drawings.KINDS:
        shown = right[kind, True] + right[kind, False]
        print(f"{kind}: {right[kind, True] / shown:.4f} of {shown:,}")
    print(f"all: {1 - wrong.total() / count:.4f} of {count:,}; most often confused: {wrong.most_common(8)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=Path, help="continue from this folder, with --first pictures seen before")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--report", type=int, default=100)
    parser.add_argument("--test", type=int, default=3700, help="pictures of the test")
    parser.add_argument("--only-test", action="store_true", help="score what is in OUT")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if not options.only_test:
        save(train(options), options.out)
    score(options.out, options.test)


if __name__ == "__main__":
    main()
