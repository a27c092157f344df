"""What the plain encoders cost: time and peak memory of `features` on a collected atlas.

    python benchmarks/features.py squad.atlas [ENCODER …]

Works on a copy, so that the atlas does not change. Each encoder runs once, in a separate process, its blocks on one
core: CPU time over maps is what a core does.
"""

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ENCODERS = ("stats", "pooled", "profile", "heads")


def measure(path: str, encoder: str) -> dict[str, float]:
    import headatlas as ha
    from headatlas import features, parallel

    parallel.cores = lambda: 1
    start, used = time.perf_counter(), time.process_time()
    shape = features.image(ha.open(path), encoder).shape
    return {
        "maps": shape[0] * shape[1] * shape[2],
        "width": shape[3],
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - used,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    if sys.argv[1] == "--one":
        print(json.dumps(measure(*sys.argv[2:])))
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.atlas"
        shutil.copytree(sys.argv[1], copy)
        for encoder in sys.argv[2:] or ENCODERS:
            command = [sys.executable, __file__, "--one", str(copy), encoder]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            measured = json.loads(done.stdout)
            rate = measured["maps"] / measured["cpu"]
            print(
                f"{encoder}: {measured['maps']:,} maps, {measured['width']} numbers each; {measured['seconds']:.1f} s, "
                f"CPU {measured['cpu']:.1f} s, {rate:,.0f} maps/s a core; peak memory {measured['memory']:,.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
