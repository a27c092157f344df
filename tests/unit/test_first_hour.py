"""The notebook of the first hour runs as it is, quickly, and every cell shows what it promises and nothing else."""

import base64
from pathlib import Path

import nbformat
import pytest

from support.notebooks import best, execute, kinds, text

NOTEBOOK = Path(__file__).parents[2] / "examples" / "first_hour.ipynb"
PROGRESS = "<progress"
LONGEST = 60  # seconds of computing


@pytest.fixture(scope="module")
def notebook():
    return nbformat.read(NOTEBOOK, as_version=4)


@pytest.fixture(scope="module")
def executed(notebook, tmp_path_factory):
    timed = nbformat.from_dict(notebook)
    timed.cells.append(nbformat.v4.new_code_cell("import time\n\nprint(time.process_time())"))
    *cells, seconds = execute(timed, tmp_path_factory.mktemp("first-hour"))
    return cells, float(text(seconds))


def shown(cells, source):
    """What the cell with this source shows last."""
    (cell,) = [cell for cell in cells if source in cell.source]
    return cell.outputs[-1].data


def test_it_is_committed_without_outputs(notebook):
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in notebook.cells)


def test_no_cell_has_an_error_a_warning_or_output_on_stderr(executed):
    cells, seconds = executed
    assert seconds < LONGEST
    for cell in cells:
        assert "stream stderr" not in kinds(cell), cell.outputs
        assert all(output.output_type != "error" for output in cell.outputs)
        assert "Warning" not in "".join(output.get("text", "") for output in cell.outputs)


def test_every_cell_shows_its_result_once(executed):
    for cell in executed[0]:
        results = [
            output
            for output in cell.outputs
            if output.output_type != "stream" and PROGRESS not in output.data.get("text/html", "")
        ]
        assert len(results) == 1, cell.source
        assert len(results[0].data["text/plain"]) < 2000, cell.source


@pytest.mark.parametrize("source", ["attention.plot(0, 2)", "ha.plot.tsne.head("])
def test_figures_are_shown(executed, source):
    data = shown(executed[0], source)
    assert best(data) == "image/png" and base64.b64decode(data["image/png"]).startswith(b"\x89PNG")


def test_tables_have_their_values(executed):
    cells = executed[0]
    assert "6 encoder layers × 12 heads" in shown(cells, "load(")["text/html"]
    patterns = shown(cells, "clusters[[")["text/plain"]
    assert "previous token" in patterns and "stability" in patterns
    ranked = shown(cells, "heads.sort_values")["text/plain"].splitlines()
    assert ranked[2].split()[:3] == ["0", "2", "1.00"]  # L0·H2 attends to the previous token
    assert "explained" in shown(cells, "of_kind[[")["text/plain"]
    atlas = shown(cells, "pipeline.run(")["text/html"]
    assert "24 texts" in atlas and ">tree<" in atlas and ">tsne<" in atlas  # results of the stages, by name


@pytest.mark.parametrize("source", ["web.inline(", "web.head_view(", "web.model_view("])
def test_pages_are_in_frames(executed, source):
    data = shown(executed[0], source)
    assert data["text/html"].startswith("<iframe srcdoc=") and data["text/plain"].startswith("<SinglePage of ")
