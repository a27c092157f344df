"""What collecting costs: compared with a plain forward pass, with a custom script, and in memory.

    python benchmarks/collect.py [--squad FILE] [--json]
    python benchmarks/collect.py --whole              the whole file in one command: time, size on disk, memory

1. CPU time on one thread of one batch (packaged MiniLM, 384 tokens): ours with 32 × 32 pooling and all statistics, a
   plain sdpa forward that returns no maps, and eager attention with output_attentions. Interleaved; median of ratios.
2. CPU time of 300 questions from file to result: ours, and a plain script (eager, every map resized, NumPy statistics)
   in three versions: padded to 384 tokens, as the usual example for question answering is; the same with each example's
   own tokens cut out of the maps; and that again, padded only to the longest of eight neighbors.
3. Peak memory of whole runs with 300 and with 3,000 examples.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SQUAD = Path(__file__).resolve().parents[2] / "shared" / "data" / "squad_v2" / "dev-v2.0.json"

SCRIPTS = (
    ("script, padded to 384", "max_length", False),
    ("script, 384, padding cut", "max_length", True),
    ("script, by 8, padding cut", True, True),
)


def cpu(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def one_batch(repeats=15, examples=5, tokens=384):
    import torch
    from transformers import AutoModel

    import headatlas as ha
    from headatlas.models import capture
    from headatlas.models.batch import text_batch
    from headatlas.models.encode import encode
    from headatlas.stages.collect.layout import text_layout
    from headatlas.stages.collect.reduce import Reduce
    from headatlas.stages.collect.stat_axis import statistics_of

    torch.set_num_threads(1)
    model = ha.models.load("packaged")
    names = statistics_of(model)
    texts = [example.text for example in ha.data.load("sample")]
    long = [ha.data.Example(str(i), " ".join(texts[i * 8 : i * 8 + 8])) for i in range(examples)]
    encoded = [encode(model, example, max_tokens=tokens)[0] for example in long]
    assert all(len(example.source) == tokens for example in encoded)
    batch = text_batch(model, encoded)
    plain = {
        kind: AutoModel.from_pretrained(model.source, attn_implementation=kind).eval() for kind in ("sdpa", "eager")
    }

    def forward(kind, **options):
        with torch.inference_mode():
            plain[kind](**batch.inputs, **options)

    def ours():
        def make_layout(e, kind, causal):
            tokens_of_example = encoded[e].source
            return text_layout(tokens_of_example, tokens_of_example, names.specials, names.separator, 32, causal)

        capture.run(model, batch.inputs, Reduce(model, batch, names, 32, make_layout))

    contenders = {
        "sdpa forward, no maps": lambda: forward("sdpa"),
        "headatlas, everything": ours,
        "eager, output_attentions": lambda: forward("eager", output_attentions=True),
    }
    times = {name: [] for name in contenders}
    for turn in range(repeats + 2):
        for name, work in contenders.items():
            seconds = cpu(work)
            if turn >= 2:
                times[name].append(seconds)
    base = times["sdpa forward, no maps"]
    return {
        name: {
            "ms": 1000 * statistics.median(values),
            "ratio": statistics.median(a / b for a, b in zip(values, base, strict=True)),
        }
        for name, values in times.items()
    }


def plain_script(spec, limit, padding, cut):
    """A script without this package: pad, ask for maps, resize each, compute statistics with NumPy."""
    import numpy as np
    import torch
    from transformers import AutoModel, AutoTokenizer

    import headatlas as ha

    folder = ha.models.load("packaged").source
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    pairs = [(example.text, example.pair) for example in ha.data.load(spec, limit=limit)]

    def numbers(attention, ids):
        n = len(ids)
        at = np.arange(n)
        offset = at[None, :] - at[:, None]
        results = [attention.diagonal(o, 1, 2).mean(-1) for o in range(-4, 5) if abs(o) < n]
        results.append(-(attention * np.log(attention + 1e-12)).sum(-1).mean(-1))
        results.append(results[-1] / np.log(n))
        results.append(attention.max(-1).mean(-1))
        results.append((attention * np.abs(offset)).sum(-1).mean(-1))
        results.append((attention * offset).sum(-1).mean(-1))
        mean = (attention * at).sum(-1)
        results.append(np.sqrt(np.maximum((attention * at**2).sum(-1) - mean**2, 0)).mean(-1))
        for token in (101, 102, 100, 103):
            results.append(attention[:, :, ids == token].sum(-1).mean(-1))
        results.append(attention[:, :, np.isin(ids, (1010, 1012))].sum(-1).mean(-1))
        results.append(attention[:, ids == 102][:, :, ids == 102].sum(-1).mean(-1))
        results.append(attention[:, ids != 102][:, :, ids == 102].sum(-1).mean(-1))
        same = (ids[None, :] == ids[:, None]) & (offset != 0)
        after = np.concatenate([np.zeros((n, 1), bool), ids[None, :-1] == ids[:, None]], 1) & (offset != 0)
        results.append((attention * same).sum(-1).mean(-1))
        results.append((attention * after).sum(-1).mean(-1))
        return np.stack(results, -1)

    def work():
        for start in range(0, len(pairs), 8):
            batch = pairs[start : start + 8]
            inputs = tokenizer(
                [a for a, _ in batch], [b for _, b in batch],
                padding=padding, truncation="only_second", max_length=384, return_tensors="pt",
            )  # fmt: skip
            with torch.inference_mode():
                maps = network(**inputs, output_attentions=True).attentions
            for e in range(len(batch)):
                length = int(inputs["attention_mask"][e].sum()) if cut else inputs["input_ids"].shape[1]
                ids = inputs["input_ids"][e, :length].numpy()
                for layer in maps:
                    full = layer[e, :, :length, :length]
                    torch.nn.functional.interpolate(full[None], (32, 32), mode="bilinear", antialias=True).half()
                    numbers(full.numpy(), ids)

    return work


def questions(spec, limit):
    """CPU time of all, loading aside, on one core."""
    import torch

    import headatlas as ha

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    model = ha.models.load("packaged")
    with tempfile.TemporaryDirectory() as folder:
        ha.collect.maps(model, ["compile the kernel"], f"{folder}/warm.atlas")
        ours = cpu(lambda: ha.collect.maps(model, ha.data.load(spec, limit=limit), f"{folder}/x.atlas"))
    results = {"headatlas collect": {"seconds": ours, "ratio": 1.0}}
    for name, padding, cut in SCRIPTS:
        seconds = cpu(plain_script(spec, limit, padding, cut))
        results[name] = {"seconds": seconds, "ratio": seconds / ours}
    return results


def peak(spec, limit):
    """Peak memory, in MB, of a process that collects this many examples."""
    import headatlas as ha

    with tempfile.TemporaryDirectory() as folder:
        ha.collect.maps("packaged", ha.data.load(spec, limit=limit), f"{folder}/x.atlas")
    status = Path("/proc/self/status").read_text()  # getrusage would start with the peak of the parent
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def memory(spec, sizes=(300, 3000)):
    results = {}
    for size in sizes:
        command = [sys.executable, __file__, "--peak", str(size), "--spec", spec]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        results[f"{size} examples"] = {"MB": float(done.stdout.split()[-1])}
    first = next(iter(results.values()))["MB"]
    for row in results.values():
        row["ratio"] = row["MB"] / first
    return results


def full_command(spec):
    """One run of the command on the whole file, in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.atlas"
        start = time.monotonic()
        run = subprocess.Popen(
            [sys.executable, "-m", "headatlas", "collect", "packaged", spec, "-o", str(path)], stdout=2
        )
        _, status, used = os.wait4(run.pid, 0)
        if status:
            sys.exit(f"headatlas collect ended with status {status}")
        seconds = time.monotonic() - start
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    cpu_seconds = used.ru_utime + used.ru_stime
    return {
        "collect": {"seconds": seconds, "cpu": cpu_seconds, "disk MB": size / 1e6, "peak MB": used.ru_maxrss / 1024}
    }


def show(title, rows):
    print(f"\n{title}")
    for name, row in rows.items():
        print(f"  {name:28}" + "".join(f"{key:>10} {value:9.2f}" for key, value in row.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--squad", type=Path, default=SQUAD, help="a SQuAD file; the packaged questions if it is missing"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--whole", action="store_true", help="only this: the whole file in one command")
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--spec", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peak:
        print(peak(given.spec, given.peak))
        return
    spec = f"squad:{given.squad}" if given.squad.exists() else "sample:questions"
    results = (
        {"everything in one command": full_command(spec)}
        if given.whole
        else {
            "one batch, CPU time on one thread": one_batch(),
            "peak memory": memory(spec),
            "300 questions from file to result, CPU time on one core": questions(spec, 300),
        }
    )
    if given.json:
        print(json.dumps(results, indent=1))
    else:
        for title, rows in results.items():
            show(title, rows)


if __name__ == "__main__":
    main()
