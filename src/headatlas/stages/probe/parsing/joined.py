"""The steps of the analysis `classifiers`: which sentences, their maps, the split, and the tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headatlas.atlas.groups import group_column, read_groups
from headatlas.atlas.store import Atlas
from headatlas.data import word_vectors
from headatlas.data.word_vectors import WordVectors
from headatlas.errors import DataError, OptionError
from headatlas.models.random_weights import refusal
from headatlas.stages.probe.analysis import Results
from headatlas.stages.probe.parsing.corpus import Corpus, Sentence, gathered
from headatlas.stages.probe.parsing.results import (
    ATTENTION,
    HEADS,
    TABLE,
    Design,
    head_rows,
    inputs_of,
    row,
    rows_of_baselines,
    trained,
)
from headatlas.stages.probe.parsing.sentences import PART, TREE, attending, part_rows
from headatlas.stages.probe.source import Source, drawn_examples

if TYPE_CHECKING:
    from headatlas.stages.probe.analyses.classifiers import Classifiers

TESTED = 0.2  # share of the documents, without another atlas to test on
FEWEST = 10  # sentences to test on, and documents for a split by document
DOCUMENT = "document"  # the column of a treebank that says which sentences belong together


def identified(atlas: Atlas, options: Classifiers) -> dict[str, Any]:
    """Digests of the word vectors and of the atlas to test on."""
    inputs = {}
    if options.vectors:
        inputs["vectors"] = word_vectors.fingerprint(options.vectors)
        word_vectors.check(options.vectors)
    if options.test:
        other = _opened(options.test)
        if other.header["model"]["hash"] != atlas.header["model"]["hash"]:
            name = other.header["model"]["name"]
            raise OptionError(f"--test {options.test}: made with another model, {name}. Give an atlas of the same one")
        if not set(TREE) <= set(other.table_columns("examples")):
            raise OptionError(f"--test {options.test}: not of a treebank. Collect one: conllu:FILE.conllu")
        inputs["test"] = other.header["data"]["fingerprint"]
    return inputs


def _opened(path: str) -> Atlas:
    atlas = Atlas.open(path)
    atlas.needed("collect")
    return atlas


def numbered(atlas: Atlas, options: Classifiers) -> list[int]:
    """Examples that are drawn from the atlas and, counted on, from the atlas to test on."""
    numbers = drawn_examples(atlas, options.examples, options.seed)
    if options.test:
        drawn = drawn_examples(_opened(options.test), options.examples, options.seed)
        numbers += [_count(atlas) + number for number in drawn]
    return numbers


def _count(atlas: Atlas) -> int:
    count: int = atlas.collection["counts"]["examples"]
    return count


def part_table(source: Source, numbers: list[int], options: Classifiers) -> pa.Table:
    """The sentences of a block."""
    seed = options.seed if refusal(source.model) is None else None
    first = _count(source.atlas)
    rows = part_rows(source, [number for number in numbers if number < first], 0, seed)
    if options.test:
        others = [number - first for number in numbers if number >= first]
        rows += part_rows(source.elsewhere(_opened(options.test), others), others, first, seed)
    return pa.Table.from_pylist(rows, schema=PART)


def joined(source: Source, tables: Iterable[pa.Table], options: Classifiers) -> Results:
    """The tables of the result and its facts."""
    layers = {layer.index for layer in attending(source.model.layers)}
    heads = [place for place in source.heads if place[0] in layers]
    with gathered(tables, len(heads)) as corpus:
        vectors, words = _vectors(corpus, options)
        design, facts = designed(source.atlas, corpus, options)
        rows, chosen = rows_of_baselines(design, corpus, heads)
        runs = trained(design, inputs_of(corpus, vectors, design.train))
        for name, probe_runs in runs.items():
            rows.append(row(design, name, [run.greedy for run in probe_runs], [run.tree for run in probe_runs]))
        result = {
            "probe_classifiers": pa.Table.from_pylist(rows, schema=TABLE),
            "probe_classifier_heads": pa.Table.from_pylist(head_rows(runs[ATTENTION], heads), schema=HEADS),
        }
        return result, facts | chosen | words | {"skipped": corpus.skipped, "untrained": refusal(source.model)}


def designed(atlas: Atlas, corpus: Corpus, options: Classifiers) -> tuple[Design, dict[str, Any]]:
    """Which sentences are trained on, and which are tested on."""
    first, groups = _count(atlas), _groups(atlas)
    sentences = [sentence for sentence in corpus.sentences if sentence.example < first]
    other = [sentence for sentence in corpus.sentences if sentence.example >= first]
    sentence_groups = groups[[sentence.example for sentence in sentences]]
    if options.test:
        of_other = _groups(_opened(options.test))[[sentence.example - first for sentence in other]]
        parts, split = (sentences, sentence_groups, other, of_other), "atlas"
    else:
        parts, split = _split(sentences, sentence_groups, options.seed)
    train, _, test, _ = parts
    if len(train) < FEWEST or len(test) < FEWEST:
        left = ", ".join(f"{count:,} {reason}" for reason, count in corpus.skipped.items())
        raise DataError(
            f"{len(train):,} sentences to train on and {len(test):,} to test on: at least {FEWEST} are needed of each"
            + (f" (left out: {left})" if left else "")
        )
    facts = {"split": split, "train": len(train), "test": len(test)}
    return Design(*parts, options.seeds, options.epochs, options.seed), facts


def _groups(atlas: Atlas) -> NDArray[np.int64]:
    """The document of each example, or what the dataset declares to have one source."""
    column = DOCUMENT if DOCUMENT in atlas.table_columns("examples") else group_column(atlas, None)
    number: NDArray[np.int64] = read_groups(atlas, column).number
    return number


def _split(sentences: Sequence[Sentence], groups: NDArray[np.int64], seed: int) -> tuple[Any, str]:
    """A fifth of the documents to test on; of the sentences, where documents are few."""
    names, split = np.unique(groups), "documents"
    if len(names) < FEWEST:
        groups, split = np.arange(len(sentences)), "sentences"
        names = groups
    drawn = np.random.default_rng(seed).permutation(names)[: round(TESTED * len(names))]
    tested = np.isin(groups, drawn)
    chosen = [[each for each, out in zip(sentences, tested, strict=True) if out == part] for part in (False, True)]
    return (chosen[0], groups[~tested], chosen[1], groups[tested]), split


def _vectors(corpus: Corpus, options: Classifiers) -> tuple[WordVectors | None, dict[str, Any]]:
    """The vectors of all words, and how many words have none."""
    if options.vectors is None:
        return None, {}
    words = [form for sentence in corpus.sentences for form in sentence.form]
    vectors = word_vectors.read(options.vectors, set(words))
    return vectors, {"words": len(words), "unknown": sum(not vectors.knows(word) for word in words)}
