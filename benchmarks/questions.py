"""Nine questions of a newcomer, answered from the page alone: clicks and seconds.

    python benchmarks/questions.py [--atlas demo.atlas] [--rounds 3] [--json]

The questions, and what is clicked for each, are in tests/support/questions.py. Each starts on the first page, in
Chromium at 1280 × 800 with software rendering, after the model was loaded; typing into a field counts as one click,
choosing from a list as two. Seconds are the median of the rounds, and are those of the page: a person reads and moves,
too. Without --atlas the atlas of `headatlas demo`, without null models, is made in a temporary folder.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import headatlas as ha
from support.browser import launched
from support.questions import answers


def measure(atlas: ha.Atlas, rounds: int) -> list[dict]:
    """One row per question."""
    served = ha.web.open(atlas)
    try:
        with launched() as browser:
            page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
            runs = [list(answers(page, served.url)) for _ in range(rounds + 1)][1:]  # the first one loads the model
    finally:
        served.close()
    return [
        {
            "question": run[0].question, "clicks": run[0].clicks, "answer": run[0].answer.splitlines()[0][:160],
            "seconds": round(statistics.median(answer.seconds for answer in run), 1),
        }
        for run in zip(*runs, strict=True)
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--atlas", help="an atlas of the packaged model on the packaged corpus, with a t-SNE projection"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.atlas or Path(folder) / "demo.atlas"
        atlas = ha.open(path) if arguments.atlas else ha.pipeline.run("packaged", "sample", path, projection="tsne")
        rows = measure(atlas, arguments.rounds)
    if arguments.json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    print("| question | clicks | seconds | answer |\n| --- | ---: | ---: | --- |")
    for row in rows:
        print(f"| {row['question']} | {row['clicks']} | {row['seconds']} | {row['answer']} |")


if __name__ == "__main__":
    main()
