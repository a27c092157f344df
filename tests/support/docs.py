"""Tables in the docs that are made from declarations: compared, or rewritten with HEADATLAS_WRITE_DOCS=1."""

import os
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def table(*rows):
    """A table in Markdown; the first row has the headings."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"| {' | '.join('---' for _ in rows[0])} |", *lines[1:]])


def check_table(page, name, content):
    """The part of a page between the marks of this name is this table."""
    path, start, end = DOCS / page, f"<!-- {name} -->\n", f"<!-- /{name} -->"
    text = path.read_text()
    before, _, rest = text.partition(start)
    _, found, after = rest.partition(end)
    assert found, f"docs/{page} has no marks for {name}"
    expected = f"{before}{start}\n{content}\n\n{end}{after}"
    if os.environ.get("HEADATLAS_WRITE_DOCS"):
        path.write_text(expected)
    assert path.read_text() == expected, f"rewrite docs/{page}: HEADATLAS_WRITE_DOCS=1 pytest -k table"
