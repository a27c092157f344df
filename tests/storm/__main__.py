"""Long storms, for `make storm`: python -m storm [--seed 0] [--cases 20000]; prints counts and failures."""

import argparse
import faulthandler
import sys
import tempfile
import time

from storm import flips, readers

STORMS = {"readers": (readers.storm, 1), "flips": (flips.storm, 10)}  # and how much slower a case is


def main():
    """Run every storm, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("storms", nargs="*", default=list(STORMS), help=", ".join(STORMS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=20_000)
    options = parser.parse_args()
    faulthandler.enable()
    failed = 0
    for name in options.storms:
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="headatlas-storm-") as folder:
            storm, cost = STORMS[name]
            counts, failures = storm(folder, options.seed, options.cases // cost)
        told = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
        sys.stdout.write(f"{name}: {sum(counts.values()):,} cases in {time.monotonic() - started:,.0f} s: {told}\n")
        sys.stdout.write("".join(f"\n{failure}\n" for failure in failures[:5]))
        failed += len(failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
