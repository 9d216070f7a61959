"""Seen-sets on Ray: one small cluster for all tests."""

from __future__ import annotations

import gzip
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
import ray
from test_documents import examples

from dedupstore import InvalidArgumentError, SharedStore, Store, Verdict
from dedupstore._engine import RowPartitions
from dedupstore.ray import MapReduceFilter, SeenSetActors, new_lines

T = TypeVar("T")

KEYS = [f"https://harbour.example/{number}" for number in range(20_000)]


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        object_store_memory=100 << 20,
        _system_config={"metrics_report_interval_ms": 0},
    )
    yield
    ray.shutdown()


def until_it_answers(call: Callable[[], T]) -> T:
    """Waits for an actor that is being restarted."""
    until = time.monotonic() + 60
    while True:
        try:
            return call()
        except ray.exceptions.RayError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def test_two_shards_give_the_verdicts_of_a_shared_store(tmp_path: Path) -> None:
    # So little memory that there are false positives, which must be the same.
    actors = SeenSetActors(2, tmp_path / "actors", memory=16 << 10, seed=7)
    stream = KEYS + KEYS[::2]
    with SharedStore(tmp_path / "shared.dds", memory=16 << 10, seed=7, shards=2) as shared:
        for start in range(0, len(stream), 5000):
            part = stream[start : start + 5000]
            expected = shared.observe_many(part)
            assert actors.observe_many(part) == expected
        assert Verdict.SEEN in expected and Verdict.NEW in actors.observe_many(["another key"])
    actors.close()
    with pytest.raises(ray.exceptions.RayError, match="2 actors; 3 were requested"):
        SeenSetActors(3, tmp_path / "actors", memory=24 << 10)


def test_what_was_acknowledged_survives_an_actor_that_is_killed(tmp_path: Path) -> None:
    actors = SeenSetActors(2, tmp_path, memory=4 << 20)
    acknowledged: list[str] = []
    for number, start in enumerate(range(0, len(KEYS), 2000)):
        part = KEYS[start : start + 2000]
        if number % 4 == 2:
            victim = ray.get(actors.shards[number % 2].process.remote())
            # In the middle of a call.
            pending = [shard.observe.remote(bytes(80_000)) for shard in actors.shards]
            os.kill(victim, signal.SIGKILL)
            del pending
        until_it_answers(lambda part=part: actors.observe_many(part))  # type: ignore[misc]
        acknowledged += part
        verdicts = until_it_answers(lambda: actors.contains_many(acknowledged))
        assert verdicts == [Verdict.SEEN] * len(acknowledged)
    actors.close()


def test_claims_are_offered_again_after_an_actor_was_killed(tmp_path: Path) -> None:
    actors = SeenSetActors(1, tmp_path, memory=1 << 20)
    keys = KEYS[:100]
    assert all(actors.claim_many(keys))
    assert not any(actors.claim_many(keys))
    actors.commit_many(keys[:40])
    actors.abort_many(keys[40:50])
    os.kill(ray.get(actors.shards[0].process.remote()), signal.SIGKILL)
    offered = until_it_answers(lambda: actors.claim_many(keys))
    assert offered == [False] * 40 + [True] * 60
    actors.close()


@pytest.mark.parametrize(("mappers", "reducers"), [(1, 1), (3, 2)])
def test_map_reduce_gives_the_verdicts_of_the_engine(mappers: int, reducers: int) -> None:
    options = {"memory": 7000, "filter": "sqf:r=4,rr=2,k=4", "seed": 1}
    filter = MapReduceFilter(mappers=mappers, reducers=reducers, **options)  # type: ignore[arg-type]
    # The pure plan: one worker, no cluster.
    plan = RowPartitions(workers=1, **options)  # type: ignore[arg-type]
    rows = plan.empty(0)
    for block in (KEYS[:3000], KEYS[1000:5000] + KEYS[:500], [], KEYS[::7]):
        new = set(plan.reduce(rows, plan.map(block, 0), len(block)))
        expected = [Verdict.NEW if at in new else Verdict.SEEN for at in range(len(block))]
        assert filter.observe_block(block) == expected
    assert b"".join(state for state, _ in filter.state()) == rows.state()[0]


def test_a_corpus_is_deduplicated_against_history(tmp_path: Path) -> None:
    with Store(tmp_path / "history.dds", memory="1MiB") as store:
        store.observe_many(KEYS[:10_000])
    sources = [tmp_path / "a.txt", tmp_path / "b.txt.gz"]
    sources[0].write_text("".join(f"{key}\n" for key in KEYS[5000:12_000]))
    with gzip.open(sources[1], "wt") as file:
        file.write("\n".join(KEYS[9000:20_000]))
    counts = new_lines(sources, tmp_path / "new", tmp_path / "history.dds")
    assert counts == (18_000, 12_000)
    assert (tmp_path / "new" / "a.txt").read_text().split() == KEYS[10_000:12_000]
    with gzip.open(tmp_path / "new" / "b.txt.gz", "rt") as file:
        assert file.read().split() == KEYS[10_000:]
    with pytest.raises(InvalidArgumentError):
        RowPartitions("bloom", memory="1MiB", workers=1)


def test_the_example_of_the_document_runs(tmp_path: Path) -> None:
    [example] = [it for it in examples() if "dedupstore.ray" in it]
    exec(example.replace("/tmp/dedupstore-example", str(tmp_path)), {})
