"""What a run announces after its first blocks, compared with what it takes in the end."""

import re

import pytest

import headatlas as ha
from headatlas import parallel
from headatlas.atlas import forecast
from headatlas.atlas.forecast import Forecast
from headatlas.data import load

UNITS = {"seconds": 1, "minutes": 60, "KB": 1e3, "MB": 1e6, "GB": 1e9}


def told(err, title):
    """Seconds and bytes that were announced."""
    match = re.search(rf"{title} [\d,]+ \w+ will take about ([\d.,]+) (\w+) and ([\d.]+) (\w+) on disk", err)
    assert match, err
    number, unit, size, size_unit = match.groups()
    return float(number.replace(",", "")) * UNITS[unit], float(size) * UNITS[size_unit]


def test_a_long_run_is_announced_after_a_few_blocks(capfd):
    seconds = iter([0.0, 9.0, 12.0, 14.0, 17.0])  # two at once: the first two load the model
    run = Forecast("collecting", "examples", 1000, 2, lambda: 150_000.0, clock=lambda: next(seconds))
    for _ in range(4):
        run.advance(8)
    # 12 seconds for the first two blocks, then 16 examples in 5 seconds
    assert "collecting 1,000 examples will take about 5 minutes and 150 MB on disk" in capfd.readouterr().err


@pytest.mark.parametrize("total", [32, 100])
def test_a_short_run_is_not_announced(total, capfd):
    seconds = iter([0.0, 9.0, 12.0, 14.0, 17.0])
    run = Forecast("collecting", "examples", total, 2, lambda: 1.0, clock=lambda: next(seconds))
    for _ in range(4):
        run.advance(8)
    assert capfd.readouterr().err == ""


def test_the_announced_size_and_time_are_near_the_truth(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(forecast, "LONG", 0.0)
    monkeypatch.setattr(parallel, "cores", lambda: 1)
    ended = []
    advance = Forecast.advance
    monkeypatch.setattr(Forecast, "advance", lambda self, units: (advance(self, units), ended.append(self._seen)))
    atlas = ha.collect.maps("packaged", load("sample", limit=48), tmp_path / "x.atlas", qk_tokens=3_000)
    seconds, size = told(capfd.readouterr().err, "collecting")
    took = ended[-1][-1][0] - ended[-1][0][0]
    assert took / 3 < seconds + 1 and seconds - 1 < took * 3
    arrays = [path.parent for path in (tmp_path / "x.atlas/collect.zarr").rglob("zarr.json")]
    stored = {path for array in arrays for name in ("c/**/*", "c.*") for path in array.glob(name) if path.is_file()}
    blocks = sum(path.stat().st_size for path in stored)
    assert blocks / 2 < size < blocks * 2 and atlas.files.size() / 2 < size < atlas.files.size() * 2
