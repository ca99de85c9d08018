"""Evaluation on a Ray cluster: pictures are tasks, and each worker process loads the model once.

Whatever a worker does is told to it: the task carries the picture, the settings and the number of threads, so that rows
are those of a local run with as many threads. A picture whose worker is lost goes to another one.
"""

import copy
import os
import socket
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import torch

from srs_core.evaluate.picture import Step, Task, certify_picture
from srs_core.evaluate.rows import Row
from srs_core.model import Model

__all__ = ["Cluster", "RayError", "import_ray"]

RETRIES = 5
"""How many lost workers a picture survives; one that takes every worker down with it must end some time."""

PATIENCE = 5.0
"""The seconds within which an address must answer; Ray itself tries for minutes, and hears no interrupt meanwhile."""

PACKAGE = Path(__file__).resolve().parents[1]

# Set before Ray is imported. The first keeps a cluster on this machine to the loopback interface, in spite of its
# name; the second keeps Ray from telling its makers about this run.
ENVIRONMENT = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}


class RayError(ValueError):
    """Ray cannot be used; the text says why, and what to do."""


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster that certifies pictures: "local" starts one here, "auto" finds a running one, else its address.

    `workers` limits how many pictures are in work at once, `threads` is how many each worker computes with. GPUs are
    used, one for each worker, when the cluster has any.
    """

    address: str = "local"
    workers: int | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        for name, value in (("workers", self.workers), ("threads", self.threads)):
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; it must be at least 1.")

    def __call__(self, model: Model, tasks: Iterator[Task]) -> Generator[Step, None, None]:
        """Certify the tasks on the cluster; rows come in the order in which pictures are finished."""
        ray = import_ray()
        pending: dict[Any, int] = {}
        with self._connection(ray):
            try:
                resources = ray.cluster_resources()
                gpus = int(resources.get("GPU", 0))
                self._check_room(ray.nodes(), gpus > 0)
                slots = max(gpus or int(resources.get("CPU", 1)) // self.threads, 1)
                # Twice as many as there are workers, so that none waits for the driver to write a row.
                most = self.workers or 2 * slots
                work = ray.remote(_work).options(num_cpus=self.threads, num_gpus=1 if gpus else 0, max_retries=RETRIES)
                shared = [ray.put(_on_cpu(model))]
                for task in tasks:
                    pending[work.remote(shared, task, self.threads)] = task.sample.index
                    if len(pending) >= most:
                        yield from _finished(ray, pending)
                while pending:
                    yield from _finished(ray, pending)
            finally:
                for reference in pending:
                    ray.cancel(reference)

    def connect(self, ray: Any) -> bool:
        """Connect, unless this process is connected already; True when the connection is ours to end."""
        if ray.is_initialized():
            return False
        # For "auto", Ray looks into this variable first.
        _check_answers(os.environ.get("RAY_ADDRESS", "") if self.address == "auto" else self.address)
        quiet = {"logging_level": "error", "log_to_driver": False}
        try:
            if self.address == "local":
                cpus = (self.workers or 0) * self.threads or os.cpu_count()
                ray.init(address="local", num_cpus=cpus, include_dashboard=False, **quiet)
            else:
                # The cluster's machines need the dependencies; this package they get from here, in this version.
                ray.init(address=self.address, runtime_env={"py_modules": [str(PACKAGE)]}, **quiet)
        except Exception as error:  # Ray has no common class for what goes wrong here, and sometimes raises a bare one
            raise RayError(
                f"Ray could not be started or reached at {self.address!r} ({error}). 'local' starts a cluster on this "
                "machine, 'auto' and addresses need one that runs; if it asks for a token, set RAY_AUTH_MODE=token and "
                "RAY_AUTH_TOKEN as its owner says."
            ) from error
        return True

    @contextmanager
    def _connection(self, ray: Any) -> Iterator[None]:
        """Be connected while this lasts; a connection that was there before stays as it is."""
        with _messages_on_stderr(ray):
            started = self.connect(ray)
            try:
                yield
            finally:
                if started:
                    ray.shutdown()

    def _check_room(self, nodes: list[dict[str, Any]], on_gpu: bool) -> None:
        """Refuse more threads than any machine has processors: Ray would wait for a larger one for ever."""
        machines = [node["Resources"] for node in nodes if node["Alive"]]
        largest = max((int(has.get("CPU", 0)) for has in machines if has.get("GPU") or not on_gpu), default=0)
        if self.threads > largest:
            raise RayError(
                f"threads is {self.threads}, but no machine {'with a GPU ' if on_gpu else ''}of the cluster has more "
                f"than {largest} processors; make threads smaller."
            )


def import_ray() -> Any:
    """Import Ray with its listening and its telemetry turned off, or say how to install it."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise RayError("Ray is not installed. Install it with: pip install -r requirements-ray.txt") from error
    return ray


def _check_answers(address: str) -> None:
    """Refuse an address with a port at which nothing listens."""
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        if parts.hostname is not None and parts.port is not None:
            socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE).close()
    except (OSError, ValueError) as error:  # a ValueError is about how the address is written
        raise RayError(
            f"No Ray cluster can be reached at {address!r} ({getattr(error, 'strerror', None) or error}). Correct the "
            "address, start a cluster there with `ray start --head`, or say 'local' to have one on this machine."
        ) from error


@contextmanager
def _messages_on_stderr(ray: Any) -> Iterator[None]:
    """Have Ray print on standard error while this lasts.

    It tells of lost workers on standard output, where a JSON document may be expected, from a thread of its own and
    with no option against it. So its function that prints is replaced, and not sys.stdout, which is everyone's.
    """
    module = ray._private.worker
    show = module.print_to_stdstream
    module.print_to_stdstream = lambda data, **options: show({**data, "is_err": True}, **options)
    try:
        yield
    finally:
        module.print_to_stdstream = show


def _on_cpu(model: Model) -> Model:
    """A copy that any worker can open, whether it has a GPU or not."""
    return copy.deepcopy(model).cpu() if isinstance(model, torch.nn.Module) else model


def _finished(ray: Any, pending: dict[Any, int]) -> Iterator[Step]:
    """Wait until a picture is finished, and give the rows of all that are."""
    ready, _ = ray.wait(list(pending), num_returns=1)
    for reference in ready:
        index = pending.pop(reference)
        try:
            rows = ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            # The cause as it was, and not Ray's text about it, which is a page long.
            raise error.cause from None
        except ray.exceptions.LocalRayletDiedError as error:
            raise RayError(
                "The Ray node on this machine has died. Finished pictures are kept; start again to continue."
            ) from error
        except ray.exceptions.RayError as error:
            raise RayError(
                f"Picture {index} could not be certified: its worker was lost {RETRIES + 1} times in a row "
                f"({type(error).__name__}). Finished pictures are kept; start again to continue."
            ) from error
        yield Step(index, 1.0, rows)


_models: dict[str, Model] = {}
"""In a worker process: the model it has loaded, by its reference. One at a time, so that memory holds."""


def _work(shared: list[Any], task: Task, threads: int) -> tuple[Row, ...]:
    """Certify one picture, in a worker process."""
    import ray

    torch.set_num_threads(threads)
    reference = shared[0]
    key = reference.hex()
    if key not in _models:
        _models.clear()
        model = ray.get(reference)
        _models[key] = model.to("cuda") if ray.get_gpu_ids() else model
    rows: tuple[Row, ...] = ()
    for step in certify_picture(_models[key], task):
        rows = step.rows
    return rows
