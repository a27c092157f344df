"""What a notebook shows, executed by a real kernel: figures once, progress on one line, and nothing on stderr."""

import base64
import io

import pytest
from PIL import Image

from support.notebooks import kinds, run, text

START = "import headatlas as ha"
PLOT = "ha.models.attention('packaged', 'The cat sat on the mat.').plot(0, 2)"


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """Cells that return figures, with and without the inline backend, and one that runs every stage."""
    sources = [
        START,
        PLOT,
        "ha.pipeline.run('packaged', ha.data.load('sample', limit=6), 'small.atlas', encoder='stats', permutations=9)",
        "ha.plot.heads('small.atlas')",
        "ha.progress.say('a [bold] remark')",
        "ha.tsne.heads('packaged', 'The cat sat on the mat.', heads='L0')",
        "ha.models.load('packaged')",
        "import matplotlib.pyplot as plt",
        PLOT,
        "%matplotlib inline",
        PLOT,
        "figure = ha.plot.heads('small.atlas'); print(type(figure).__mro__[1].__name__)",
    ]
    executed = run(tmp_path_factory.mktemp("notebook"), *sources)
    return dict(zip(["start", "plot", "run", "heads", "say", "tsne", "model", "pyplot", "with pyplot", "magic",
                     "with magic", "assigned"], executed, strict=True))  # fmt: skip


@pytest.mark.parametrize("name", ["plot", "heads", "with pyplot", "with magic"])
def test_a_figure_shows_itself_once(cells, name):
    assert kinds(cells[name]) == ["image/png"]
    data = cells[name].outputs[0]
    image = Image.open(io.BytesIO(base64.b64decode(data["data"]["image/png"])))
    assert image.width > 300 and len(data["data"]["text/plain"]) < 100


def test_a_figure_is_sharp_and_has_its_size(cells):
    output = cells["plot"].outputs[0]
    size = output["metadata"]["image/png"]
    image = Image.open(io.BytesIO(base64.b64decode(output["data"]["image/png"])))
    assert abs(image.width - 2 * size["width"]) <= 2 and abs(image.height - 2 * size["height"]) <= 2


def test_a_figure_that_is_not_the_result_of_a_cell_is_not_shown(cells):
    assert kinds(cells["assigned"]) == ["stream stdout"] and text(cells["assigned"]) == "Figure\n"


def test_all_stages_share_one_line_of_progress(cells):
    """The line of the last one stays; the atlas follows as the result of the cell."""
    shown = [output for output in cells["run"].outputs if output.output_type != "stream"]  # remarks
    assert len(shown) == 2
    assert shown[0]["data"]["text/html"].count("<progress") == 1 and shown[0]["data"]["text/plain"].endswith(" s")
    assert shown[1]["data"]["text/plain"] == "Atlas.open('small.atlas')"


def test_no_cell_writes_to_stderr(cells):
    assert [name for name, cell in cells.items() if "stream stderr" in kinds(cell)] == []


def test_a_remark_is_plain_text(cells):
    assert kinds(cells["say"]) == ["stream stdout"] and text(cells["say"]) == "a [bold] remark\n"


def test_results_have_short_representations(cells):
    layouts = cells["tsne"].outputs[-1]["data"]
    assert layouts["text/plain"].startswith("<Layouts of all-MiniLM-L6-v2: 12 heads × 9 points, ")
    assert "L0·H11" in layouts["text/html"] and len(layouts["text/plain"]) < 200
    assert "6 encoder layers × 12 heads" in cells["model"].outputs[-1]["data"]["text/html"]
