"""Run a stage in a child process that kills itself at a given step of the engine, then run it again.

A step is a call that changes the atlas: a file written or deleted, blocks of an array, a lock taken or released. The
child dies just before the step, as by `kill -9`. Run as a program: `killing.py STAGE BASE WORK KILLS`.
"""

import contextlib
import hashlib
import importlib
import json
import os
import shutil
import sys
from pathlib import Path

import torch

import headatlas as ha
from headatlas import (
    cluster,
    collect,
    compare,
    correlate,
    evaluate,
    features,
    null,
    parallel,
    probe,
    project,
    qk,
    tsne,
)  # fmt: skip
from headatlas.atlas import lock
from headatlas.atlas.files import Files
from headatlas.atlas.writer import Writer
from support.question_models import small_bert

STEPS = [
    (Files, "write"), (Files, "writing"), (Files, "remove"), (Files, "sweep"), (Writer, "create_array"),
    (Writer, "write_blocks"), (Writer, "write_manifest"), (lock, "_take"),
]  # fmt: skip
IMPORTED = ("headatlas", "numba", "openTSNE", "pyarrow", "scipy", "sklearn", "tokenizers", "transformers", "zarr")
TEXTS = ["The cat sat on the mat.", "It slept, then it ate.", "Who rang the bell?", "Rain fell all day."] * 5


def stages(model):
    """Every stage as a function of the path of an atlas; `again` replaces the result and what was derived from it."""
    return {
        "collect": lambda path: collect.maps(model, TEXTS, path, resolution=8, qk_tokens=100),
        "evaluate": lambda path: evaluate.questions(model, ha.data.load("sample:questions", limit=20), collect=path),
        "features": lambda path: features.image(ha.open(path), "stats"),
        "features again": lambda path: features.image(ha.open(path), "stats", name="planted"),
        "cluster": lambda path: cluster.kmeans(ha.open(path), k=4, name="new"),
        "cluster again": lambda path: cluster.kmeans(ha.open(path), k=3),
        "cluster tree": lambda path: cluster.tree(ha.open(path)),
        "sweep": lambda path: cluster.sweep(ha.open(path), methods=["kmeans"], ks=[2, 3], sample=60),
        "project": lambda path: project.pca(ha.open(path), name="new"),
        "correlate": lambda path: correlate.clusters(ha.open(path), of="kmeans", permutations=9, seed=1),
        "null": lambda path: null.references(ha.open(path), model=model),
        "tsne": lambda path: tsne.heads(ha.open(path), 0, heads=["L0", "L3"], restarts=8, iterations=120),
        "qk": lambda path: qk.embed(ha.open(path), "pca", tokens=40),
        "probe": lambda path: probe.spectrum(ha.open(path), model=model, examples=16),
        "compare": lambda path: compare.models(ha.open(path), path, examples=2),
        "tsne compare": lambda path: tsne.compare(ha.open(path), heads="L0·H2 L1·H8", runs=2),
    }


def count_steps(limit):
    """Count the steps of this process from now on; die before step number `limit`."""
    steps = [0]

    def counted(function):
        def step(*arguments, **options):
            if steps[0] == limit:
                os._exit(9)
            steps[0] += 1
            return function(*arguments, **options)

        return step

    for owner, name in STEPS:
        setattr(owner, name, counted(getattr(owner, name)))
    return steps


def in_child(function, path, limit=-1):
    """Run a stage in a child; return its exit status, the number of its steps, and the modules it imported."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        steps = count_steps(limit)
        function(path)
        with os.fdopen(writer, "w") as pipe:
            json.dump([steps[0], sorted(sys.modules)], pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        steps, modules = json.loads(pipe.read() or "[0, []]")
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), steps, modules


def import_before_forking(modules):
    """Import what a child needed, so that later children need not."""
    for name in modules:
        if name.partition(".")[0] in IMPORTED:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


def bits(folder):
    """Every file of an atlas by its digest."""
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def fresh(base, path):
    """A copy of an atlas to work on; none for the stage that creates one."""
    shutil.rmtree(path, ignore_errors=True)
    if base:
        shutil.copytree(base, path)


def main(stage, base, work, kills):
    """Kill a stage at evenly spread steps, run it again each time, and compare the bits."""
    torch.set_num_threads(1)  # a process that has started threads must not be forked
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    parallel.cores = lambda: 1  # steps always come in the same order
    collects = stage in ("collect", "evaluate", "null", "probe")
    model = ha.models.load("packaged") if collects else None
    if stage == "evaluate":
        model = small_bert(Path(work) / "qa", model.tokenizer, vocab_size=len(model.tokenizer))
    function, path = stages(model)[stage], Path(work) / "x.atlas"
    if collects:
        collect.maps(ha.models.load("packaged"), ["compile the kernel"], "memory://warm", resolution=8)
    fresh(base, path)
    status, total, modules = in_child(function, path)
    assert status == 0
    import_before_forking(modules)
    expected = bits(path)
    killed = set()
    for number in range(kills):
        limit = number * total // kills
        fresh(base, path)
        status, *_ = in_child(function, path, limit)
        assert status == 9, (stage, limit, status)
        status, *_ = in_child(function, path)
        assert status == 0, (stage, limit, status)
        assert bits(path) == expected, (stage, limit, sorted({*bits(path).items()} ^ {*expected.items()}))
        killed.add(limit)
    sys.stdout.write(f"{len(killed)} {total}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
