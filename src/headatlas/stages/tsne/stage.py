"""`tsne.heads` and `tsne.hidden`: computed for any text, and stored for an example of an atlas."""

from __future__ import annotations

from collections.abc import Sequence

from headatlas.atlas.store import Atlas
from headatlas.errors import OptionError
from headatlas.stages.tsne import kernel
from headatlas.stages.tsne.affinity import Unit
from headatlas.stages.tsne.choice import Wanted, choose
from headatlas.stages.tsne.heads import How, Layouts, lay_out_in_threads
from headatlas.stages.tsne.hidden import States, VectorOptions, lay_out_vectors, states_of
from headatlas.stages.tsne.reading import Source, Text, open_source, read
from headatlas.stages.tsne.standard import PERPLEXITY, Optimizer, check_options
from headatlas.stages.tsne.stored import stored_heads, stored_hidden


def heads(
    source: Source,
    text: Text,
    *,
    heads: Wanted = "all",
    restarts: int = 16,
    seed: int = 0,
    special: bool = True,
    unit: Unit = "token",
    iterations: int = kernel.ITERATIONS,
    name: str | None = None,
) -> Layouts:
    """Lay out a text as each head sees it.

    >>> from headatlas import tsne
    >>> cat = tsne.heads("packaged", "The cat sat on the mat.", heads="L0·H2", restarts=4)
    >>> cat.layout(0, 2).shape, cat.kl[0, 2].shape
    ((9, 2), (4,))

    Layouts of an example of an atlas are stored in it, and read from it when they are requested again:

    >>> import headatlas as ha
    >>> atlas = ha.collect.maps("packaged", ["The cat sat.", "It slept, then it ate."], "memory://heads.atlas")
    >>> tsne.heads(atlas, 1, heads="L0", restarts=4).layout(0, 2).shape
    (9, 2)
    >>> atlas.latest("tsne"), atlas.table("layout_heads").num_rows
    ('heads-1', 12)

    Parameters
    ----------
    source
        A model or an atlas, or the name of one. The model of an atlas is loaded.
    text
        A text, an image file, or the number of an example of the atlas.
    heads
        "all", a layer ("L3"), a head ("L3·H10" or (3, 10)), or several of these.
    restarts
        Layouts of each head from random starts; the one with the least KL is kept.
    seed
        Random seed. A restart begins at the same positions however many there are.
    special
        Whether special tokens such as [CLS] are points.
    unit
        "token", or "word" for words in place of their pieces.
    iterations
        Steps of each layout.
    name
        Name of the stored result; `heads-EXAMPLE` if it is not given.

    Returns
    -------
    Layouts
        Positions by head, rotated alike so that heads can be compared, KL of every restart, and notes.
    """
    how = How(restarts, seed, special, unit, iterations)
    how.check()
    source = open_source(source)
    if isinstance(source, Atlas) and isinstance(text, int):
        return stored_heads(source, text, heads, how, name or f"heads-{text}")
    _refuse_name(name)
    reading = read(source, text)
    return lay_out_in_threads(reading, choose(reading.model, heads), how)


def hidden(
    source: Source,
    text: Text,
    *,
    layers: Sequence[int] | None = None,
    perplexity: float = PERPLEXITY,
    restarts: int = 1,
    seed: int = 0,
    special: bool = True,
    optimizer: Optimizer = "opentsne",
    name: str | None = None,
) -> States:
    """Lay out the hidden states of a text after each layer by standard t-SNE, one point per token.

    >>> from headatlas import tsne
    >>> states = tsne.hidden("packaged", "The cat sat on the mat, and the dog lay on the floor.", layers=[0])
    >>> states.layout(0).shape
    (17, 2)

    Layouts of an example of an atlas are stored in it, as those of `tsne.heads`.

    Parameters
    ----------
    source, text
        As `tsne.heads` takes them.
    layers
        Numbers of layers; all if none are given.
    perplexity
        About how many neighbors of a point count; less where there are too few points, with a note.
    restarts
        Layouts of each layer; the one with the least KL is kept. Several begin at random positions.
    seed
        Random seed.
    special
        Whether special tokens such as [CLS] are points.
    optimizer
        "opentsne", or "kernel" for the optimizer of `tsne.heads`.
    name
        Name of the stored result; `hidden-EXAMPLE` if it is not given.

    Returns
    -------
    States
        Positions by layer, rotated alike, KL of every restart, and notes.
    """
    check_options(perplexity, restarts, optimizer)
    how = VectorOptions(perplexity, restarts, seed, optimizer)
    source = open_source(source)
    if isinstance(source, Atlas) and isinstance(text, int):
        return stored_hidden(source, text, layers, special, how, name or f"hidden-{text}")
    _refuse_name(name)
    reading = read(source, text)
    vectors, points = states_of(reading, layers, special)
    return lay_out_vectors(reading.model.name, reading.recipe() | {"special": special}, vectors, points, how)


def _refuse_name(name: str | None) -> None:
    if name is not None:
        raise OptionError(f"name {name!r}: only layouts of the examples of an atlas are stored")
