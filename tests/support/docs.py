"""Tables in the docs that are made from code."""

import os


def assert_table(page, marker, lines):
    """A page has these lines between `<!-- marker -->` and `<!-- /marker -->`; HEADATLAS_WRITE_DOCS=1 writes them."""
    start, end = f"<!-- {marker} -->\n", f"<!-- /{marker} -->"
    before, _, rest = page.read_text().partition(start)
    old, _, after = rest.partition(end)
    assert old, f"{page.name} has no {start.strip()}"
    expected = before + start + "\n" + "\n".join(lines) + "\n\n" + end + after
    if os.environ.get("HEADATLAS_WRITE_DOCS"):
        page.write_text(expected)
    assert page.read_text() == expected, f"rewrite {page.name}: HEADATLAS_WRITE_DOCS=1 pytest tests -k table"
