"""An append-only file of requests that are not finished yet.

A record is a length, a checksum, and a body: its kind, the number of a request, and for a push the
fingerprints that are claimed for the request, and the request itself. The last push of a number
counts. Reading stops at the first record that is not intact, so what is read is always a prefix of
what was written.

Only one thread appends. Another one may sync at the same time.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"DDSJRNL1"
_HEAD = struct.Struct("<II")
_BODY = struct.Struct("<cQB")
_FINGERPRINT = struct.Struct("<Q")
_PUSH, _DONE, _FAILED = b"P", b"D", b"F"
# Most records are shorter, and need one read.
_FIRST_READ = 2048
# A longer record is damage: nothing that large is written.
_LONGEST_BODY = 1 << 30
_CHUNK = 1 << 20
# macOS has no fdatasync.
_sync = getattr(os, "fdatasync", os.fsync)


@dataclass(slots=True)
class Unfinished:
    """A request without the record that it is done."""

    number: int
    offset: int
    fingerprints: tuple[int, ...]
    failures: int = 0


@dataclass(slots=True)
class Contents:
    """What a journal holds."""

    unfinished: list[Unfinished]
    # The fingerprints of requests that are done. The store may lack the last of them.
    finished: list[int]


class Journal:
    """A journal that is open for appending."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._end = os.fstat(self._file).st_size
        if self._end == 0:
            self._write(_MAGIC)

    def push(self, number: int, fingerprints: tuple[int, ...], request: bytes) -> int:
        """Writes a request; returns where it is."""
        offset = self._end
        packed = struct.pack(f"<{len(fingerprints)}Q", *fingerprints)
        self._append(_BODY.pack(_PUSH, number, len(fingerprints)) + packed + request)
        return offset

    def done(self, number: int) -> None:
        """Records that a request is finished."""
        self._append(_BODY.pack(_DONE, number, 0))

    def failed(self, number: int) -> None:
        """Records that a request has failed, so that the next run tries it again."""
        self._append(_BODY.pack(_FAILED, number, 0))

    def request(self, offset: int) -> bytes:
        """Reads a request that was written at an offset."""
        head = os.pread(self._file, _FIRST_READ, offset)
        length, checksum = _HEAD.unpack_from(head)
        body = head[_HEAD.size : _HEAD.size + length]
        while len(body) < length:
            more = os.pread(self._file, length - len(body), offset + _HEAD.size + len(body))
            if not more:
                break
            body += more
        if len(body) != length or zlib.crc32(body) != checksum:
            raise OSError(f"{self.path} is corrupt at byte {offset}")
        return body[_BODY.size + _FINGERPRINT.size * body[_BODY.size - 1] :]

    def sync(self) -> None:
        """Makes everything durable that was written before the call."""
        _sync(self._file)

    def close(self) -> None:
        """Closes the file. Syncs nothing."""
        os.close(self._file)

    def _append(self, body: bytes) -> None:
        self._write(_HEAD.pack(len(body), zlib.crc32(body)) + body)

    def _write(self, record: bytes) -> None:
        written = os.pwrite(self._file, record, self._end)
        if written != len(record):
            # What follows would be behind a torn record, and never be read.
            os.ftruncate(self._file, self._end)
            raise OSError(f"cannot write to {self.path}: the disk is full")
        self._end += written


def read(path: Path) -> Contents:
    """Reads a journal. There is none before the first run."""
    unfinished: dict[int, Unfinished] = {}
    finished: list[int] = []
    for offset, body in _records(path):
        kind, number, count = _BODY.unpack_from(body)
        known = unfinished.get(number)
        if kind == _PUSH:
            fingerprints = struct.unpack_from(f"<{count}Q", body, _BODY.size)
            failures = known.failures if known else 0
            unfinished[number] = Unfinished(number, offset, fingerprints, failures)
        elif kind == _DONE and known:
            finished.extend(known.fingerprints)
            del unfinished[number]
        elif kind == _FAILED and known:
            known.failures += 1
    return Contents(list(unfinished.values()), finished)


def rewrite(path: Path, unfinished: list[Unfinished]) -> None:
    """Replaces a journal by one with only these requests, and sets their offsets. They keep their
    numbers, which they carry themselves. The old journal is complete until the new one is
    durable."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    journal = Journal(new)
    old = Journal(path)
    try:
        for entry in unfinished:
            request = old.request(entry.offset)
            entry.offset = journal.push(entry.number, entry.fingerprints, request)
            for _ in range(entry.failures):
                journal.failed(entry.number)
        journal.sync()
    finally:
        journal.close()
        old.close()
    new.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _records(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the intact records from the start, each with its offset."""
    if not path.exists():
        return
    with path.open("rb", buffering=_CHUNK) as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return
        offset = len(_MAGIC)
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            length, checksum = _HEAD.unpack(head)
            if not _BODY.size <= length <= _LONGEST_BODY:
                return
            body = file.read(length)
            if len(body) != length or zlib.crc32(body) != checksum:
                return
            yield offset, body
            offset += _HEAD.size + length
