"""Two experiments: how well attention and hidden states fit in the plane, and how a disturbance changes that.

Both sides are laid out by the same optimizer, so that a difference in KL comes from the probabilities.
Every layout of every run is a row of the table `layout_runs`; head −1 is standard t-SNE of the hidden states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from headatlas import wording
from headatlas.atlas import engine, parts
from headatlas.atlas.blocks import block_ranges
from headatlas.atlas.model import load_model
from headatlas.atlas.store import Atlas
from headatlas.atlas.tokens import read_rows, read_tokens
from headatlas.errors import DataError, OptionError
from headatlas.stages.tsne import kernel
from headatlas.stages.tsne.choice import Wanted, choose_heads, layers_of, spell
from headatlas.stages.tsne.reading import check_example
from headatlas.stages.tsne.runs import TOGETHER, CompareBlock, Fit, RobustnessBlock, Subject
from headatlas.stages.tsne.standard import FEWEST, PERPLEXITY, Optimizer, check_options


def compare(
    atlas: Atlas | str | Path,
    *,
    examples: Sequence[int] | None = None,
    runs: int = 16,
    heads: Wanted = "all",
    perplexity: float = PERPLEXITY,
    seed: int = 0,
    special: bool = True,
    optimizer: Optimizer = "kernel",
    name: str = "compare",
) -> pa.Table:
    """Compare KL of head t-SNE with KL of standard t-SNE of the hidden states, over runs from random starts.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat on the mat, and slept."], "memory://compare.atlas")
    >>> table = ha.tsne.compare(atlas, runs=2, heads="L0·H2 L1·H8")
    >>> ha.tsne.compared(table).select(["layer", "kind", "layouts"]).to_pylist()[0]
    {'layer': 0, 'kind': 'head', 'layouts': 2}

    The result is stored in the atlas. After a stop, the same call continues.

    Parameters
    ----------
    atlas
        An atlas of texts, or the path of one. Its model is loaded.
    examples
        Numbers of examples; all if none are given. Random seeds depend on the position in this list.
    runs
        Layouts of each head, and of each layer of hidden states.
    heads
        As `tsne.heads` takes them.
    perplexity
        Of standard t-SNE.
    seed
        Random seed.
    special
        Whether special tokens such as [CLS] are points.
    optimizer
        Of standard t-SNE: "kernel" or "opentsne". Heads are always laid out by the kernel.
    name
        Name of the stored result.

    Returns
    -------
    pyarrow.Table
        The table `layout_runs`: one row per example, layer, head and run.
    """
    atlas = _opened(atlas)
    check_options(perplexity, runs, optimizer)
    if runs < 2:
        raise OptionError(f"runs {runs}: a deviation needs at least 2")
    numbers = _numbers(atlas, examples)
    options = _options(atlas, "compare", numbers, heads, perplexity, seed, special)
    options |= {"runs": runs, "optimizer": optimizer}
    with engine.result(atlas, "tsne", name, options) as result:
        if not result.finished:
            subjects = _subjects(atlas, numbers)
            fit = Fit(load_model(atlas), options["heads"], seed, perplexity, special, optimizer)
            facts = {"kind": "compare", "examples": len(numbers), "runs": runs}
            work = CompareBlock(result.place, fit, subjects, runs)
            _run(result, work, block_ranges(len(subjects), 1), facts)
    return atlas.table("layout_runs", name)


def robustness(
    atlas: Atlas | str | Path,
    *,
    examples: Sequence[int] | None = None,
    share: float = 0.05,
    repeats: int = 1000,
    heads: Wanted = "active",
    perplexity: float = PERPLEXITY,
    seed: int = 0,
    special: bool = True,
    name: str = "robustness",
) -> pa.Table:
    """Compare KL with and without a disturbance: some tokens replaced by tokens drawn from the same text.

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat on the mat, and slept."], "memory://robustness.atlas")
    >>> table = ha.tsne.robustness(atlas, repeats=2, heads="L0·H2")
    >>> table.num_rows  # for the head and its layer: 2 disturbed texts and as many fits of the original, 8 layouts each
    64

    For each disturbed text the model is run again, and both kinds of t-SNE are fitted from 8 random starts. The
    original text is fitted as often. The result is stored in the atlas. After a stop, the same call continues.

    Parameters
    ----------
    atlas, examples, perplexity, seed, special, name
        As `tsne.compare` takes them.
    share
        Share of the tokens that is replaced; at least one is.
    repeats
        Disturbed texts of each example.
    heads
        "active" for the head of highest activity of each layer, or as `tsne.heads` takes them.

    Returns
    -------
    pyarrow.Table
        The table `layout_runs`. `disturbed` distinguishes disturbed texts from the original; `repeat` is the number of
        the disturbed text, −1 for the original.
    """
    atlas = _opened(atlas)
    check_options(perplexity, 1, "kernel")
    if not 0 < share < 1 or repeats < 2:
        raise OptionError(
            f"share {share:g}, repeats {repeats}: a share is between 0 and 1, and 2 repeats are the least"
        )
    numbers = _numbers(atlas, examples)
    options = _options(atlas, "robustness", numbers, heads, perplexity, seed, special)
    options |= {"share": share, "repeats": repeats}
    with engine.result(atlas, "tsne", name, options) as result:
        if not result.finished:
            subjects = _subjects(atlas, numbers)
            fit = Fit(load_model(atlas), options["heads"], seed, perplexity, special, "kernel")
            facts = {"kind": "robustness", "examples": len(numbers), "repeats": repeats}
            groups = block_ranges(repeats, TOGETHER)
            work = RobustnessBlock(result.place, fit, subjects, share, groups)
            _run(result, work, groups * len(subjects), facts)
    return atlas.table("layout_runs", name)


def _opened(atlas: Atlas | str | Path) -> Atlas:
    opened = Atlas.open(atlas)
    model = opened.header["model"]
    if model["modality"] != "text":
        raise OptionError(f"{model['name']} reads images: these experiments are for texts")
    return opened


def _numbers(atlas: Atlas, examples: Sequence[int] | None) -> list[int]:
    """The requested examples: all, or these, each once."""
    if examples is None:
        return list(range(atlas.collection["counts"]["examples"]))
    numbers = [int(number) for number in examples]
    if not numbers:
        raise OptionError("examples: name at least one")
    for number in numbers:
        check_example(atlas, number)
    number, times = Counter(numbers).most_common(1)[0]
    if times > 1:
        raise OptionError(f"example {number} is given {times} times")
    return numbers


def _options(
    atlas: Atlas, kind: str, numbers: list[int], heads: Wanted, perplexity: float, seed: int, special: bool
) -> dict[str, Any]:
    """The part of the recipe that both experiments share."""
    layers = layers_of(atlas)
    if heads != "active":
        heads = spell(choose_heads(atlas.header["model"]["name"], layers, heads), layers)
    all_examples = numbers == list(range(atlas.collection["counts"]["examples"]))
    return {
        "kind": kind, "examples": "all" if all_examples else numbers, "heads": heads, "perplexity": perplexity,
        "seed": seed, "special": special, "kernel": kernel.RECIPE,
    }  # fmt: skip


def _subjects(atlas: Atlas, numbers: list[int]) -> list[Subject]:
    """The examples with their tokens; texts that are too short are refused before anything is computed."""
    subjects = []
    rows = zip(numbers, read_rows(atlas, numbers, ["id"]), read_tokens(atlas, numbers), strict=True)
    for position, (number, row, encoded) in enumerate(rows):
        plain = int((~encoded.source.special).sum())
        if plain < FEWEST:
            raise DataError(
                f"example {number} ({row['id']}) has {wording.many(plain, 'token')} besides special ones: "
                f"the experiments need at least {FEWEST}. Choose other examples"
            )
        subjects.append(Subject(position, number, row["id"], encoded))
    return subjects


def _run(
    result: engine.Result, work: CompareBlock | RobustnessBlock, ranges: list[range], facts: dict[str, Any]
) -> None:
    def join(table: pa.Table) -> tuple[dict[str, pa.Table], dict[str, Any]]:
        return {"layout_runs": table}, facts | {"layouts": table.num_rows}

    parts.run(result, work, ranges, facts["kind"], join, unit="texts")
