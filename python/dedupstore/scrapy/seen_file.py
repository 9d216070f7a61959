"""Reads the file in which Scrapy's own duplicate filter records requests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

_BATCH = 10_000


def read_fingerprints(path: Path) -> Iterator[list[bytes]]:
    """Yields the fingerprints of a file `requests.seen` in batches: in the binary form of Scrapy
    2.19, or as lines of hexadecimal digits, as before. A torn end is ignored."""
    if not path.exists():
        return
    data = path.read_bytes()
    # In the binary form, the high byte of a length comes first. No fingerprint has 256 bytes.
    found = _binary(data) if data[:1] == b"\0" else _lines(data)
    while part := list(islice(found, _BATCH)):
        yield part


def _binary(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + 2 <= len(data):
        end = at + 2 + int.from_bytes(data[at : at + 2], "big")
        if end > len(data):
            return
        yield data[at + 2 : end]
        at = end


def _lines(data: bytes) -> Iterator[bytes]:
    for line in data.split():
        try:
            yield bytes.fromhex(line.decode("ascii"))
        except ValueError:
            continue
