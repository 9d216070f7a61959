"""A seen-set that is divided among actors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from dedupstore import KeyHasher, Verdict

from .shard import Shard

_VERDICTS = (Verdict.SEEN, Verdict.NEW)


class SeenSetActors:
    """A seen-set of `count` actors, each with a store below `path` on its node.

    Keys go to actors by their fingerprints, as in a `SharedStore` with as many shards, and get the
    same verdicts. `memory` is that of all stores together. An actor that dies is restarted by Ray
    on the same node and recovers its store: nothing that was acknowledged is lost. The call during
    which it died raises an exception of Ray. What it had recorded is then Seen, so a caller that must
    not lose a key claims it and commits it after its work.
    """

    def __init__(
        self,
        count: int,
        path: str | os.PathLike[str],
        *,
        memory: int = 64 << 20,
        filter: str | None = None,
        seed: int | None = None,
        sync: float | str | None = None,
        nodes: Sequence[str] | None = None,
        name: str | None = None,
    ) -> None:
        options: dict[str, Any] = {"memory": memory // count, "filter": filter, "sync": sync}
        nodes = nodes or _nodes()
        actor = ray.remote(Shard)

        def start(index: int, seed: int | None) -> Any:
            placed = actor.options(
                max_restarts=-1,
                # A call that is tried again would answer Seen for what its first try has recorded.
                max_task_retries=0,
                num_cpus=0.1,
                name=f"{name}-{index}" if name else None,
                get_if_exists=name is not None,
                # Its store is there and nowhere else.
                scheduling_strategy=NodeAffinitySchedulingStrategy(
                    nodes[index % len(nodes)], soft=False
                ),
            )
            return placed.remote(os.fspath(path), index, count, {**options, "seed": seed})

        first = start(0, seed)
        # If the first store exists or chooses a seed, the others have the same.
        self._hasher = KeyHasher(ray.get(first.seed.remote()))
        self._shards = [first, *(start(index, self.seed) for index in range(1, count))]
        ray.get([shard.seed.remote() for shard in self._shards])

    @property
    def seed(self) -> int:
        """The seed of the hash function."""
        return self._hasher.seed

    @property
    def shards(self) -> list[Any]:
        """The handles of the actors."""
        return list(self._shards)

    def observe_many(self, keys: Iterable[bytes | str]) -> list[Verdict]:
        """Observes keys; returns their verdicts."""
        return self._verdicts("observe", keys)

    def contains_many(self, keys: Iterable[bytes | str]) -> list[Verdict]:
        """Looks keys up. Records nothing."""
        return self._verdicts("contains", keys)

    def claim_many(self, keys: Iterable[bytes | str]) -> list[bool]:
        """Claims keys to work on; returns whether each is new and yours. What was not committed
        when an actor dies can be claimed again."""
        return [bool(it) for it in self._answers("claim", keys)]

    def commit_many(self, keys: Iterable[bytes | str]) -> None:
        """Records keys whose work is done."""
        self._call("commit", self._hasher.split(keys, len(self._shards))[0])

    def abort_many(self, keys: Iterable[bytes | str]) -> None:
        """Ends claims without recording their keys, which can then be claimed again."""
        self._call("abort", self._hasher.split(keys, len(self._shards))[0])

    def sync(self) -> None:
        """Makes everything durable, against a power cut too."""
        ray.get([shard.sync.remote() for shard in self._shards])

    def checkpoint(self) -> None:
        """Writes the state of every store as a new image."""
        ray.get([shard.checkpoint.remote() for shard in self._shards])

    def inspect(self) -> list[dict[str, Any]]:
        """Returns the report of every store."""
        return list(ray.get([shard.inspect.remote() for shard in self._shards]))

    def close(self) -> None:
        """Closes the stores and ends the actors."""
        ray.get([shard.close.remote() for shard in self._shards])
        for shard in self._shards:
            ray.kill(shard)

    def _verdicts(self, method: str, keys: Iterable[bytes | str]) -> list[Verdict]:
        return [_VERDICTS[it] for it in self._answers(method, keys)]

    def _answers(self, method: str, keys: Iterable[bytes | str]) -> bytes:
        parts, owners = self._hasher.split(keys, len(self._shards))
        return KeyHasher.join(owners, self._call(method, parts))

    def _call(self, method: str, parts: list[bytes]) -> list[Any]:
        """Calls the actors that have keys, all at once."""
        shards = zip(self._shards, parts, strict=True)
        asked = [getattr(shard, method).remote(part) if part else None for shard, part in shards]
        answers = iter(ray.get([it for it in asked if it is not None]))
        return [next(answers) if it is not None else b"" for it in asked]


def _nodes() -> list[str]:
    alive = [node["NodeID"] for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    return sorted(alive)
