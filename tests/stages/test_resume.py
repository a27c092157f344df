"""A collection survives kills, lost workers and flipped bytes, and its bits do not depend on how it was run."""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import headatlas as ha
from headatlas.errors import DamagedChunk, ModelError, OptionError, StoreError, WorkerError
from support.children import listening

OPTIONS = {"resolution": 16, "qk_tokens": 1500, "max_tokens": 48}
KILLS = 20


def dataset():
    return ha.data.load("sample", limit=40)


def bits(folder):
    """Every file of an atlas by its digest."""
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def packaged():
    return ha.models.load("packaged")


@pytest.fixture(scope="module")
def undisturbed(packaged, tmp_path_factory):
    """The atlas of an undisturbed run."""
    path = tmp_path_factory.mktemp("whole") / "x.atlas"
    ha.collect.maps(packaged, dataset(), path, **OPTIONS)
    return path


def test_the_same_call_twice_changes_nothing(packaged, undisturbed):
    before = bits(undisturbed)
    ha.collect.maps(packaged, dataset(), undisturbed, **OPTIONS)
    assert bits(undisturbed) == before


def test_another_number_of_threads_gives_the_same_bits(packaged, undisturbed, tmp_path, monkeypatch):
    monkeypatch.setattr(ha.parallel, "cores", lambda: 5)
    ha.collect.maps(packaged, dataset(), tmp_path / "x.atlas", **OPTIONS)
    assert bits(tmp_path / "x.atlas") == bits(undisturbed)


KILLER = """
import os, random, signal, sys, time
os.environ["TOKENIZERS_PARALLELISM"] = "false"
import torch
torch.set_num_threads(1)  # a process that has started threads must not be forked
import headatlas as ha
path, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
model = ha.models.load("packaged")
rng = random.Random(seed)
ha.collect.maps(model, ["compile the kernel"], "memory://warm", resolution=16)
ends = finished = 0
while ends < kills:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        ha.collect.maps(model, ha.data.load("sample", limit=40), path, resolution=16, qk_tokens=1500, max_tokens=48)
        os._exit(0)
    time.sleep(rng.uniform(0.02, 0.9))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        ends += 1
    else:  # it finished before the signal came: start over, so that every kill hits a running process
        finished += 1
        os.rename(path, f"{path}.{finished}")
print(ends, finished)
"""


def test_killed_at_any_moment_and_run_again_it_ends_with_the_same_bits(packaged, undisturbed, tmp_path):
    path = tmp_path / "x.atlas"
    process = subprocess.run(
        [sys.executable, "-c", KILLER, str(path), str(KILLS), "7"], capture_output=True, text=True, timeout=600
    )
    assert process.returncode == 0, process.stderr
    kills, finished = map(int, process.stdout.split())
    assert kills == KILLS
    ha.collect.maps(packaged, dataset(), path, **OPTIONS)
    expected = bits(undisturbed)
    assert bits(path) == expected
    for number in range(1, finished + 1):
        assert bits(f"{path}.{number}") == expected


def test_local_processes_give_the_same_bits(undisturbed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ha.collect.maps("packaged", dataset(), "x.atlas", workers=2, **OPTIONS)
    assert bits(tmp_path / "x.atlas") == bits(undisturbed)


def test_a_cluster_that_loses_a_worker_gives_the_same_bits(undisturbed, tmp_path):
    import distributed

    path = tmp_path / "x.atlas"
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        command = [sys.executable, "-m", "headatlas", "collect", "packaged", "sample", "--limit", "40", "-o", str(path)]
        command += ["--resolution", "16", "--qk-tokens", "1500", "--max-tokens", "48"]
        log = (tmp_path / "log").open("w+")
        run = subprocess.Popen([*command, "--scheduler", cluster.scheduler_address], stderr=log, stdout=log)
        manifests = path / "manifests" / "collect"
        deadline = time.monotonic() + 300
        while len(list(manifests.glob("block-*.json"))) < 1:
            assert run.poll() is None and time.monotonic() < deadline, (tmp_path / "log").read_text()
            time.sleep(0.01)
        victim = next(iter(cluster.workers.values()))
        os.kill(victim.pid, signal.SIGKILL)
        remaining = 5 - len(list(manifests.glob("block-*.json")))
        assert run.wait(300) == 0, (tmp_path / "log").read_text()
        log.close()
    assert remaining > 0, "the worker was killed too late to matter"
    assert bits(path) == bits(undisturbed)


def test_no_scheduler_at_the_address(tmp_path):
    with pytest.raises(WorkerError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        ha.collect.maps("packaged", dataset(), tmp_path / "x.atlas", scheduler="tcp://127.0.0.1:9", **OPTIONS)


def test_flipped_bytes_are_named_when_read_and_repaired_by_the_same_call(packaged, undisturbed, tmp_path, capfd):
    path = Path(shutil.copytree(undisturbed, tmp_path / "x.atlas"))
    block = path / "collect.zarr/pooled/c/2/0/0/0/0"
    content = bytearray(block.read_bytes())
    content[len(content) // 2] ^= 0xFF
    block.write_bytes(content)
    with pytest.raises(DamagedChunk, match=r"collect.zarr/pooled is damaged.*Run the `headatlas collect` command"):
        ha.open(path).read("pooled")
    capfd.readouterr()
    ha.collect.maps(packaged, dataset(), path, **OPTIONS)
    assert "pooled/c/2/0/0/0/0 does not match its checksum: recomputed" in capfd.readouterr().err
    assert bits(path) == bits(undisturbed)


@pytest.mark.parametrize(
    "name", ["tokens.parquet", "examples.parquet", "collect.zarr/stats/c/0/0/0/0", "manifests/collect/plan.json"]
)
def test_any_lost_or_damaged_file_is_recomputed(packaged, undisturbed, tmp_path, name):
    path = Path(shutil.copytree(undisturbed, tmp_path / "x.atlas"))
    (path / name).write_bytes(b"nonsense")
    ha.collect.maps(packaged, dataset(), path, **OPTIONS)
    (path / name).unlink()
    ha.collect.maps(packaged, dataset(), path, **OPTIONS)
    assert bits(path) == bits(undisturbed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"resolution": 8}, "resolution is 16 there and 8 here"),
        ({"qk_tokens": 10, "seed": 3}, "qk_tokens is 1500 there and 10 here; seed is 0 there and 3 here"),
        ({"max_tokens": None}, "max_tokens is 48 there and None here"),
    ],
)
def test_other_options_are_refused_with_the_difference_named(packaged, undisturbed, change, message):
    with pytest.raises(OptionError, match=message):
        ha.collect.maps(packaged, dataset(), undisturbed, **(OPTIONS | change))


def test_other_data_or_another_version_is_refused(packaged, undisturbed, tmp_path):
    with pytest.raises(OptionError, match="contents of the dataset differ"):
        ha.collect.maps(packaged, ha.data.load("sample", limit=41), undisturbed, **OPTIONS)
    path = shutil.copytree(undisturbed, tmp_path / "x.atlas")
    with ha.open(path).editing() as header:
        header["results"]["collect"][0]["recipe"]["version"] = "0.0.1"
    with pytest.raises(OptionError, match=r"version of headatlas differs \(0.0.1 there"):
        ha.collect.maps(packaged, dataset(), path, **OPTIONS)


def test_a_folder_that_is_not_an_atlas_is_left_alone(packaged, tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(StoreError, match="is not an atlas and not empty"):
        ha.collect.maps(packaged, dataset(), tmp_path, **OPTIONS)
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


def test_nan_in_a_layer_stops_the_run_and_names_the_layer(tmp_path):
    import torch

    model = ha.models.load("packaged")
    with torch.no_grad():
        model.network.encoder.layer[4].attention.self.query.weight[3, 5] = float("nan")
    with pytest.raises(ModelError, match=r"layer 4 \(encoder.layer.4.attention.self\) is NaN or infinite"):
        ha.collect.maps(model, dataset(), tmp_path / "x.atlas", **OPTIONS)


def test_a_model_in_memory_cannot_be_shared_with_workers(packaged, tmp_path):
    network = packaged.network
    unsaved = ha.models.load(network, tokenizer=packaged.tokenizer)
    with pytest.raises(OptionError, match="save this one with save_pretrained"):
        ha.collect.maps(unsaved, dataset(), tmp_path / "x.atlas", workers=2, **OPTIONS)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a POSIX system")
def test_no_space_left_is_one_clear_line_and_the_run_continues_afterwards(packaged, undisturbed, tmp_path):
    """A limit on the size of files simulates a full disk: the system refuses to write in the same way."""
    path = tmp_path / "x.atlas"
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
import sys
sys.argv = ["headatlas", "collect", "packaged", "sample", "--limit", "40", "-o", {str(path)!r},
            "--resolution", "16", "--qk-tokens", "1500", "--max-tokens", "48"]
from headatlas.cli import main
main()
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert process.returncode == 1
    assert "headatlas: no space left for" in process.stderr and "Traceback" not in process.stderr
    ha.collect.maps(packaged, dataset(), path, **OPTIONS)
    assert bits(path) == bits(undisturbed)


def test_ctrl_c_ends_with_130_and_one_line_and_the_run_continues_afterwards(packaged, undisturbed, tmp_path):
    path = tmp_path / "x.atlas"
    command = [sys.executable, "-m", "headatlas", "collect", "packaged", "sample", "--limit", "40", "-o", str(path)]
    command += ["--resolution", "16", "--qk-tokens", "1500", "--max-tokens", "48"]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=listening)
    deadline = time.monotonic() + 120
    while not (path / "examples.parquet").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(random.Random(0).uniform(0.1, 0.3))
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130, err.decode()
    assert b"run the same command again to continue" in err and b"Traceback" not in err
    ha.collect.maps(packaged, dataset(), path, **OPTIONS)
    assert bits(path) == bits(undisturbed)


def test_a_process_that_compiles_and_one_that_loads_the_compiled_code_give_the_same_bits(tmp_path):
    """A helper that is not inlined could sum in another order when the code is loaded from the cache."""
    digests = []
    for name in ("compiles.atlas", "loads.atlas"):
        command = [sys.executable, "-m", "headatlas", "collect", "packaged", "sample", "--limit", "8", "-o", name]
        subprocess.run(
            command,
            cwd=tmp_path,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            check=True,
            timeout=300,
        )
        digests.append(bits(tmp_path / name))
    assert any((tmp_path / "cache").rglob("*.nbi")), "the cache was not used"
    assert digests[0] == digests[1]
