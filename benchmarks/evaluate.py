"""What it costs to collect while a model is evaluated, in CPU time of one process.

    python benchmarks/evaluate.py [--squad FILE] [--limit 200] [--repeats 5] [--json]

The same questions, from file to result, in turns: evaluation alone (the plain network), evaluation with --collect, and
collect alone. The model is MiniLM with an untrained head for question answering, which costs as much as a trained one.
Medians, and the median of the ratios to evaluation alone; more than 1.5 for evaluation with --collect is a failure.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

SQUAD = Path(__file__).resolve().parents[2] / "shared" / "data" / "squad_v2" / "dev-v2.0.json"
MOST = 1.5  # times the CPU time of evaluation alone
ALONE, BOTH, COLLECT = "evaluate", "evaluate --collect", "collect"


def make_model(folder):
    import torch
    from transformers import AutoTokenizer, BertForQuestionAnswering

    from headatlas.models.load import resolve

    source, _ = resolve("packaged")
    torch.manual_seed(0)
    BertForQuestionAnswering.from_pretrained(source).save_pretrained(folder)
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)
    return str(folder)


def cpu(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(spec, limit, repeats):
    import headatlas as ha

    with tempfile.TemporaryDirectory() as home:
        model, dataset = make_model(Path(home) / "qa"), ha.data.load(spec, limit=limit)
        numbers = iter(range(10_000))

        def path():
            return Path(home) / f"{next(numbers)}.atlas"

        contenders = {
            ALONE: lambda: ha.evaluate.questions(model, dataset),
            BOTH: lambda: ha.evaluate.questions(model, dataset, collect=path()),
            COLLECT: lambda: ha.collect.maps(model, dataset, path()),
        }
        times = {name: [] for name in contenders}
        ha.evaluate.questions(model, ha.data.load(spec, limit=4), collect=path())  # compiles the kernel
        for turn in range(repeats):
            for name, work in contenders.items():
                times[name].append(cpu(work))
                sys.stderr.write(f"{turn + 1}/{repeats} {name}: {times[name][-1]:.1f} s\n")
    return {
        name: {
            "seconds": statistics.median(values),
            "ratio": statistics.median(a / b for a, b in zip(values, times[ALONE], strict=True)),
        }
        for name, values in times.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--squad", type=Path, default=SQUAD)
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    spec = f"squad:{options.squad}" if options.squad.exists() else "sample:questions"
    rows = measure(spec, options.limit, options.repeats)
    if options.json:
        sys.stdout.write(json.dumps({"questions": options.limit, "data": spec, "rows": rows}, indent=1) + "\n")
    else:
        for name, row in rows.items():
            sys.stdout.write(f"{name:20} {row['seconds']:7.1f} s   {row['ratio']:.2f} × evaluation alone\n")
    sys.exit(rows[BOTH]["ratio"] > MOST)


if __name__ == "__main__":
    main()
