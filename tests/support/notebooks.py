"""Notebooks that a real kernel executes: what a cell shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

WAIT = 300  # seconds for a cell


def execute(notebook: Any, folder: Path) -> list[Any]:
    """The cells of a notebook after a kernel executed it in a folder; an error in a cell is raised."""
    NotebookClient(notebook, timeout=WAIT, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def run(folder: Path, *sources: str) -> list[Any]:
    """The executed cells of a notebook with these sources."""
    return execute(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources]), folder)


def kinds(cell: Any) -> list[str]:
    """What a cell shows, in order: media types of displays, names of streams."""
    return [f"stream {output.name}" if output.output_type == "stream" else best(output.data) for output in cell.outputs]


def best(data: Any) -> str:
    """The media type that a notebook shows of one display."""
    order = ("application/vnd.jupyter.widget-view+json", "text/html", "image/png", "text/plain")
    return next(kind for kind in order if kind in data)


def text(cell: Any) -> str:
    """All text of a cell."""
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)
