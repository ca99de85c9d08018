"""Jobs run in the background, publish what they yield, wait their turn, stop when asked and never die silently."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srs_core.jobs import HISTORY, Jobs, State, TooManyJobsError

PATIENCE = 30.0


class Gate:
    """Work that yields its number and then waits until it is let through."""

    def __init__(self, items: int = 1) -> None:
        self.items = items
        self.started = threading.Event()
        self.open = threading.Event()
        self.closed = threading.Event()

    def __call__(self) -> Iterator[int]:
        try:
            for item in range(self.items):
                yield item
                self.started.set()
                assert self.open.wait(PATIENCE)
        finally:
            self.closed.set()


def finish(jobs: Jobs, job_id: str):
    job = jobs.wait(job_id, PATIENCE)
    assert job is not None
    assert job.state.over
    return job


def test_a_job_publishes_its_items_and_ends():
    jobs = Jobs()
    job = finish(jobs, jobs.submit(lambda: iter([1, 2, 3]), about={"picture": "cat"}))
    assert (job.state, job.latest, job.history, job.error) == (State.DONE, 3, (1, 2, 3), None)
    assert job.about == {"picture": "cat"}
    assert job.place is None


def test_a_running_job_can_be_watched_and_cancelled_between_items():
    jobs, gate = Jobs(), Gate(items=3)
    job_id = jobs.submit(gate)
    assert gate.started.wait(PATIENCE)
    watched = jobs.get(job_id)
    assert (watched.state, watched.latest, watched.stopping) == (State.RUNNING, 0, False)
    jobs.cancel(job_id)
    assert jobs.get(job_id).stopping
    gate.open.set()
    job = finish(jobs, job_id)
    assert (job.state, job.latest, job.stopping) == (State.CANCELLED, 1, False)
    assert gate.closed.is_set()


def test_waiting_jobs_have_a_place_and_can_be_cancelled():
    jobs, first, third = Jobs(limit=1), Gate(), Gate()
    a, b, c = jobs.submit(first), jobs.submit(lambda: iter([1])), jobs.submit(third)
    assert [jobs.get(job).place for job in (a, b, c)] == [None, 1, 2]
    jobs.cancel(b)
    assert jobs.get(b).state is State.CANCELLED
    assert jobs.get(c).place == 1
    first.open.set()
    third.open.set()
    assert finish(jobs, c).state is State.DONE


def test_owners_are_served_in_turn():
    jobs, block, order = Jobs(limit=1), Gate(), []

    def note(name: str):
        def work() -> Iterator[str]:
            order.append(name)
            yield name

        return work

    jobs.submit(block, owner="ann")
    ann = [jobs.submit(note(f"ann-{i}"), owner="ann") for i in range(3)]
    bob = [jobs.submit(note(f"bob-{i}"), owner="bob") for i in range(2)]
    places = [jobs.get(job).place for job in (*ann, *bob)]
    assert sorted(places) == [1, 2, 3, 4, 5]
    assert jobs.get(bob[0]).place == 1
    block.open.set()
    for job in (*ann, *bob):
        finish(jobs, job)
    assert order[0] == "bob-0"
    assert order.index("bob-1") < order.index("ann-2")


def test_no_more_jobs_run_at_once_than_allowed():
    jobs, gates = Jobs(limit=2), [Gate() for _ in range(4)]
    ids = [jobs.submit(gate) for gate in gates]
    assert all(gate.started.wait(PATIENCE) for gate in gates[:2])
    assert [jobs.get(job).state for job in ids] == [State.RUNNING] * 2 + [State.WAITING] * 2
    for gate in gates:
        gate.open.set()
    assert all(finish(jobs, job).state is State.DONE for job in ids)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("sigma is 0; it must be a positive number."), "sigma is 0; it must be a positive number."),
        (RuntimeError("CUDA out of memory: tried 3 GiB"), "smaller batch size"),
        (KeyError("z"), "unexpected error (KeyError"),
    ],
)
def test_a_failure_becomes_a_sentence_and_the_queue_goes_on(error, words):
    def work() -> Iterator[int]:
        yield 1
        raise error

    jobs = Jobs()
    failed, after = jobs.submit(work), jobs.submit(lambda: iter([2]))
    job = finish(jobs, failed)
    assert job.state is State.FAILED
    assert words in job.error
    assert job.latest == 1
    assert finish(jobs, after).state is State.DONE


def test_old_finished_jobs_are_forgotten_and_unknown_ones_are_none():
    jobs = Jobs(keep=2)
    ids = [jobs.submit(lambda: iter([1])) for _ in range(4)]
    finish(jobs, ids[-1])
    assert [jobs.get(job) is None for job in ids] == [True, True, False, False]
    assert jobs.get(None) is None
    jobs.cancel("nobody")


def test_the_queue_is_bounded():
    jobs, gate = Jobs(limit=1, waiting=1), Gate()
    jobs.submit(gate)
    waiting = jobs.submit(lambda: iter([1]))
    with pytest.raises(TooManyJobsError, match="1 runs are waiting"):
        jobs.submit(lambda: iter([1]))
    gate.open.set()
    finish(jobs, waiting)


def test_cancelling_a_finished_job_keeps_its_result():
    jobs = Jobs()
    job_id = jobs.submit(lambda: iter([7]))
    finish(jobs, job_id)
    jobs.cancel(job_id)
    assert (jobs.get(job_id).state, jobs.get(job_id).latest) == (State.DONE, 7)


def test_only_an_owners_own_jobs_are_listed():
    jobs = Jobs()
    mine, other = jobs.submit(lambda: iter([1]), owner="ann"), jobs.submit(lambda: iter([2]), owner="bob")
    finish(jobs, mine)
    finish(jobs, other)
    assert [job.id for job in jobs.of_owner("ann")] == [mine]


@given(st.integers(min_value=0, max_value=5 * HISTORY))
def test_the_history_is_bounded_keeps_its_order_and_ends_with_the_newest(items):
    jobs = Jobs()
    job = finish(jobs, jobs.submit(lambda: iter(range(items))))
    assert len(job.history) <= HISTORY
    assert list(job.history) == sorted(set(job.history))
    if items:
        assert job.history[0] == 0
        assert job.history[-1] == items - 1


def test_impossible_limits_are_named():
    with pytest.raises(ValueError, match="limit is 0"):
        Jobs(limit=0)
