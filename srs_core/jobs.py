"""Long computations in the background: start, watch, cancel, and wait one's turn.

A job runs any iterator on a thread of its own. What the iterator yields is published as it comes, a stop is looked for
between two items, and an exception becomes a sentence. Jobs beyond the limit wait; those who wait are served in turn
by owner, so that a visitor with ten pictures does not keep another with one picture waiting for all ten.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = ["Job", "Jobs", "State", "TooManyJobsError"]

HISTORY = 400
"""How many items of a job are kept at most; older ones are thinned out evenly, the newest is always there."""


class State(StrEnum):
    """Where a job stands."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self in (State.DONE, State.CANCELLED, State.FAILED)


class TooManyJobsError(RuntimeError):
    """The queue is full; the text says so to the visitor."""


@dataclass(frozen=True)
class Job:
    """A job at one moment: a value that does not change while it is looked at.

    `latest` is the newest item, `history` the items so far (thinned when there are many), `place` how many jobs are
    served before this one when it waits, `stopping` whether a cancelled job is still finishing its current item,
    `about` whatever the submitter wants to find again.
    """

    id: str
    owner: str
    about: Any
    state: State
    latest: Any
    history: tuple[Any, ...]
    place: int | None
    stopping: bool
    error: str | None
    seconds: float


@dataclass
class _Entry:
    """A job as the registry keeps it; every field is guarded by the registry's lock."""

    id: str
    owner: str
    about: Any
    work: Callable[[], Iterator[Any]]
    number: int
    turn: int
    state: State = State.WAITING
    latest: Any = None
    items: list[Any] = field(default_factory=list)
    every: int = 1
    count: int = 0
    error: str | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    started: float | None = None
    ended: float | None = None

    def publish(self, item: Any) -> None:
        self.latest = item
        if self.count % self.every == 0:
            self.items.append(item)
            if len(self.items) >= HISTORY:
                self.items = self.items[::2]
                self.every *= 2
        self.count += 1

    def history(self) -> tuple[Any, ...]:
        newest_is_in = not self.items or self.items[-1] is self.latest
        return tuple(self.items) if newest_is_in else (*self.items, self.latest)


class Jobs:
    """All jobs of one server: at most `limit` run at once, `waiting` wait, and `keep` finished ones are remembered."""

    def __init__(self, limit: int = 1, waiting: int = 50, keep: int = 50) -> None:
        for name, value in (("limit", limit), ("waiting", waiting), ("keep", keep)):
            if value < 1:
                raise ValueError(f"{name} is {value}; it must be at least 1.")
        self._limit, self._most_waiting, self._keep = limit, waiting, keep
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._submitted = 0
        self._turn = 0

    def submit(self, work: Callable[[], Iterator[Any]], owner: str = "", about: Any = None) -> str:
        """Queue a job and return its id, which cannot be guessed; it starts at once if there is room."""
        with self._lock:
            if len(self._queue()) >= self._most_waiting:
                raise TooManyJobsError(
                    f"{self._most_waiting} runs are waiting already. Try again when some of them are done."
                )
            self._submitted += 1
            entry = _Entry(secrets.token_urlsafe(9), owner, about, work, self._submitted, self._next_turn(owner))
            self._entries[entry.id] = entry
            self._start_what_fits()
            return entry.id

    def get(self, id: str | None) -> Job | None:
        """The job as it stands now, or None if there is none of that id (any more)."""
        with self._lock:
            entry = self._entries.get(id or "")
            if entry is None:
                return None
            place = None
            if entry.state is State.WAITING:
                place = self._queue().index(entry) + self._running()
            seconds = 0.0 if entry.started is None else (entry.ended or time.monotonic()) - entry.started
            return Job(
                id=entry.id,
                owner=entry.owner,
                about=entry.about,
                state=entry.state,
                latest=entry.latest,
                history=entry.history(),
                place=place,
                stopping=entry.stop.is_set() and not entry.state.over,
                error=entry.error,
                seconds=seconds,
            )

    def of_owner(self, owner: str) -> list[Job]:
        """All remembered jobs of one owner, the oldest first."""
        with self._lock:
            ids = [entry.id for entry in self._entries.values() if entry.owner == owner]
        return [job for job in map(self.get, ids) if job is not None]

    def cancel(self, id: str) -> None:
        """Stop a job: at once if it waits, after its current item if it runs; a finished job stays as it is."""
        with self._lock:
            entry = self._entries.get(id)
            if entry is None or entry.state.over:
                return
            entry.stop.set()
            if entry.state is State.WAITING:
                self._finish(entry, State.CANCELLED)

    def wait(self, id: str, timeout: float | None = None) -> Job | None:
        """Wait until a job is over, or the timeout has passed, and return it."""
        with self._lock:
            entry = self._entries.get(id)
        if entry is not None:
            entry.over.wait(timeout)
        return self.get(id)

    def _queue(self) -> list[_Entry]:
        """Who waits, in the order of service."""
        waiting = [entry for entry in self._entries.values() if entry.state is State.WAITING]
        return sorted(waiting, key=lambda entry: (entry.turn, entry.number))

    def _next_turn(self, owner: str) -> int:
        """An owner's jobs take one turn after the other; somebody new joins the turn that is being served."""
        own = [entry.turn + 1 for entry in self._entries.values() if entry.owner == owner]
        return max([self._turn, *own])

    def _running(self) -> int:
        return sum(entry.state is State.RUNNING for entry in self._entries.values())

    def _start_what_fits(self) -> None:
        for entry in self._queue()[: max(0, self._limit - self._running())]:
            entry.state, entry.started, self._turn = State.RUNNING, time.monotonic(), entry.turn
            threading.Thread(target=self._run, args=(entry,), name=f"job-{entry.number}", daemon=True).start()

    def _run(self, entry: _Entry) -> None:
        state, error = State.DONE, None
        try:
            with closing(_as_generator(entry.work)) as items:
                for item in items:
                    with self._lock:
                        entry.publish(item)
                    if entry.stop.is_set():
                        state = State.CANCELLED
                        break
        except Exception as failure:
            logging.getLogger(__name__).exception("A job failed.")
            state, error = State.FAILED, _sentence(failure)
        with self._lock:
            entry.error = error
            self._finish(entry, state)
            self._start_what_fits()

    def _finish(self, entry: _Entry, state: State) -> None:
        entry.state, entry.ended = state, time.monotonic()
        entry.over.set()
        finished = [other for other in self._entries.values() if other.state.over]
        finished.sort(key=lambda other: other.ended or 0.0)
        for other in finished[: max(0, len(finished) - self._keep)]:
            del self._entries[other.id]


def _as_generator(work: Callable[[], Iterator[Any]]) -> Generator[Any, None, None]:
    yield from work()


def _sentence(error: Exception) -> str:
    """What went wrong, for the visitor."""
    text = str(error).strip()
    if isinstance(error, MemoryError) or "out of memory" in text.lower():
        return "The device ran out of memory. Choose a smaller batch size and try again."
    if isinstance(error, ValueError | OSError) and text:
        return text
    return f"The run stopped because of an unexpected error ({type(error).__name__}: {text})."
