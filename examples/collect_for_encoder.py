"""Collect the atlases that a packaged network was trained on: models over paragraphs of Wikipedia.

    python examples/collect_for_encoder.py MODELS wiki.train.raw.gz OUT --for maps
    headatlas encoder train OUT/*.atlas -o maps.safetensors --views map --steps 2500

MODELS is a folder with the models minilm, smollm2 and antiberty. `--for maps` collects MiniLM, the same with random and
with shuffled weights, and AntiBERTy; SmolLM2 stays unseen, and so does the packaged corpus, whose words
benchmarks/encoders.py uses. `--for heads` collects all three models and adds the packaged corpus.

Paragraphs are cut to many lengths, because maps of twelve words and of two hundred should both be known. AntiBERTy
reads proteins: it gets the letters of the texts. `--test` collects the unseen texts on which
benchmarks/head_retrieval.py scores encoders.
"""

import argparse
import gzip
import random
from pathlib import Path

import headatlas as ha

COUNTS = {
    "heads": {"minilm": 1200, "smollm2": 400, "antiberty": 500},
    "maps": {"minilm": 400, "antiberty": 300, "minilm-untrained": 100, "minilm-permuted": 100},
}
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


def load(models: Path, name: str) -> ha.models.Model:
    """A model by its folder, or one with random or shuffled weights: minilm, minilm-untrained, minilm-permuted."""
    folder, _, weights = name.partition("-")
    path = str(models / folder)
    if weights:
        return ha.models.untrained(path) if weights == "untrained" else ha.models.permuted(path)
    if folder != "antiberty":
        return ha.models.load(path)
    from transformers import BertTokenizer

    return ha.models.load(path, tokenizer=BertTokenizer.from_pretrained(path, do_lower_case=False))


def main() -> None:
    """Collect one atlas per model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("wikitext", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--for", dest="network", choices=[*COUNTS], default="heads", help="which network to train")
    parser.add_argument("--test", action="store_true", help="fewer, whole paragraphs: for testing on unseen text")
    parser.add_argument(
        "--only", choices=sorted({name for counts in COUNTS.values() for name in counts}), help="only this model"
    )
    arguments = parser.parse_args()
    counts = UNSEEN if arguments.test else COUNTS[arguments.network]
    with_corpus = arguments.network == "heads" and not arguments.test
    corpus = [example.text for example in ha.data.load("sample")] if with_corpus else []
    for number, (name, count) in enumerate(counts.items()):
        if arguments.only in (None, name):
            chosen = texts(arguments.wikitext, count, number, full_lines=arguments.test) + corpus
            data = [spell(text) for text in chosen] if name == "antiberty" else chosen
            model = load(arguments.models, name)
            ha.collect.maps(model, data, arguments.out / f"{name}.atlas", max_tokens=256, qk_tokens=0)


if __name__ == "__main__":
    main()
