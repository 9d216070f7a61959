"""WARC files: passes on the records of captures whose key is new, as `dedupstore filter --warc` does.

>>> import io
>>> from dedupstore import SeenSet
>>> from dedupstore.warc import filter_records
>>> record = (
...     b"WARC/1.0\\r\\nWARC-Type: response\\r\\nWARC-Target-URI: http://harbour.example/\\r\\n"
...     b"Content-Length: 2\\r\\n\\r\\nhi\\r\\n\\r\\n"
... )
>>> output = io.BytesIO()
>>> filter_records(SeenSet(memory="1MiB"), io.BytesIO(record + record), output)
(2, 1)
>>> output.getvalue() == record
True
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Literal, Protocol, cast

from . import Error, Verdict

__all__ = ["Record", "WarcError", "filter_records", "read_records"]

_LONGEST_HEADER = 1 << 20
_LARGEST_HELD = 1 << 20


class WarcError(Error):
    """The input is not a WARC file, or is cut off."""


class _Seen(Protocol):
    def observe(self, key: bytes) -> Verdict: ...


@dataclass
class Record:
    """A record: its header block and its content, with the line ends after it."""

    header: bytes
    content: bytes

    def field(self, name: str) -> bytes | None:
        """Returns the value of a field, whose name is compared without case."""
        wanted = name.lower().encode()
        for line in self.header.split(b"\n")[1:]:
            found, colon, value = line.partition(b":")
            if colon and found.strip().lower() == wanted:
                return value.strip()
        return None

    @property
    def target(self) -> bytes | None:
        """The address that the record is about."""
        target = self.field("WARC-Target-URI")
        return target[1:-1] if target and target.startswith(b"<") else target

    @property
    def type(self) -> bytes:
        """The type of the record, such as `response`."""
        return self.field("WARC-Type") or b""


def read_records(file: IO[bytes]) -> Iterator[Record]:
    """Yields the records of a WARC file, which may be compressed with gzip."""
    buffered = io.BufferedReader(cast("io.RawIOBase", file))
    file = cast("IO[bytes]", buffered)
    if buffered.peek(2)[:2] == b"\x1f\x8b":
        file = cast("IO[bytes]", gzip.GzipFile(fileobj=buffered))
    while header := _read_header(file):
        stated = Record(header, b"").field("Content-Length")
        if stated is None or not stated.isdigit():
            raise WarcError("a record has no Content-Length")
        content = file.read(int(stated))
        if len(content) != int(stated):
            raise WarcError("a record is cut off")
        yield Record(header, content + b"\r\n\r\n")


def _read_header(file: IO[bytes]) -> bytes:
    lines: list[bytes] = []
    length = 0
    while line := file.readline(_LONGEST_HEADER):
        if not lines and line in (b"\r\n", b"\n"):
            continue
        if not lines and not line.startswith(b"WARC/"):
            raise WarcError(f"expected a record that begins with WARC/; found {line[:40]!r}")
        lines.append(line)
        length += len(line)
        if line in (b"\r\n", b"\n"):
            return b"".join(lines)
        if length >= _LONGEST_HEADER:
            raise WarcError("a header is too long")
    if lines:
        raise WarcError("a header is cut off")
    return b""


def filter_records(
    seen: _Seen,
    source: IO[bytes],
    target: IO[bytes],
    *,
    key: Literal["uri", "digest"] = "uri",
) -> tuple[int, int]:
    """Writes the records of captures whose key is new; returns the number of records and of those
    written. Records of one page that follow each other, such as a request and its response, share a
    verdict; a record without a key is written."""
    about: bytes | None = None
    types: set[bytes] = set()
    verdict: Verdict | None = None
    held: list[Record] = []
    total = written = 0

    def write(records: list[Record]) -> None:
        nonlocal written
        for record in records:
            target.write(record.header)
            target.write(record.content)
        written += len(records)

    for record in read_records(source):
        total += 1
        kind = record.type
        if about is None or record.target != about or kind in types:
            write(held)
            about, types, verdict, held = record.target, set(), None, []
        types.add(kind)
        if verdict is None:
            found = record.target if key == "uri" else record.field("WARC-Payload-Digest")
            if found is None or (key == "digest" and kind == b"request"):
                # The record with the key may follow.
                size = sum(len(it.content) for it in held) + len(record.content)
                if about is not None and size <= _LARGEST_HELD:
                    held.append(record)
                else:
                    write([record])
                continue
            verdict = seen.observe(found)
            if verdict.is_new:
                write(held)
            held = []
        if verdict.is_new:
            write([record])
    write(held)
    return total, written
