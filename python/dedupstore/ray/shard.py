"""The store of one actor."""

from __future__ import annotations

import os
import re
from array import array
from pathlib import Path
from typing import Any

from dedupstore import InvalidArgumentError, Store

_NAME = re.compile(r"shard-\d{3}-of-(\d{3})\.dds")


class Shard:
    """The keys of one shard. Its answers are acknowledgements: whatever it has answered is in the
    log's file, so that killing the process does not undo it."""

    def __init__(self, directory: str, index: int, count: int, options: dict[str, Any]) -> None:
        Path(directory).mkdir(parents=True, exist_ok=True)
        for name in os.listdir(directory):
            found = _NAME.fullmatch(name)
            if found and int(found[1]) != count:
                raise InvalidArgumentError(
                    f"{directory} has stores of {int(found[1])} actors; {count} were requested, and "
                    "a key would be looked for in another store than the one that has it"
                )
        path = Path(directory, f"shard-{index:03}-of-{count:03}.dds")
        self._store = Store(path, **options)

    def seed(self) -> int:
        """Returns the seed of the hash function."""
        return self._store.seed

    def process(self) -> int:
        """Returns the number of the process."""
        return os.getpid()

    def observe(self, fingerprints: bytes) -> bytes:
        """Observes fingerprints; returns 1 per new one and 0 per seen one."""
        answer = self._store.observe_fingerprints(fingerprints)
        self._store.flush()
        return answer

    def contains(self, fingerprints: bytes) -> bytes:
        """Looks fingerprints up."""
        return self._store.contains_fingerprints(fingerprints)

    def claim(self, fingerprints: bytes) -> bytes:
        """Claims fingerprints; returns 1 per new one, and 0 per seen or pending one."""
        numbers = array("Q")
        numbers.frombytes(fingerprints)
        return bytes(self._store.claim_fingerprint(it).is_new for it in numbers)

    def commit(self, fingerprints: bytes) -> int:
        """Records claimed fingerprints. Those that are not claimed any more, because the actor was
        restarted, are recorded too: their work is done."""
        numbers = array("Q")
        numbers.frombytes(fingerprints)
        for it in numbers:
            self._store.claim_fingerprint(it)
        committed = self._store.commit_fingerprints(numbers)
        self._store.flush()
        return committed

    def abort(self, fingerprints: bytes) -> None:
        """Ends claims without recording them."""
        numbers = array("Q")
        numbers.frombytes(fingerprints)
        for it in numbers:
            # After a restart there is no claim to end.
            if self._store.claim_fingerprint(it).is_pending:
                self._store.abort(it)

    def sync(self) -> None:
        """Makes everything durable."""
        self._store.sync()

    def checkpoint(self) -> None:
        """Writes the state as a new image."""
        self._store.checkpoint()

    def inspect(self) -> dict[str, Any]:
        """Returns the report of the store."""
        return self._store.inspect()

    def close(self) -> None:
        """Closes the store."""
        self._store.close()
