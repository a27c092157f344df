"""The commands of `tsne`: heads, hidden, words, activity, compare and robustness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headatlas.cli.base import AtlasPath, Seed, TextColumn, app, check_output, open_atlas
from headatlas.errors import OptionError

if TYPE_CHECKING:
    from headatlas.stages.tsne import Layouts, States

tsne = typer.Typer(help="Head t-SNE: a text as one head sees it.", no_args_is_help=True)
app.add_typer(tsne, name="tsne")

TABLES = (".csv", ".parquet")
FIGURES = (".png", ".svg", ".pdf")

Source = Annotated[str, typer.Argument(metavar="ATLAS|MODEL", help="An atlas, or a model as `collect` takes it.")]
Text = Annotated[
    str,
    typer.Argument(
        metavar="EXAMPLE|TEXT",
        help="The number of an example of the atlas, whose layouts are stored in it; or a text, or FILE with --file.",
    ),
]
File = Annotated[bool, typer.Option("--file", help="TEXT is the name of a file that holds it.")]
Special = Annotated[bool, typer.Option("--special/--no-special", help="Keep special tokens such as [CLS].")]
Perplexity = Annotated[float, typer.Option(help="Of standard t-SNE: about how many neighbors count.")]
Figure = Annotated[str | None, typer.Option("--figure", help="A .png, .svg or .pdf file.")]
Examples = Annotated[
    str | None, typer.Option(metavar="NUMBERS", help="Numbers of examples with commas; all if not given.")
]
Heads = Annotated[str, typer.Option(help="all, a layer (L3), a head (L3·H10 or L3H10), or several with commas.")]
Dark = Annotated[bool, typer.Option("--dark", help="Light on dark.")]
LayerNumber = Annotated[int, typer.Option("--layer", help="The layer; −1 is the last.")]
Quantile = Annotated[bool, typer.Option("--quantile", help="Quantile-equidistant axes.")]
Output = Annotated[str | None, typer.Option("-o", "--output", help="Figure, or .csv/.parquet of positions.")]


@tsne.command(
    epilog="""[bold]Examples[/bold]

    headatlas tsne heads sample.atlas 3

    headatlas tsne heads sample.atlas 3 --heads L0,L1 --no-special -o positions.csv

    headatlas tsne heads packaged "The cat sat on the mat." --heads L0H2 -o cat.png"""
)
def heads(
    source: Source,
    text: Text,
    file: File = False,
    heads: Heads = "all",
    restarts: Annotated[int, typer.Option(help="Layouts of each head; the one with the least KL is kept.")] = 16,
    special: Special = True,
    words: Annotated[bool, typer.Option("--words", help="Words in place of pieces.")] = False,
    quantile: Annotated[bool, typer.Option("--quantile", help="One head: quantile-equidistant axes.")] = False,
    output: Output = None,
    dark: Dark = False,
    seed: Seed = 0,
) -> None:
    """Lay a text out as each head sees it, and print KL by head. The same command again continues after a stop."""
    if output is not None:
        check_output(output, FIGURES + TABLES)
    wanted = _text(source, text, file)
    from headatlas.stages import tsne as stage

    layouts = stage.heads(
        source, wanted, heads=heads, restarts=restarts, seed=seed, special=special,
        unit="word" if words else "token",
    )  # fmt: skip
    _print(layouts.rows())
    for remark in layouts.remarks:
        typer.echo(remark, err=True)
    if output is not None:
        _save_heads(layouts, output, quantile, dark)


def _save_heads(layouts: Layouts, output: str, quantile: bool, dark: bool) -> None:
    if output.lower().endswith(TABLES):
        rows = []
        for (layer, head), layout in layouts.layouts.items():
            points = layouts.points[layer]
            for number, (x, y) in enumerate(layout.tolist()):
                point = {"point": number, "text": points.text[number], "query": bool(points.query[number])}
                rows.append({"layer": layer, "head": head} | point | {"x": x, "y": y})
        _write(rows, layouts.recipe, output)
        return
    from headatlas import plot
    from headatlas.plot import tsne as drawing

    if len(layouts.layouts) == 1:
        layer, head = next(iter(layouts.layouts))
        plot.save(drawing.head(layouts, layer, head, quantile=quantile, dark=dark), output)
    elif quantile:
        raise OptionError("--quantile is for the figure of one head: name it with --heads")
    else:
        plot.save(drawing.layouts(layouts, dark=dark), output)


@tsne.command(
    epilog="""[bold]Examples[/bold]

    headatlas tsne hidden sample.atlas 3

    headatlas tsne hidden packaged "The cat sat on the mat, and the dog lay on the floor." --layer 2 -o cat.png"""
)
def hidden(
    source: Source,
    text: Text,
    file: File = False,
    layer: LayerNumber = -1,
    perplexity: Perplexity = 20,
    special: Special = True,
    quantile: Quantile = False,
    output: Output = None,
    dark: Dark = False,
    seed: Seed = 0,
) -> None:
    """Standard t-SNE of a text's hidden states: print KL by layer, draw one layer."""
    if output is not None:
        check_output(output, FIGURES + TABLES)
    wanted = _text(source, text, file)
    from headatlas.stages import tsne as stage

    states = stage.hidden(source, wanted, perplexity=perplexity, seed=seed, special=special)
    _finish_states(states, layer, quantile, output, dark)


@tsne.command(
    epilog="""[bold]Examples[/bold]

    headatlas tsne words packaged professions.txt -o professions.png

    headatlas tsne words sample.atlas words.csv --text-column word --layer 2 -o words.png"""
)
def words(
    source: Source,
    data: Annotated[str, typer.Argument(metavar="WORDS", help="FILE.txt with one word per line, or any data.")],
    text_column: TextColumn = None,
    layer: LayerNumber = -1,
    perplexity: Perplexity = 20,
    quantile: Quantile = False,
    output: Output = None,
    dark: Dark = False,
    seed: Seed = 0,
) -> None:
    """Standard t-SNE of a list of words, each read by itself: print KL by layer, draw one layer."""
    if output is not None:
        check_output(output, FIGURES + TABLES)
    _check_source(source)
    from headatlas import data as reader

    listed = [example.text or "" for example in reader.load(data, text_column=text_column)]
    from headatlas.stages import tsne as stage

    states = stage.words(source, listed, perplexity=perplexity, seed=seed)
    _finish_states(states, layer, quantile, output, dark)


def _finish_states(states: States, layer: int, quantile: bool, output: str | None, dark: bool) -> None:
    """Print KL of all layers; draw one, or write the positions of all."""
    rows = []
    for number, kl in states.kl.items():
        notes = "; ".join(states.notes[number])
        rows.append({"layer": number, "kl": float(kl.min()), "points": len(states.points[number]), "notes": notes})
    _print(rows)
    if output is None:
        return
    if output.lower().endswith(TABLES):
        _write(
            [
                {"layer": number, "point": point, "text": states.points[number][point], "x": x, "y": y}
                for number, layout in states.layouts.items()
                for point, (x, y) in enumerate(layout.tolist())
            ],
            states.recipe,
            output,
        )
        return
    from headatlas import plot

    chosen = max(states.layouts) if layer == -1 else layer
    plot.save(plot.tsne.states(states, chosen, quantile=quantile, dark=dark), output)


@tsne.command(
    epilog="""[bold]Examples[/bold]

    headatlas tsne activity sample.atlas 3 --by chain -o maximum.png

    headatlas tsne activity packaged "The cat sat on the mat, and the dog lay on the floor.\""""
)
def activity(
    source: Source,
    text: Annotated[
        str, typer.Argument(metavar="EXAMPLE|TEXT", help="The number of an example, a text, or FILE with --file.")
    ],
    file: File = False,
    by: Annotated[str, typer.Option(help="Ranked by activity or by chain.")] = "activity",
    strength: Annotated[float, typer.Option(help="Least attention that makes a step of a chain.")] = 0.3,
    output: Annotated[str | None, typer.Option("-o", "--output", help="A .png, .svg or .pdf file.")] = None,
    dark: Dark = False,
) -> None:
    """Rank heads by activity or by their longest chain, and draw maximum attention."""
    if output is not None:
        check_output(output, FIGURES)
    wanted = _text(source, text, file)
    from headatlas.stages import tsne as stage

    active = stage.activity(source, wanted, strength=strength)
    _print(active.ranked(by))
    if output is not None:
        from headatlas import plot
        from headatlas.plot import tsne as drawing

        plot.save(drawing.activity(active, dark=dark), output)


@tsne.command(
    epilog="""[bold]Examples[/bold]

    headatlas tsne compare sample.atlas --examples 0,1,5 --figure compared.png

    headatlas tsne compare sample.atlas --heads L0,L1 --runs 32"""
)
def compare(
    path: AtlasPath,
    examples: Examples = None,
    runs: Annotated[int, typer.Option(help="Layouts of each head and layer, from random starts.")] = 16,
    heads: Heads = "all",
    perplexity: Perplexity = 20,
    special: Special = True,
    optimizer: Annotated[str, typer.Option(help="Of standard t-SNE: kernel or opentsne.")] = "kernel",
    figure: Figure = None,
    dark: Dark = False,
    seed: Seed = 0,
) -> None:
    """KL of head t-SNE against standard t-SNE, per layer. The same command again continues after a stop."""
    if optimizer not in ("kernel", "opentsne"):
        raise OptionError(f"--optimizer {optimizer}: choose kernel or opentsne")
    _check_figure(figure)
    numbers = _numbers(examples)
    open_atlas(path)
    from headatlas.stages import tsne as stage  # which imports torch

    options: dict[str, Any] = {"runs": runs, "heads": heads, "perplexity": perplexity, "seed": seed}
    table = stage.compare(path, examples=numbers, special=special, **options | {"optimizer": optimizer})
    _finish(stage.compared(table), table, "compare", figure, dark)


@tsne.command(
    epilog="""[bold]Examples[/bold]

    headatlas tsne robustness sample.atlas --examples 0 --repeats 20

    headatlas tsne robustness sample.atlas --examples 0,1 --figure disturbed.png"""
)
def robustness(
    path: AtlasPath,
    examples: Examples = None,
    share: Annotated[float, typer.Option(help="Share of the tokens that is replaced.")] = 0.05,
    repeats: Annotated[int, typer.Option(help="Disturbed texts of each example.")] = 1000,
    heads: Annotated[
        str, typer.Option(help="active: the most active head of each layer; or as in `heads`.")
    ] = "active",
    perplexity: Perplexity = 20,
    special: Special = True,
    figure: Figure = None,
    dark: Dark = False,
    seed: Seed = 0,
) -> None:
    """KL with and without replaced tokens, per layer. The same command again continues after a stop."""
    _check_figure(figure)
    numbers = _numbers(examples)
    open_atlas(path)
    from headatlas.stages import tsne as stage  # which imports torch

    options: dict[str, Any] = {"share": share, "repeats": repeats, "heads": heads, "perplexity": perplexity}
    table = stage.robustness(path, examples=numbers, special=special, seed=seed, **options)
    _finish(stage.robust(table), table, "robustness", figure, dark)


def _text(source: str, text: str, file: bool) -> str | int:
    """The text itself, read from a file, or the number of an example of an atlas."""
    _check_source(source)
    if file:
        try:
            return Path(text).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise OptionError(f"--file {text} cannot be read as text: {error}") from None
    from headatlas.atlas.files import Files

    return int(text) if text.isdecimal() and ("://" in source or Files(source).exists("atlas.json")) else text


def _check_source(source: str) -> None:
    """Report an atlas that is missing before anything is imported to load it as a model."""
    if source.rstrip("/").endswith(".atlas"):
        open_atlas(source)


def _numbers(examples: str | None) -> list[int] | None:
    if examples is None:
        return None
    parts = examples.replace(",", " ").split()
    if not all(part.isdecimal() for part in parts):
        raise OptionError(f"--examples {examples}: write numbers with commas, such as 0,1,5")
    return [int(part) for part in parts]


def _check_figure(figure: str | None) -> None:
    if figure is not None:
        check_output(figure, FIGURES)


def _finish(summary: Any, table: Any, kind: str, figure: str | None, dark: bool) -> None:
    from headatlas.cli.inspect import print_table

    print_table(summary, most=summary.num_rows)
    if figure is not None:
        from headatlas import plot
        from headatlas.plot import tsne as drawing

        plot.save({"compare": drawing.compare, "robustness": drawing.robustness}[kind](table, dark=dark), figure)


def _print(rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa

    from headatlas.cli.inspect import print_table

    print_table(pa.Table.from_pylist(rows), most=len(rows))


def _write(rows: list[dict[str, Any]], recipe: dict[str, Any], output: str) -> None:
    """Positions; a Parquet file carries the recipe in its metadata."""
    import pyarrow as pa

    table = pa.Table.from_pylist(rows).replace_schema_metadata({"headatlas": json.dumps(recipe)})
    if output.lower().endswith(".parquet"):
        import pyarrow.parquet as pq

        pq.write_table(table, output)
    else:
        from pyarrow import csv

        csv.write_csv(table, output)
