"""Collect the atlases that the packaged encoder was trained on: three real models over Wikipedia text and our corpus.

    python examples/collect_for_encoder.py MODELS wiki.train.raw.gz OUT

MODELS is a folder with the models minilm, smollm2 and antiberty. Paragraphs are cut to many lengths, because a map of
twelve words and one of two hundred should both find their like. AntiBERTy reads proteins: it gets the letters of the
texts. `headatlas encoder train OUT/*.atlas -o FILE` does the rest. `--test` collects the unseen texts on which
benchmarks/head_retrieval.py scores encoders.
"""

import argparse
import gzip
import random
from pathlib import Path

import headatlas as ha

COUNTS = {"minilm": 1200, "smollm2": 400, "antiberty": 500}
UNSEEN = {"minilm": 150, "smollm2": 100, "antiberty": 100}
WORDS = (12, 200)
AMINO = set("ACDEFGHIKLMNPQRSTVWY")


def paragraphs(path: Path) -> list[str]:
    """Lines of the WikiText files that are neither empty nor headings."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        return [line.strip() for line in file if len(line.split()) >= 64 and not line.startswith(" = ")]


def texts(path: Path, count: int, seed: int, full_lines: bool = False) -> list[str]:
    """Random paragraphs; unless `full_lines`, each cut to a random length, uniform on a logarithmic scale."""
    rng = random.Random(seed)
    chosen = rng.sample(paragraphs(path), count)
    if full_lines:
        return chosen
    low, high = WORDS
    return [" ".join(text.split()[: round(low * (high / low) ** rng.random())]) for text in chosen]


def spell(text: str) -> str:
    """The letters of a text that are amino acids, as AntiBERTy writes proteins."""
    return " ".join(letter for letter in text.upper() if letter in AMINO)[:400]


def main() -> None:
    """Collect one atlas per model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("wikitext", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--test", action="store_true", help="fewer, whole paragraphs: for testing on unseen text")
    parser.add_argument("--only", choices=[*COUNTS], help="only this model")
    arguments = parser.parse_args()
    corpus = [example.text for example in ha.data.load("sample")]
    for number, (name, count) in enumerate((UNSEEN if arguments.test else COUNTS).items()):
        if arguments.only not in (None, name):
            continue
        folder = arguments.models / name
        model, spelled = ha.models.load(str(folder)), name == "antiberty"
        if spelled:
            from transformers import BertTokenizer

            model = ha.models.load(str(folder), tokenizer=BertTokenizer.from_pretrained(folder, do_lower_case=False))
        chosen = texts(arguments.wikitext, count, number, full_lines=arguments.test) + (
            [] if arguments.test else corpus
        )
        data = [spell(text) for text in chosen] if spelled else chosen
        ha.collect.maps(model, data, arguments.out / f"{name}.atlas", max_tokens=256, qk_tokens=0)


if __name__ == "__main__":
    main()
