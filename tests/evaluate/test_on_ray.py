"""A real Ray cluster here gives the rows of a local run, loses none with a worker, and listens on loopback only."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from srs_core.evaluate.on_ray import Cluster, RayError, import_ray
from srs_core.evaluate.run import evaluate, evaluate_stream, result_paths
from srs_core.planar import PlanarDEQ, load_planar

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("CI") and find_spec("ray") is None,
        reason="Ray is not installed; pip install -r requirements-ray.txt",
    ),
    # Ray's own.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning"),
]

on_linux = pytest.mark.skipif(
    not Path("/proc/net/tcp").exists(), reason="Only Linux tells about processes and sockets in /proc."
)

BOTH = ({"method": "rs"}, {"steps": 2})
ROOT = Path(__file__).parents[2]
OPTIONS = (
    "evaluate --model cifar10-small-0.25 --data gallery --stop 6 --method rs --reference-steps 4 --n 200 --n0 8 "
    "--alpha 0.2 --batch-size 20 --ray local --workers 1 --json --out"
)

# In a process of its own, which has no connection yet.
CONNECT = """
import sys
from srs_core.evaluate.on_ray import Cluster, RayError, import_ray
for address in sys.argv[1:]:
    try:
        Cluster(address).connect(import_ray())
    except RayError as error:
        print(error)
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """One cluster of two workers for all these tests, started as an evaluation would start it."""
    ray = import_ray()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    Cluster("local", workers=2).connect(ray)
    # Workers cannot import a test module by its name.
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    ray.shutdown()
    torch.set_num_threads(threads)


class Deadly(PlanarDEQ):
    """A model that takes its worker down, once, in the middle of a picture."""

    def __init__(self, marker: Path) -> None:
        super().__init__()
        self.load_state_dict(load_planar().state_dict())
        self.requires_grad_(False)
        self.marker = marker
        self.calls = 0

    def classify(self, z: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        if self.calls == 4 and not self.marker.exists():
            self.marker.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().classify(z)


class Failing(PlanarDEQ):
    """A model that cannot answer."""

    def inject(self, x: torch.Tensor) -> torch.Tensor:
        raise ValueError(f"No answer for {x.shape[1]} pixels.")


@pytest.mark.usefixtures("cluster")
def test_rows_are_those_of_a_local_run(make_evaluation, tmp_path, without_time):
    evaluation = make_evaluation(*BOTH)
    local, remote = (result_paths(evaluation, tmp_path / f"{name}.tsv") for name in ("local", "remote"))
    evaluate(evaluation, local)
    evaluate(evaluation, remote, Cluster("local"))
    for name in local:
        assert without_time(remote[name]) == without_time(local[name])


@pytest.mark.usefixtures("cluster")
def test_a_killed_worker_loses_nothing(make_evaluation, tmp_path, without_time):
    evaluation = make_evaluation({"steps": 2})
    evaluate(evaluation, {"SRS-MDEQ-2A": tmp_path / "local.tsv"})
    marker = tmp_path / "killed"
    deadly = replace(evaluation, model=Deadly(marker))
    evaluate(deadly, {"SRS-MDEQ-2A": tmp_path / "remote.tsv"}, Cluster("local"))
    assert marker.exists()
    assert without_time(tmp_path / "remote.tsv") == without_time(tmp_path / "local.tsv")


@pytest.mark.usefixtures("cluster")
def test_a_stopped_driver_goes_on_where_it_was(make_evaluation, tmp_path, without_time):
    evaluation = make_evaluation({"steps": 2})
    evaluate(evaluation, {"SRS-MDEQ-2A": tmp_path / "local.tsv"})
    paths = {"SRS-MDEQ-2A": tmp_path / "remote.tsv"}
    stream = evaluate_stream(evaluation, paths, Cluster("local"))
    assert next(progress.done for progress in stream if progress.rows) == 1
    stream.close()
    stream = evaluate_stream(evaluation, paths, Cluster("local", workers=1))
    assert next(stream).found == 1
    assert list(stream)[-1].done == 5
    assert without_time(tmp_path / "remote.tsv") == without_time(tmp_path / "local.tsv")


@pytest.mark.usefixtures("cluster")
def test_an_error_in_a_worker_is_the_drivers_error(make_evaluation, tmp_path):
    evaluation = replace(make_evaluation({"steps": 2}), model=Failing())
    with pytest.raises(ValueError, match=r"^No answer for 2 pixels\.$"):
        evaluate(evaluation, {"SRS-MDEQ-2A": tmp_path / "remote.tsv"}, Cluster("local"))


@pytest.mark.usefixtures("cluster")
@on_linux
def test_a_cluster_on_this_machine_listens_on_loopback_only():
    processes = _descendants(os.getpid())
    listening = {inode: address for inode, address in _listening() if inode in _sockets(processes)}
    assert len(listening) > 3
    assert {address for address in listening.values() if not _is_loopback(address)} == set()


@pytest.mark.parametrize("options", [{"workers": 0}, {"threads": 0}])
def test_impossible_numbers_are_named(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} is 0"):
        Cluster("local", **options)


@pytest.mark.usefixtures("cluster")
@pytest.mark.timeout(60)
def test_more_threads_than_a_machine_has_processors_are_refused(make_evaluation, tmp_path):
    with pytest.raises(RayError, match="threads is 3, but no machine of the cluster has more than 2 processors"):
        evaluate(make_evaluation({"steps": 2}), {"SRS-MDEQ-2A": tmp_path / "remote.tsv"}, Cluster("local", threads=3))


@pytest.mark.timeout(60)
def test_an_address_where_nothing_listens_is_refused_at_once():
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{deaf.getsockname()[1]}"
        asked = [address, f"ray://{address}", "auto", "127.0.0.1:99999", "[::1:6379"]
        environment = {**os.environ, "RAY_ADDRESS": address}
        command = [sys.executable, "-c", CONNECT, *asked]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    named = [address, f"ray://{address}", address, "127.0.0.1:99999", "[::1:6379"]
    told = done.stdout.splitlines()
    assert len(told) == len(named)
    for line, name in zip(told, named, strict=True):
        assert line.startswith(f"No Ray cluster can be reached at '{name}' (")


@on_linux
def test_a_lost_worker_is_told_on_standard_error_and_json_stays_json(tmp_path):
    code, out, told = _evaluate_and_kill_a_worker(tmp_path)
    assert "Task _work failed" in told
    assert code == 0, told
    assert json.loads(out)["summary"][0]["pictures"] == 6


def _evaluate_and_kill_a_worker(folder: Path) -> tuple[int, str, str]:
    """Run the command line on Ray and kill a worker of its cluster while a picture is in work."""
    command = [sys.executable, "-m", "srs_core", *OPTIONS.split(), str(folder / "results.tsv")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=environment, **pipes) as process:
        while process.poll() is None:
            programs = {_program(pid): pid for pid in _descendants(process.pid)}
            if "ray::_work" in programs:
                os.kill(programs["ray::_work"], signal.SIGKILL)
                break
            time.sleep(0.02)
        out, told = process.communicate()
    return process.returncode, out, told


def _program(pid: int) -> str:
    """The name that a process goes by, without its folder."""
    try:
        first = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    except OSError:
        return ""  # it has ended meanwhile
    return first.decode().rpartition("/")[2].strip()


def _descendants(root: int) -> set[int]:
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = status.read_text()
        except OSError:
            continue  # it has ended meanwhile
        parents[int(status.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _sockets(processes: set[int]) -> set[str]:
    found = set()
    for pid in processes:
        for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = str(descriptor.readlink())
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(target[8:-1])
    return found


def _listening() -> Iterator[tuple[str, str]]:
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            cells = line.split()
            if cells[3] == "0A":
                yield cells[9], cells[1].split(":")[0]


def _is_loopback(address: str) -> bool:
    return address in ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")
