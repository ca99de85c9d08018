"""Finished certificates, kept in one SQLite file that threads and processes may share."""

import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from srs_core.smoothing.certificate import Certificate

__all__ = ["History", "HistoryError", "Row", "Run", "default_path"]

VERSION = 1
_SCHEMA = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    created TEXT NOT NULL,
    picture_name TEXT NOT NULL,
    picture BLOB NOT NULL,
    details TEXT NOT NULL
);
CREATE TABLE certificates (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    model TEXT NOT NULL,
    method TEXT NOT NULL,
    class_name TEXT NOT NULL,
    radius REAL NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (run, place)
);
CREATE INDEX newest ON runs (created);
"""


class HistoryError(OSError):
    """The history cannot be used; the text says why, and what to do."""


@dataclass(frozen=True)
class Row:
    """One certificate in the history, with the run it belongs to and its place in that run."""

    run: str
    place: int
    created: str
    picture_name: str
    certificate: Certificate


@dataclass(frozen=True)
class Run:
    """A finished run: the picture as the model saw it (PNG), its certificates, and whatever else was kept."""

    id: str
    created: str
    picture_name: str
    picture: bytes
    certificates: tuple[Certificate, ...]
    details: dict[str, Any]


def default_path() -> Path:
    """Where the history lives: the file that SRS_HISTORY names, else `history.sqlite` beside the package."""
    named = os.environ.get("SRS_HISTORY")
    return Path(named) if named else Path(__file__).resolve().parents[1] / "history.sqlite"


class History:
    """The history in one file; made when missing, safe to use from many threads at once."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path) if path is not None else default_path()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HistoryError(f"The history's folder {self.path.parent} cannot be made ({error}).") from error
        with self._connection(immediate=False) as db:
            db.execute("PRAGMA journal_mode = WAL")
        with self._connection() as db:
            version = int(db.execute("PRAGMA user_version").fetchone()[0])
            if version > VERSION:
                raise HistoryError(
                    f"The history {self.path} was written by a newer version of this program. Update the program, or "
                    "name another file with SRS_HISTORY."
                )
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {VERSION}")

    def add(
        self,
        certificates: Sequence[Certificate],
        picture: bytes,
        picture_name: str = "picture",
        details: dict[str, Any] | None = None,
    ) -> str:
        """Keep a finished run and return its id."""
        if not certificates:
            raise ValueError("A run without certificates cannot be kept; give at least one.")
        run = secrets.token_urlsafe(9)
        text = json.dumps(details or {}, allow_nan=False)
        with self._connection() as db:
            db.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?)", (run, certificates[0].created, picture_name, picture, text)
            )
            db.executemany(
                "INSERT INTO certificates VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (run, place, c.model, c.method, c.class_name, c.radius, c.to_json(indent=None))
                    for place, c in enumerate(certificates)
                ],
            )
        return run

    def get(self, run: str) -> Run | None:
        """A kept run, or None when there is none of that id."""
        with self._connection(immediate=False) as db:
            found = db.execute("SELECT * FROM runs WHERE id = ?", (run,)).fetchone()
            documents = db.execute("SELECT document FROM certificates WHERE run = ? ORDER BY place", (run,)).fetchall()
        if found is None:
            return None
        certificates = tuple(self._read(row["document"]) for row in documents)
        return Run(
            found["id"],
            found["created"],
            found["picture_name"],
            found["picture"],
            certificates,
            json.loads(found["details"]),
        )

    def rows(
        self,
        words: str = "",
        *,
        model: str | None = None,
        method: str | None = None,
        least_radius: float = 0.0,
        limit: int = 1000,
    ) -> list[Row]:
        """Certificates, the newest first: those whose picture, class or model contains `words`, and so on."""
        pattern = "%" + words.strip().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        query = (
            "SELECT run, place, created, picture_name, document FROM certificates JOIN runs ON runs.id = run "
            "WHERE (picture_name LIKE :p ESCAPE '\\' OR class_name LIKE :p ESCAPE '\\' OR model LIKE :p ESCAPE '\\') "
            "AND (:model IS NULL OR model = :model) AND (:method IS NULL OR method = :method) "
            "AND radius >= :radius ORDER BY created DESC, runs.rowid DESC, place LIMIT :limit"
        )
        values = {"p": pattern, "model": model, "method": method, "radius": least_radius, "limit": limit}
        with self._connection(immediate=False) as db:
            found = db.execute(query, values).fetchall()
        return [Row(r["run"], r["place"], r["created"], r["picture_name"], self._read(r["document"])) for r in found]

    def models(self) -> list[str]:
        """The names of all models that have certificates here."""
        with self._connection(immediate=False) as db:
            return [row[0] for row in db.execute("SELECT DISTINCT model FROM certificates ORDER BY model")]

    def delete(self, runs: Sequence[str]) -> int:
        """Forget runs with all their certificates; returns how many there were."""
        with self._connection() as db:
            return sum(db.execute("DELETE FROM runs WHERE id = ?", (run,)).rowcount for run in runs)

    def _read(self, document: str) -> Certificate:
        try:
            return Certificate.from_json(document)
        except (ValueError, TypeError) as error:
            raise HistoryError(
                f"The history {self.path} holds a certificate of another version of this program ({error}). Move it "
                "away, or name another with SRS_HISTORY."
            ) from error

    @contextmanager
    def _connection(self, immediate: bool = True) -> Iterator[sqlite3.Connection]:
        """A connection for one piece of work; `immediate` writers wait for each other instead of failing."""
        try:
            db = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        except sqlite3.Error as error:
            raise HistoryError(f"The history {self.path} cannot be opened ({error}).") from error
        try:
            db.row_factory = sqlite3.Row
            db.execute("PRAGMA foreign_keys = ON")
            if immediate:
                db.execute("BEGIN IMMEDIATE")
            yield db
            if immediate:
                db.execute("COMMIT")
        except sqlite3.Error as error:
            raise HistoryError(
                f"The history {self.path} cannot be used ({error}). Move it away, or name another with SRS_HISTORY."
            ) from error
        finally:
            db.close()  # an unfinished transaction is undone by this
