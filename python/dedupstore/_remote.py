"""A store on a server of `dedupstore serve`."""

from __future__ import annotations

import json
import os
import struct
import sys
import threading
import time
from array import array
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from ._address import Address
from ._connection import Connection, Reply, numbers
from ._engine import KeyHasher, Verdict
from ._errors import ClosedError, InvalidArgumentError, ServerError

if TYPE_CHECKING:
    from ssl import SSLContext

    from typing_extensions import Buffer

    from ._engine import Key

# With 16 bytes each, no more than a server's limit for one argument.
_MOST_KEYS = 4096
_KEY = struct.Struct("<QIHH")
_CHECKPOINT_POLL = 0.01


class RemoteClaim:
    """The answer to `RemoteStore.claim`. If `is_new`, the key is yours to work on; hand the claim to
    `commit` when the work is done, or to `abort` if it has failed."""

    __slots__ = ("_ticket", "fingerprint")

    def __init__(self, fingerprint: int, ticket: int) -> None:
        self.fingerprint = fingerprint
        self._ticket = ticket

    @property
    def state(self) -> Literal["new", "seen", "pending"]:
        """`"new"`, `"seen"` (recorded) or `"pending"` (claimed, and neither committed nor
        aborted)."""
        return "new" if self._ticket > 0 else "pending" if self._ticket < 0 else "seen"

    @property
    def is_new(self) -> bool:
        """Whether the key is new and yours to work on."""
        return self._ticket > 0

    @property
    def is_seen(self) -> bool:
        """Whether the key is recorded."""
        return self._ticket == 0

    @property
    def is_pending(self) -> bool:
        """Whether the key is claimed, and neither committed nor aborted."""
        return self._ticket < 0

    def __repr__(self) -> str:
        return f"<RemoteClaim {self.state} of {self.fingerprint:#018x}>"


class RemoteStore:
    """A store on a server, with the methods of `Store`; made by `Store.connect`.

    An answer means that the server has the keys in its log. Threads can share it. A forked process
    gets a connection of its own. If the connection breaks, the call raises `ConnectionFailedError`,
    and the next one connects again. Claims end with the connection.
    """

    def __init__(
        self,
        url: str,
        *,
        create: bool = True,
        timeout: float | None = 60.0,
        tls: SSLContext | None = None,
    ) -> None:
        self._address = Address.parse(url)
        self._timeout = timeout
        self._tls = tls
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._process = os.getpid()
        self._closed = False
        # The tickets of claimed keys, by their fingerprint.
        self._tickets: dict[int, int] = {}
        options = () if create else (b"NOCREATE",)
        description = self._described(*options)
        self._filter = str(description["filter"])
        self._hasher = KeyHasher(int(description["seed"]), rule=str(description["key"]))

    # Observations.

    def observe(self, key: Key, *, at: int | None = None, importance: int = 0) -> Verdict:
        """Reports whether a key is new, and records it. A key is bytes, or str as UTF-8. `at`, in
        seconds since 1970, is for filters with a window; without it, the time is that of the
        server."""
        if not 0 <= importance < 1 << 16:
            raise InvalidArgumentError(f"expected an importance below 65536; found {importance}")
        tick = min(at or 0, (1 << 32) - 1)
        hashed = _KEY.pack(self._hasher.fingerprint(key), tick, importance, 0)
        [verdict] = numbers(self._call(b"DEDUP.HADD", hashed), 1)
        return Verdict.NEW if verdict else Verdict.SEEN

    def observe_many(self, keys: Iterable[Key]) -> list[Verdict]:
        """Observes many keys in order; returns their verdicts. Much faster than one by one."""
        answers = self._many(b"DEDUP.HADD", self._hasher.fingerprints(keys))
        return [Verdict.NEW if is_new else Verdict.SEEN for is_new in answers]

    def observe_fingerprints(self, fingerprints: Buffer) -> bytes:
        """Observes many fingerprints of this store's hasher, from a buffer of unsigned 64-bit
        numbers. Returns one byte per fingerprint: 1 for new, 0 for seen."""
        return bytes(self._many(b"DEDUP.HADD", fingerprints))

    def contains(self, key: Key) -> Verdict:
        """Reports whether a key was observed before. Records nothing."""
        return Verdict.SEEN if key in self else Verdict.NEW

    def contains_many(self, keys: Iterable[Key]) -> list[Verdict]:
        """Looks many keys up. Records nothing."""
        answers = self._many(b"DEDUP.HEXISTS", self._hasher.fingerprints(keys))
        return [Verdict.SEEN if is_seen else Verdict.NEW for is_seen in answers]

    def contains_fingerprints(self, fingerprints: Buffer) -> bytes:
        """Looks many fingerprints up; see `observe_fingerprints`. Records nothing."""
        return bytes(1 - is_seen for is_seen in self._many(b"DEDUP.HEXISTS", fingerprints))

    def __contains__(self, key: Key) -> bool:
        hashed = _KEY.pack(self._hasher.fingerprint(key), 0, 0, 0)
        [is_seen] = numbers(self._call(b"DEDUP.HEXISTS", hashed), 1)
        return is_seen == 1

    def fingerprint(self, key: Key) -> int:
        """Returns the fingerprint of a key."""
        return self._hasher.fingerprint(key)

    def forget(self, key: Key) -> bool:
        """Removes a key that was new, if the filter can. Returns whether the key was there."""
        text = key.encode() if isinstance(key, str) else key
        [was_there] = numbers(self._call(b"DEDUP.FORGET", text), 1)
        return was_there == 1

    # Claims.

    def claim(self, key: Key) -> RemoteClaim:
        """Claims a key to work on. Nothing is recorded before `commit`. If this process or its
        connection ends before, the key can be claimed again."""
        return self.claim_fingerprint(self._hasher.fingerprint(key))

    def claim_fingerprint(self, fingerprint: int) -> RemoteClaim:
        """Claims a key by its fingerprint."""
        with self._lock:
            answer = self._call(b"DEDUP.HCLAIM", _KEY.pack(fingerprint, 0, 0, 0))
            if not isinstance(answer, bytes) or len(answer) != 8:
                raise ServerError("the server sent no ticket; is it `dedupstore serve`?")
            claim = RemoteClaim(fingerprint, int.from_bytes(answer, "little", signed=True))
            if claim.is_new:
                self._tickets[fingerprint] = claim._ticket
            return claim

    def commit(self, claim: RemoteClaim | int) -> None:
        """Records a claimed key: the work on it is done. Takes the claim, or the fingerprint of a
        claimed key."""
        ticket = self._take_ticket(claim)
        [was_claimed] = numbers(self._call(b"DEDUP.COMMIT", b"%d" % ticket), 1)
        if not was_claimed:
            raise _ended()

    def commit_fingerprints(self, fingerprints: Buffer) -> int:
        """Records many claimed keys, from a buffer of fingerprints; returns their number. Those that
        are not claimed are left out."""
        with self._lock:
            taken = (self._tickets.pop(it, 0) for it in _fingerprints(fingerprints))
            tickets = array("Q", (ticket for ticket in taken if ticket))
            if sys.byteorder == "big":
                tickets.byteswap()
            return sum(self._parts(b"DEDUP.HCOMMIT", tickets, _MOST_KEYS))

    def abort(self, claim: RemoteClaim | int) -> None:
        """Ends a claim without recording the key, which can then be claimed again. Takes the claim,
        or the fingerprint of a claimed key."""
        self._call(b"DEDUP.ABORT", b"%d" % self._take_ticket(claim))

    def _take_ticket(self, claim: RemoteClaim | int) -> int:
        fingerprint = claim if isinstance(claim, int) else claim.fingerprint
        with self._lock:
            self._connected()
            ticket = self._tickets.get(fingerprint)
            if ticket is None or (not isinstance(claim, int) and claim._ticket != ticket):
                raise _ended()
            return self._tickets.pop(fingerprint)

    # Durability.

    def flush(self) -> None:
        """Does nothing: what the server has answered is in its log."""

    def sync(self) -> None:
        """Makes everything observed so far durable."""
        self._request(b"WAITAOF", b"1", b"0", b"0")

    @property
    def sequence(self) -> int:
        """The sequence number: how many observations the store has recorded."""
        return int(self._described(b"NOCREATE")["sequence"])

    @property
    def durable_sequence(self) -> int:
        """The sequence number up to which everything is durable."""
        return int(self._described(b"NOCREATE")["durable_sequence"])

    def wait_durable(self, sequence: int | None = None) -> None:
        """Returns when everything up to a sequence number is durable; without one, everything
        observed so far."""
        if sequence is None or self.durable_sequence < sequence:
            self.sync()

    def checkpoint(self) -> None:
        """Lets the server write the state as a new image, and returns when it is durable."""
        before = self._described(b"NOCREATE")["generation"]
        self._call(b"DEDUP.CHECKPOINT")
        while self._described(b"NOCREATE")["generation"] == before:
            time.sleep(_CHECKPOINT_POLL)

    # About the store.

    def inspect(self) -> dict[str, Any]:
        """Returns what `dedupstore inspect --json` prints; see `dedupstore.inspect`."""
        return _object(self._call(b"DEDUP.INSPECT", b"JSON"))

    @property
    def url(self) -> str:
        """The address, without its password."""
        return str(self._address)

    @property
    def filter(self) -> str:
        """The filter and its parameters."""
        return self._filter

    @property
    def seed(self) -> int:
        """The seed of the hash function."""
        return self._hasher.seed

    def __repr__(self) -> str:
        return f"<RemoteStore {self._address} {self._filter}>"

    # The connection.

    def close(self) -> None:
        """Closes the connection, which ends its claims. Every later call fails, except for this
        one."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _class: type[BaseException] | None,
        _exception: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _disconnect(self) -> None:
        self._tickets.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> Connection:
        """Returns the connection, and makes it if there is none."""
        if self._closed:
            raise ClosedError("the store is closed; connect again")
        if self._process != os.getpid():
            # Closing the copy of a socket does not close the parent's.
            self._disconnect()
            self._process = os.getpid()
        if self._connection is not None and self._connection.is_closed:
            self._disconnect()
        if self._connection is None:
            self._connection = Connection(self._address, timeout=self._timeout, tls=self._tls)
        return self._connection

    def _request(self, *arguments: bytes) -> Reply:
        with self._lock:
            return self._connected().call(*arguments)

    def _call(self, command: bytes, *arguments: bytes) -> Reply:
        return self._request(command, self._address.store, *arguments)

    def _described(self, *options: bytes) -> dict[str, Any]:
        return _object(self._call(b"DEDUP.OPEN", *options))

    def _many(self, command: bytes, fingerprints: Buffer) -> list[int]:
        """Sends fingerprints, 16 bytes each; returns the answers."""
        given = _fingerprints(fingerprints)
        hashed = array("Q", bytes(16 * len(given)))
        hashed[0::2] = given
        if sys.byteorder == "big":
            hashed.byteswap()
        return self._parts(command, hashed, 2 * _MOST_KEYS)

    def _parts(self, command: bytes, words: array[int], most: int) -> list[int]:
        """Sends words in parts; returns the answers, one per key or ticket."""
        per_key = most // _MOST_KEYS
        starts = range(0, len(words), most)
        parts = [words[start : start + most].tobytes() for start in starts]
        with self._lock:
            requests = ((command, self._address.store, part) for part in parts)
            replies = self._connected().call_all(requests)
        answers: list[int] = []
        for part, reply in zip(parts, replies, strict=True):
            answers.extend(numbers(reply, len(part) // (8 * per_key)))
        return answers


def _fingerprints(buffer: Buffer) -> array[int]:
    """Returns the fingerprints in a buffer: unsigned 64-bit numbers, or bytes that are such
    numbers in the order of the machine."""
    data = memoryview(buffer)
    if data.nbytes % 8:
        raise InvalidArgumentError(
            f"fingerprints have 8 bytes each; the buffer has {data.nbytes} bytes"
        )
    fingerprints = array("Q")
    fingerprints.frombytes(data.tobytes())
    return fingerprints


def _object(reply: Reply) -> dict[str, Any]:
    """Parses a JSON object."""
    try:
        found = json.loads(reply) if isinstance(reply, bytes) else None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ServerError("the server sent no description; is it `dedupstore serve`?")
    return found


def _ended() -> InvalidArgumentError:
    return InvalidArgumentError(
        "the key is not claimed: it was committed or aborted, or the claim has ended with its "
        "connection or by its time limit"
    )
