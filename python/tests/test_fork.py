"""A forked process must not use a store of its parent."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from dedupstore import Error, ForkedError, ReadOnlyStore, SeenSet, Store

_SECONDS = 20


def exit_code_of_child(work: Callable[[], int]) -> int:
    """Runs a function in a forked process; a child that hangs is ended by a signal."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            signal.alarm(_SECONDS)
            code = work()
        finally:
            sys.stdout.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def test_a_forked_child_raises_and_leaves_the_store_alone(tmp_path: Path) -> None:
    path = tmp_path / "links.dds"
    held = [Store(path, memory="1MiB")]
    held[0].observe("before")

    def child() -> int:
        calls: list[Callable[[], object]] = [
            lambda: held[0].observe("child"),
            lambda: held[0].observe_many(["child"]),
            lambda: held[0].contains("before"),
            lambda: held[0].claim("child"),
            lambda: held[0].sync(),
            lambda: held[0].checkpoint(),
            lambda: held[0].close(),
        ]
        for call in calls:
            try:
                call()
            except ForkedError:
                continue
            return 1
        # The end of the object must neither wait for threads nor release the parent's lock.
        held.clear()
        try:
            Store(path)
        except Error as error:
            return 0 if "in use" in str(error) else 2
        return 3

    assert exit_code_of_child(child) == 0
    assert held[0].observe("after").is_new
    assert held[0].contains("child").is_new
    held[0].close()


def test_a_forked_child_may_read(tmp_path: Path) -> None:
    path = tmp_path / "links.dds"
    with Store(path, memory="1MiB") as store:
        store.observe("a")
        store.sync()
        assert exit_code_of_child(lambda: 0 if "a" in ReadOnlyStore(path) else 1) == 0
    seen = SeenSet(memory="1MiB")
    seen.observe("a")
    assert exit_code_of_child(lambda: 0 if "a" in seen else 1) == 0
