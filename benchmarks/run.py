"""Time and memory of the whole chain on a dataset, from one command, as a user would run it.

    python benchmarks/run.py squad:dev-v2.0.json -o squad.atlas [--json]

Runs `headatlas run packaged DATA -o OUT --method tree --method dbscan` in a separate process. Stages are timed from
outside: the moment at which atlas.json names a result as finished.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path


def finished(folder: Path) -> list[str]:
    """Results named as finished in atlas.json, in the order of the stages."""
    try:
        results = json.loads((folder / "atlas.json").read_text())["results"]
    except (OSError, ValueError):  # not written yet
        return []
    stages = ("collect", "features", "cluster", "correlate", "project")
    return [f"{stage} {entry['name']}" for stage in stages for entry in results.get(stage, []) if entry["done"]]


def measure(data: str, output: Path, limit: int | None) -> dict:
    """Seconds at which each result was finished, and what the whole process took."""
    command = [sys.executable, "-m", "headatlas", "run", "packaged", data, "-o", str(output)]
    command += ["--method", "tree", "--method", "dbscan", *(["--limit", str(limit)] if limit else [])]
    began = time.monotonic()
    child = subprocess.Popen(command)
    done: dict[str, float] = {}
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        for name in finished(output):
            done.setdefault(name, time.monotonic() - began)
        if pid:
            break
        time.sleep(0.5)
    if status:
        sys.exit("the command failed")
    ends = [0.0, *done.values()]
    stages = {name: round(end - start, 1) for (name, end), start in zip(done.items(), ends, strict=False)}
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    return {
        "command": " ".join(["headatlas", *command[3:]]),
        "seconds": round(time.monotonic() - began, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_memory_mb": usage.ru_maxrss // 1024,
        "disk_mb": size // 10**6,
        "stages": stages,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a dataset as `headatlas run` takes it")
    parser.add_argument("-o", "--output", type=Path, required=True, help="where the atlas goes; must not exist")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.output.exists():
        sys.exit(f"{arguments.output} exists: a run that goes on with it would seem too fast")
    measured = measure(arguments.data, arguments.output, arguments.limit)
    if arguments.json:
        print(json.dumps(measured))
        return
    print(f"\n{measured['command']}\none run, not a median, {os.cpu_count()} cores")
    for name, seconds in measured["stages"].items():
        print(f"  {name:24} {seconds:8.1f} s")
    print(f"  {'all':24} {measured['seconds']:8.1f} s   CPU {measured['cpu_seconds']:.0f} s")
    print(f"  peak memory {measured['peak_memory_mb']:,} MB, on disk {measured['disk_mb']:,} MB")


if __name__ == "__main__":
    main()
