"""Compares the add-on with Scrapy's own duplicate filter, scheduler and disk queue, without network.

Each request is enqueued, handed out, and its callback ends without output. Prints microseconds per
request, the best of interleaved rounds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Generator
from typing import Any

from scrapy import Request
from scrapy.core.scheduler import Scheduler as ScrapyScheduler
from scrapy.http import Response
from scrapy.spiders import Spider
from scrapy.utils.test import get_crawler
from twisted.internet import defer, task

from dedupstore.scrapy import DupeFilter, Scheduler, SpiderMiddleware

COUNT = 20_000
ROUNDS = 5


def crawler_for(directory: str, ours: bool) -> Any:
    """Returns a crawler that runs nothing."""
    settings: dict[str, Any] = {
        "JOBDIR": directory,
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
        "DEDUPSTORE_MEMORY": "64MiB",
    }
    if ours:
        settings["DUPEFILTER_CLASS"] = DupeFilter
    crawler = get_crawler(Spider, settings)
    crawler.spider = Spider.from_crawler(crawler, name="bench")
    return crawler


@defer.inlineCallbacks
def one_round(ours: bool, salt: int) -> Generator[Any, Any, float]:
    with tempfile.TemporaryDirectory() as directory:
        crawler = crawler_for(directory, ours)
        scheduler = (Scheduler if ours else ScrapyScheduler).from_crawler(crawler)
        yield scheduler.open(crawler.spider)
        middleware = SpiderMiddleware(crawler) if ours else None
        if middleware is not None:
            # The crawler has no engine that would know the scheduler.
            found = scheduler.in_flight
            middleware._find = lambda response: (scheduler, found(response.request))  # type: ignore
        requests = [Request(f"http://a.example/{salt}/{number}?a=b") for number in range(COUNT)]
        elapsed = 0.0
        for start in range(0, COUNT, 1000):
            began = time.perf_counter()
            for request in requests[start : start + 1000]:
                scheduler.enqueue_request(request)
            for _ in range(1000):
                request = scheduler.next_request()
                if middleware is not None:
                    response = Response(request.url, request=request)
                    for _output in middleware.process_spider_output(response, ()):
                        pass
            elapsed += time.perf_counter() - began
            began = time.perf_counter()
            # Lets the calls run that the middleware has scheduled.
            yield task.deferLater(_reactor(), 0)
            elapsed += time.perf_counter() - began
        yield scheduler.close("finished")
        return 1e6 * elapsed / COUNT


@defer.inlineCallbacks
def filters_alone(ours: bool, salt: int) -> Generator[Any, Any, float]:
    with tempfile.TemporaryDirectory() as directory:
        crawler = crawler_for(directory, ours)
        scheduler = ScrapyScheduler.from_crawler(crawler)
        scheduler.df.open()
        requests = [Request(f"http://a.example/{salt}/{number}?a=b") for number in range(COUNT)]
        began = time.perf_counter()
        for request in requests:
            scheduler.df.request_seen(request)
        elapsed = time.perf_counter() - began
        scheduler.df.close("finished")
        yield task.deferLater(_reactor(), 0)
        return 1e6 * elapsed / COUNT


def _reactor() -> Any:
    from twisted.internet import reactor

    return reactor


@defer.inlineCallbacks
def main(_: Any) -> Generator[Any, Any, None]:
    for what, measure in (("duplicate filter", filters_alone), ("scheduler", one_round)):
        best = {False: float("inf"), True: float("inf")}
        for number in range(ROUNDS):
            for ours in (False, True):
                measured = yield measure(ours, number)
                best[ours] = min(best[ours], measured)
        print(
            f"{what}: Scrapy {best[False]:.1f} µs per request, add-on {best[True]:.1f} µs, "
            f"overhead {best[True] - best[False]:.1f} µs"
        )


if __name__ == "__main__":
    task.react(main)
