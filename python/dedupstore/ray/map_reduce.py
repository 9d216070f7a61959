"""The streaming quotient filter by Map-Reduce (Dutta et al., 2013, §5.3).

A stream is processed in blocks. Map tasks turn the keys of a part of a block into entries (row,
signature, position) and keep the first of equal ones; reduce actors have the rows of a range, and
decide. Verdicts do not depend on the number of workers; `engine/src/sites/map_reduce.rs` says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ray

from dedupstore import Verdict
from dedupstore._engine import RowPartitions


class _Reducer:
    """The rows of one range."""

    def __init__(self, plan: dict[str, Any], index: int) -> None:
        self._plan = RowPartitions(**plan)
        self._rows = self._plan.empty(index)

    def reduce(self, block_length: int, *entries: bytes) -> list[int]:
        return self._plan.reduce(self._rows, list(entries), block_length)

    def state(self) -> tuple[bytes, bytes]:
        return self._rows.state()


def _map(
    plan: dict[str, Any], keys: list[bytes | str], position: int
) -> list[bytes] | bytes:
    """Returns the entries for each reducer. Ray takes a list as several results, or as one."""
    entries = RowPartitions(**plan).map(keys, position)
    return entries if len(entries) > 1 else entries[0]


class MapReduceFilter:
    """A filter whose rows are divided among `reducers` actors, and whose blocks are divided among
    `mappers` tasks."""

    def __init__(
        self,
        *,
        memory: int | str,
        mappers: int,
        reducers: int,
        filter: str = "sqf",
        seed: int = 0,
    ) -> None:
        self._plan = {"filter": filter, "memory": memory, "workers": reducers, "seed": seed}
        self._mappers = mappers
        reducer: Any = ray.remote(_Reducer).options(num_cpus=0.1)
        self._reducers = [reducer.remote(self._plan, index) for index in range(reducers)]
        self._map: Any = ray.remote(_map).options(num_returns=reducers, num_cpus=0.1)

    def observe_block(self, keys: Sequence[bytes | str]) -> list[Verdict]:
        """Decides about the keys of a block, which has fewer than 2³² keys."""
        count = len(keys)
        bounds = [count * part // self._mappers for part in range(self._mappers + 1)]
        mapped = []
        for start, end in zip(bounds, bounds[1:], strict=False):
            entries = self._map.remote(self._plan, list(keys[start:end]), start)
            mapped.append([entries] if len(self._reducers) == 1 else entries)
        # Entries go from mapper to reducer; this process never has them.
        reduced = [
            reducer.reduce.remote(count, *(entries[index] for entries in mapped))
            for index, reducer in enumerate(self._reducers)
        ]
        verdicts = [Verdict.SEEN] * count
        for new in ray.get(reduced):
            for position in new:
                verdicts[position] = Verdict.NEW
        return verdicts

    def state(self) -> list[tuple[bytes, bytes]]:
        """Returns the bytes and registers of every reducer."""
        return list(ray.get([reducer.state.remote() for reducer in self._reducers]))
