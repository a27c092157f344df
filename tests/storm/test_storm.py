"""Short storms of kills, changed bytes and writers: `make storm` runs long ones."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from storm.counting import BAD, REFUSED, REPAIRED, WITHOUT, Report, table

TESTS = Path(__file__).parents[1]
COUNTS = {"kills": 16, "flips": 20, "rounds": 4, "inputs": 100}
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a POSIX system")


@pytest.fixture(scope="module")
def storms():
    """All storms in one process that is not this one: a process with threads must not be forked."""
    options = [f"--{name}={count}" for name, count in COUNTS.items()]
    line = [sys.executable, "-W", "ignore", "-m", "storm", "--json", "--seed=3", *options]
    process = subprocess.run(line, cwd=TESTS, capture_output=True, text=True, timeout=1800)
    assert process.returncode == 0, process.stderr[-5000:]
    return json.loads(process.stdout)


@pytest.mark.parametrize("name", COUNTS)
def test_nothing_is_lost_or_wrong_and_nothing_ends_with_a_traceback(storms, name):
    assert storms[name]["failures"] == [] and not any(storms[name][outcome] for outcome in BAD)
    assert storms[name]["tried"] == COUNTS[name]


def test_a_killed_command_that_is_run_again_ends_with_the_same_bits(storms):
    assert storms["kills"][REPAIRED] > COUNTS["kills"] * 0.7


def test_a_changed_byte_is_named_and_repaired_or_has_no_effect(storms):
    assert storms["flips"][REPAIRED] + storms["flips"][WITHOUT] == COUNTS["flips"]
    assert storms["flips"][REPAIRED] > COUNTS["flips"] / 3


def test_every_refusal_of_a_writer_is_one_line_that_says_what_to_do(storms):
    assert storms["rounds"][REFUSED] + storms["rounds"][WITHOUT] == COUNTS["rounds"]
    for line in storms["rounds"]["lines"]:
        assert line.startswith("headatlas: ")


def test_a_report_counts_and_describes():
    report = Report()
    for outcome in (REFUSED, REPAIRED, REPAIRED, BAD[0]):
        report.add(outcome, "case 1", "two values")
    assert report.failures == [f"{BAD[0]}: case 1: two values"] and report.row()["tried"] == 4
    merged = Report()
    merged.merge(report.plain())
    assert merged.row() == report.row()
    assert "| kills | 4 | 1 | 2 | 0 | 1 | 0 | 0 |" in table({"kills": report.row()})
