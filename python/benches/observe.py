"""Compares dedupstore with `set` and rbloom: 2 million URLs of 72 bytes, 256 MiB, interleaved.

Prints nanoseconds per key, the best of the rounds, and ratios; then memory at 3 million keys. The
others only add, which does not tell whether a key is new; dedupstore does. Creating the contenders
and cutting the keys into batches is not timed.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from rbloom import Bloom

from dedupstore import SeenSet, Store

COUNT = 2_000_000
BATCH = 10_000
MEMORY = 256 << 20
ROUNDS = 3

Work = Callable[[], None]


def urls(count: int, salt: int) -> list[str]:
    """Returns URLs of 72 characters."""
    head = f"https://harbour.example/{salt:03}/articles/"
    tail = "/comments/page.html?view=all"
    return [f"{head}{number:0{72 - len(head) - len(tail)}}{tail}" for number in range(count)]


def persistable(key: str) -> int:
    """The hash that the documentation of rbloom gives for filters that are saved."""
    digest = sha256(key.encode()).digest()
    return int.from_bytes(digest[:16], "big", signed=True)


def each(call: Callable[[str], object], keys: list[str]) -> Work:
    """Calls a function for every key."""

    def work() -> None:
        for key in keys:
            call(key)

    return work


def batched(call: Callable[[list[str]], object], keys: list[str]) -> Work:
    """Calls a function for every batch."""
    batches = [keys[start : start + BATCH] for start in range(0, len(keys), BATCH)]

    def work() -> None:
        for batch in batches:
            call(batch)

    return work


def contenders(directory: Path, keys: list[str]) -> dict[str, Callable[[], Work]]:
    """Returns what makes each contender, empty."""

    def rbloom(hash_func: Callable[[str], int] | None = None) -> Bloom:
        return Bloom(MEMORY * 8 // 20, 0.0001, hash_func=hash_func)

    def store() -> Store:
        return Store(Path(tempfile.mkdtemp(dir=directory), "a.dds"), memory=MEMORY)

    return {
        "set.add": lambda: each(set().add, keys),
        "rbloom, persistable hash": lambda: each(rbloom(persistable).add, keys),
        "rbloom, hash of the process": lambda: each(rbloom().add, keys),
        "SeenSet.observe_many": lambda: batched(SeenSet(memory=MEMORY).observe_many, keys),
        "Store.observe_many": lambda: batched(store().observe_many, keys),
        "Store.observe": lambda: each(store().observe, keys),
    }


def time_per_key(work: Work) -> float:
    """Returns nanoseconds per key."""
    gc.collect()
    gc.disable()
    start = time.perf_counter_ns()
    work()
    elapsed = time.perf_counter_ns() - start
    gc.enable()
    return elapsed / COUNT


_MEASURE = """
import resource
from dedupstore import SeenSet

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

seen = set()
filter = SeenSet(memory="16MiB")
before = resident()
# Keys come from the network one by one, so whoever keeps them keeps the memory.
for number in range(3_000_000):
    key = f"https://harbour.example/000/articles/{{number:012}}/comments/page.html?vie"
    {program}
print(resident() - before)
"""


def resident_bytes(program: str) -> int:
    """Returns by how much a process grows, in a process of its own."""
    command = [sys.executable, "-c", _MEASURE.format(program=program)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    best: dict[str, float] = {}
    for number in range(ROUNDS):
        keys = urls(COUNT, number)
        with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as directory:
            for name, make in contenders(Path(directory), keys).items():
                taken = time_per_key(make())
                best[name] = min(best.get(name, taken), taken)
    print(f"{COUNT:,} keys of 72 bytes, {MEMORY >> 20} MiB, best of {ROUNDS} interleaved rounds")
    for name, nanoseconds in best.items():
        print(f"{name:30} {nanoseconds:7.0f} ns per key")
    many = best["Store.observe_many"]
    print(f"Store.observe_many is {best['set.add'] / many:.1f} × faster than set.add")
    print(f"… and {best['rbloom, persistable hash'] / many:.1f} × faster than rbloom (persistable)")
    single = best["Store.observe"] / best["rbloom, persistable hash"]
    print(f"Store.observe takes {single:.2f} × the time of rbloom (persistable)")
    of_set = resident_bytes("seen.add(key)")
    ours = resident_bytes("filter.observe(key)")
    print(f"3,000,000 keys: set {of_set / 1e6:.0f} MB, SeenSet {ours / 1e6:.1f} MB", end=", ")
    print(f"{of_set / max(ours, 1):.0f} × less")


if __name__ == "__main__":
    main()
