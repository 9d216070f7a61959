"""Measures a seen-set of two Ray actors: microseconds per observation in batches of 10,000."""

from __future__ import annotations

import tempfile
import time

import ray

from dedupstore.ray import SeenSetActors

BATCH = 10_000
BATCHES = 60


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    with tempfile.TemporaryDirectory() as directory:
        actors = SeenSetActors(2, directory, memory=64 << 20)
        batches = [
            [f"https://harbour.example/articles/{number}/{at}" for at in range(BATCH)]
            for number in range(BATCHES)
        ]
        actors.observe_many(batches.pop())
        times = []
        for batch in batches:
            began = time.perf_counter()
            actors.observe_many(batch)
            times.append((time.perf_counter() - began) / BATCH * 1e6)
        times.sort()
        print(
            f"2 actors, batches of {BATCH:,}: {sum(times) / len(times):.2f} µs per observation "
            f"(mean of {len(times)} batches; median {times[len(times) // 2]:.2f})"
        )
        actors.close()
    ray.shutdown()


if __name__ == "__main__":
    main()
