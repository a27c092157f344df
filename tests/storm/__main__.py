"""Long storms, for `make storm`: how often is something refused, repaired, lost or wrong? Prints a table, or JSON.

python -m storm                                    kills, flips, rounds of writers and damaged inputs, in this order
python -m storm --kills 50 --flips 0 --rounds 0 --inputs 0
"""

import argparse
import faulthandler
import json
import math
import sys
import tempfile
import time
from pathlib import Path

from storm import flips, kills, readers, writers
from storm.children import Child
from storm.counting import Report, as_json, table
from storm.scene import Scene

STORMS = {"kills": kills.storm, "flips": flips.storm, "rounds": writers.storm, "inputs": readers.storm}
DEFAULTS = {"kills": 1_000, "flips": 1_000, "rounds": 500, "inputs": 1_000_000}
HELP = {
    "kills": "commands killed at a file operation, and run again",
    "flips": "atlases with one changed byte",
    "rounds": "rounds of two to four commands at once on one atlas",
    "inputs": "damaged files for the readers",
}
MEMORY = Path("/dev/shm")  # files in memory, where there is such a place


def main():
    """Run every storm, a part of it in each process; exit status 1 if something was lost, wrong or a traceback."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, count in DEFAULTS.items():
        parser.add_argument(f"--{name}", type=int, default=count, help=f"{HELP[name]} ({count:,})")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print JSON in place of the table")
    options = parser.parse_args()
    faulthandler.enable()
    reports, seconds = {}, {}
    with tempfile.TemporaryDirectory(prefix="headatlas-storm-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        scene = Scene(folder) if options.kills or options.flips or options.rounds else None
        for name, storm in STORMS.items():
            if getattr(options, name):
                started = time.monotonic()
                reports[name] = _run(storm, scene, folder, options.seed, getattr(options, name), options.processes)
                seconds[name] = time.monotonic() - started
                _tell(f"{name}: {seconds[name]:,.0f} s, {json.dumps(reports[name].row())}\n")
    rows = {name: report.row() for name, report in reports.items()}
    sys.stdout.write(f"{as_json(reports, seconds) if options.json else table(rows)}\n")
    return 1 if any(report.failures for report in reports.values()) else 0


def _tell(text):
    """Progress goes to stderr."""
    sys.stderr.write(text)
    sys.stderr.flush()


def _run(storm, scene, folder, seed, count, processes):
    """Cases of a storm in several processes: case number n is the same in whatever process it runs."""
    parts = [range(start, count, processes) for start in range(min(processes, count))]
    workers = [
        Child(_part, (storm, scene, Path(folder) / str(number), seed, part), folder, math.inf)
        for number, part in enumerate(parts)
    ]
    report = Report()
    for worker in workers:
        ended = worker.wait()
        assert ended.status == 0, ended
        report.merge(json.loads(ended.out))
    return report


def _part(storm, scene, place, seed, numbers):
    place.mkdir(exist_ok=True)
    report = storm(place if storm is readers.storm else scene.at(place), seed, numbers)
    sys.stdout.write(json.dumps(report.plain()))


if __name__ == "__main__":
    sys.exit(main())
