"""The spider middleware: notices when the output of a callback has arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from scrapy import Request, signals

from .scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.interfaces import IReactorTime

    from .frontier import InFlight


class SpiderMiddleware:
    """Marks a request as done when its callback has ended, all requests of its output are enqueued
    and all items are scraped, dropped or failed; as failed when the callback raises.

    It must be the middleware nearest to the engine, to see what really leaves the spider."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(self._item_arrived, signal=signal)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connects to the signals of items."""
        return cls(crawler)

    def _find(self, response: Response | None) -> tuple[Scheduler, InFlight] | None:
        engine = self._crawler.engine
        slot = getattr(engine, "_slot", None) or getattr(engine, "slot", None)
        scheduler = slot.scheduler if slot is not None else None
        if not isinstance(scheduler, Scheduler) or scheduler.frontier is None:
            return None
        flight = scheduler.in_flight(getattr(response, "request", None))
        return None if flight is None else (scheduler, flight)

    # Scrapy 2.13 passes the spider, newer versions do not.
    def process_spider_output(
        self, response: Response, result: Iterable[Any], spider: Any = None
    ) -> Iterator[Any]:
        """Watches the output of a callback."""
        found = self._find(response)
        if found is None:
            yield from result
            return
        self._begin(*found)
        try:
            for output in result:
                self._expect(*found, output)
                yield output
        except Exception:
            found[0].failed(found[1])
            raise
        self._end(*found)

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        """Watches the output of a callback."""
        found = self._find(response)
        if found is None:
            async for output in result:
                yield output
            return
        self._begin(*found)
        try:
            async for output in result:
                self._expect(*found, output)
                yield output
        except Exception:
            found[0].failed(found[1])
            raise
        self._end(*found)

    def process_spider_exception(
        self, response: Response, exception: Exception, spider: Any = None
    ) -> None:
        """Ends a request whose callback has raised an exception that nobody handles."""
        if found := self._find(response):
            found[0].failed(found[1])

    @staticmethod
    def _begin(_scheduler: Scheduler, flight: InFlight) -> None:
        flight.outstanding += 1
        flight.ended = False

    @staticmethod
    def _expect(scheduler: Scheduler, flight: InFlight, output: Any) -> None:
        if isinstance(output, Request):
            scheduler.expect(output, flight)
        elif output is not None:
            flight.outstanding += 1

    @staticmethod
    def _end(scheduler: Scheduler, flight: InFlight) -> None:
        from twisted.internet import reactor

        later = cast("IReactorTime", reactor)
        flight.ended = True
        # If another middleware has handled an exception of the callback, its output comes next,
        # and `_begin` is called again before this.
        later.callLater(0, scheduler.arrived, flight)  # type: ignore[arg-type]

    def _item_arrived(self, response: Response | None = None) -> None:
        if found := self._find(response):
            found[0].arrived(found[1])
