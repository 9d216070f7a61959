"""A batch job: deduplicate a corpus against history."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import IO, cast

import ray

from dedupstore import ReadOnlyStore

_BATCH = 10_000


@lru_cache(maxsize=2)
def _history(path: str) -> ReadOnlyStore:
    """Loads a store once per worker process."""
    return ReadOnlyStore(path)


def _open(path: str, mode: str, *, like: str | None = None) -> IO[bytes]:
    """Opens a file that is compressed if its name says so, or another name."""
    if (like or path).endswith(".gz"):
        return cast("IO[bytes]", gzip.open(path, mode))
    return cast("IO[bytes]", open(path, mode))


def _batches(lines: IO[bytes]) -> Iterator[list[bytes]]:
    while batch := list(islice(lines, _BATCH)):
        yield batch


def _new_lines_of_file(source: str, target: str, store: str) -> tuple[int, int]:
    history = _history(store)
    total = new = 0
    unfinished = target + ".part"
    with _open(source, "rb") as lines, _open(unfinished, "wb", like=target) as output:
        for batch in _batches(lines):
            verdicts = history.contains_many([line.rstrip(b"\r\n") for line in batch])
            kept = [line for line, it in zip(batch, verdicts, strict=True) if it.is_new]
            output.writelines(kept)
            total, new = total + len(batch), new + len(kept)
    os.replace(unfinished, target)
    return total, new


def new_lines(
    sources: Sequence[str | os.PathLike[str]],
    directory: str | os.PathLike[str],
    store: str | os.PathLike[str],
) -> tuple[int, int]:
    """Writes the lines of each file that a store does not contain to a file of the same name in a
    directory; returns the number of lines and of new ones. Records nothing, so it can be repeated.

    Each task reads one file, in batches, so the corpus may be larger than memory. A worker loads the
    store once. A file that is complete has its final name.
    """
    Path(directory).mkdir(parents=True, exist_ok=True)
    task = ray.remote(_new_lines_of_file)
    results = ray.get(
        [
            task.remote(
                os.fspath(source), os.fspath(Path(directory, Path(source).name)), os.fspath(store)
            )
            for source in sources
        ]
    )
    return sum(total for total, _ in results), sum(new for _, new in results)
