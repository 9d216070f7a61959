"""The requests that are claimed and not finished, and the thread that makes their end durable.

The order of writes is what makes a crash harmless:

1. A request is pushed to the journal when its key is claimed.
2. When its callback has ended, all requests that the callback has yielded are pushed; then the
   request is recorded as done.
3. A thread syncs the journal, and only then commits the keys of done requests to the store.

So if the store knows a key, the journal has everything that followed from it. If the process dies
between 2 and 3, the next opening finds the done records and commits their keys.
"""

from __future__ import annotations

import logging
import threading
import time
from array import array
from pathlib import Path
from typing import TYPE_CHECKING

from dedupstore import ClusterStore

from . import journal
from .journal import Journal, Unfinished

if TYPE_CHECKING:
    from .dupefilter import AnyStore

_logger = logging.getLogger(__name__)

# Seconds between renewals of claims on Redis, which last three times as long.
_RENEWAL = 200.0


class InFlight:
    """A request that the scheduler has handed out.

    `claims` is the number of the request in the journal and the fingerprints claimed for it. It is
    finished when no generator of its output is open, and every request and item of the output has
    arrived where it belongs.
    """

    __slots__ = ("claims", "ended", "journaled", "outstanding", "over")

    def __init__(self, claims: tuple[int, ...], journaled: bool) -> None:
        self.claims = claims
        self.journaled = journaled
        self.outstanding = 0
        self.ended = False
        self.over = False


class Frontier:
    """The unfinished requests of a crawl in a job directory."""

    def __init__(self, store: AnyStore, directory: Path, *, interval: float = 1.0) -> None:
        self._store = store
        self._path = directory / "dedupstore.journal"
        self._journal: Journal
        self._next_number = 0
        self._finished = array("Q")
        self._lock = threading.Lock()
        self._interval = interval
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._renewal = time.monotonic() + _RENEWAL

    def recover(self, *, retry_failed: bool = True) -> list[Unfinished]:
        """Reads and compacts the journal; returns the requests to offer again, in the order in
        which they were pushed. Waits for the disk."""
        contents = journal.read(self._path)
        # The store may lack the last of them: it is committed to after the journal.
        if contents.finished:
            verdicts = self._store.contains_fingerprints(array("Q", contents.finished))
            pairs = zip(contents.finished, verdicts, strict=True)
            missing = array("Q", (fingerprint for fingerprint, is_new in pairs if is_new))
            if missing:
                self._store.observe_fingerprints(missing)
            self._store.sync()
        offered = [entry for entry in contents.unfinished if self._claim(entry, retry_failed)]
        if self._path.exists():
            journal.rewrite(self._path, offered)
        self._next_number = max((entry.number for entry in offered), default=-1) + 1
        self._journal = Journal(self._path)
        self._thread = threading.Thread(target=self._run, name="dedupstore-commit", daemon=True)
        self._thread.start()
        return offered

    def _claim(self, entry: Unfinished, retry_failed: bool) -> bool:
        """Claims the keys of a request again; returns whether to offer it."""
        claims = [self._store.claim_fingerprint(it) for it in entry.fingerprints]
        if entry.failures == 0:
            return True
        # The page may have been reached by another request since.
        is_new = not claims or any(claim.is_new for claim in claims)
        if is_new and not retry_failed:
            for claim in claims:
                if claim.is_new:
                    self._store.abort(claim.fingerprint)
        return is_new and retry_failed

    def new_number(self) -> int:
        """Returns the number of a new request."""
        number = self._next_number
        self._next_number += 1
        return number

    def push(self, claims: tuple[int, ...], request: bytes) -> int:
        """Writes a request to the journal; returns where it is."""
        return self._journal.push(claims[0], claims[1:], request)

    def sync_journal(self) -> None:
        """Makes the journal durable. Waits for the disk."""
        self._journal.sync()

    def request(self, offset: int) -> bytes:
        """Reads a request from the journal."""
        return self._journal.request(offset)

    def done(self, flight: InFlight) -> None:
        """Records that a request is finished. Its keys are committed soon."""
        if flight.over or self._stop.is_set():
            return
        flight.over = True
        if flight.journaled:
            self._journal.done(flight.claims[0])
        with self._lock:
            self._finished.extend(flight.claims[1:])

    def failed(self, flight: InFlight) -> None:
        """Records that a request has failed: its keys can be claimed again."""
        if flight.over or self._stop.is_set():
            return
        flight.over = True
        if flight.journaled:
            self._journal.failed(flight.claims[0])
        for fingerprint in flight.claims[1:]:
            self._store.abort(fingerprint)

    def commit(self) -> None:
        """Syncs the journal, then commits the keys of finished requests. Waits for the disk."""
        with self._lock:
            finished, self._finished = self._finished, array("Q")
        if finished:
            self._journal.sync()
            self._store.commit_fingerprints(finished)

    def _renew(self) -> None:
        """Keeps the claims of requests that wait: on Redis they end by themselves."""
        if isinstance(self._store, ClusterStore) and time.monotonic() >= self._renewal:
            self._store.renew_claims()
            self._renewal = time.monotonic() + _RENEWAL

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            try:
                self.commit()
                self._renew()
            except BaseException as error:
                # Nothing more is committed; what is in the journal is committed by the next run.
                self._failure = error
                _logger.exception("cannot commit; the crawl goes on, and the next run will commit")
                return

    def close(self) -> None:
        """Ends the thread and commits the rest. Waits for the disk."""
        self._stop.set()
        if self._thread:
            self._thread.join()
        try:
            if self._failure is None:
                self.commit()
                self._journal.sync()
        finally:
            self._journal.close()
