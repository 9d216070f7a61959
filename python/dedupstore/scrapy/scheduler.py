"""The scheduler: Scrapy's, with a journal of unfinished requests in place of its disk queues."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from scrapy.core.scheduler import Scheduler as ScrapyScheduler
from scrapy.utils.misc import build_from_crawler
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread

from .dupefilter import DupeFilter
from .errback import Errback
from .frontier import Frontier, InFlight
from .queues import CLAIMS, FifoJournalQueue, JournalQueue, LifoJournalQueue, read_request

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.pqueues import ScrapyPriorityQueue

    from .journal import Unfinished

_logger = logging.getLogger(__name__)


class Scheduler(ScrapyScheduler):
    """Claims requests when they are enqueued, and writes them to the journal. Without a job
    directory it is Scrapy's scheduler."""

    frontier: Frontier | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        retried = self.crawler.settings.getlist("RETRY_HTTP_CODES") if self.crawler else []
        self.retried_statuses = {int(status) for status in retried}
        # Requests that were handed out, by their number in the journal.
        self._in_flight: dict[int, InFlight] = {}
        # Requests on their way from a callback, with what the callback belongs to.
        self._parents: dict[int, tuple[Request, InFlight]] = {}

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Opens the store and reads the journal, in a thread."""
        if self.dqdir is None or not isinstance(self.df, DupeFilter):
            return super().open(spider)
        self.spider = spider
        self.mqs = self._mq()
        return deferToThread(self._recover).addCallback(self._resume)

    def _recover(self) -> list[Unfinished]:
        """Runs in a thread, because it waits for the disk."""
        assert isinstance(self.df, DupeFilter) and self.crawler and self.dqdir
        settings = self.crawler.settings
        self.df.open()
        assert self.df.store is not None
        interval = settings.getfloat("DEDUPSTORE_SYNC_INTERVAL", 1.0)
        self.frontier = Frontier(self.df.store, Path(self.dqdir).parent, interval=interval)
        return self.frontier.recover(
            retry_failed=settings.getbool("DEDUPSTORE_RETRY_FAILED", True)
        )

    def _resume(self, unfinished: list[Unfinished]) -> None:
        assert isinstance(self.df, DupeFilter) and self.stats and self.dqdir and self.frontier
        stock = Path(self.dqdir, "active.json")
        left = super()._dq() if stock.exists() else None
        self.dqs = self._journal_queue()
        for entry in unfinished:
            request = read_request(self.frontier, entry.offset, self.spider)
            JournalQueue.restored_from = entry.offset
            try:
                self.dqs.push(request)
            finally:
                JournalQueue.restored_from = None
        # Requests that Scrapy's own queues have kept. Their keys came with its file of seen ones.
        taken = 0
        while left is not None and (waiting := left.pop()) is not None:
            waiting.meta[CLAIMS] = (self.frontier.new_number(),)
            self.dqs.push(waiting)
            taken += 1
        if left is not None:
            left.close()
            self.frontier.sync_journal()
            stock.unlink()
        if count := len(unfinished) + taken:
            _logger.info("Resuming crawl (%d requests unfinished)", count)
        self.stats.set_value("dedupstore/resumed", count)
        self.stats.set_value("dedupstore/imported", self.df.imported)

    def _journal_queue(self) -> ScrapyPriorityQueue:
        """Returns a priority queue over queues in the journal, in the order that the settings for
        Scrapy's disk queues ask for."""
        assert self.crawler and self.pqclass

        def journaled(queue: Any) -> type[JournalQueue] | None:
            if queue is None:
                return None
            is_fifo = "fifo" in getattr(queue, "__qualname__", "").lower() or _is_fifo(queue)
            base = FifoJournalQueue if is_fifo else LifoJournalQueue
            return type(base.__name__, (base,), {"frontier": self.frontier})

        return build_from_crawler(
            self.pqclass,
            self.crawler,
            downstream_queue_cls=cast("Any", journaled(self.dqclass)),
            key="",
            start_queue_cls=cast("Any", journaled(self._sdqclass)),
        )

    def enqueue_request(self, request: Request) -> bool:
        """Claims the key of a request and writes the request to the journal; returns False if the
        key is recorded or claimed."""
        if self.frontier is None:
            return super().enqueue_request(request)
        parent = self._parents.pop(id(request), None)
        try:
            return self._enqueue(request)
        finally:
            if parent is not None:
                self.arrived(parent[1])

    def _enqueue(self, request: Request) -> bool:
        assert self.frontier and isinstance(self.df, DupeFilter) and self.df.store
        if isinstance(request.errback, Errback):
            request.errback = request.errback.inner
        claims: tuple[int, ...] | None = request.meta.get(CLAIMS)
        # A redirect or a retry is the same work: it carries the claims of the request before.
        again = self._in_flight.pop(claims[0], None) if claims else None
        if claims is None:
            claims = (self.frontier.new_number(),)
        if not request.dont_filter:
            fingerprint = self.df.store.fingerprint(self.df.key(request))
            if fingerprint not in claims[1:]:
                if not self.df.store.claim_fingerprint(fingerprint).is_new:
                    self.df.log(request, self.spider)
                    if again is not None:
                        # The page it leads to is known, so this one is done.
                        self.frontier.done(again)
                    return False
                claims = (*claims, fingerprint)
        request.meta[CLAIMS] = claims
        assert self.stats is not None
        if self._dqpush(request):
            self.stats.inc_value("scheduler/enqueued/disk")
        else:
            # It cannot be serialized, so a crash loses it.
            self._mqpush(request)
            self.stats.inc_value("scheduler/enqueued/memory")
        self.stats.inc_value("scheduler/enqueued")
        return True

    def next_request(self) -> Request | None:
        """Hands a request out, and watches for its end."""
        if self.frontier is None:
            return super().next_request()
        journaled = False
        request = self.mqs.pop()
        if request is None:
            request, journaled = self._dqpop(), True
        if request is None:
            return None
        assert self.stats is not None
        self.stats.inc_value(f"scheduler/dequeued/{'disk' if journaled else 'memory'}")
        self.stats.inc_value("scheduler/dequeued")
        claims = request.meta[CLAIMS] = tuple(request.meta[CLAIMS])
        flight = self._in_flight[claims[0]] = InFlight(claims, journaled)
        request.errback = cast("Any", Errback(request.errback, self, flight))
        return request

    def in_flight(self, request: Request | None) -> InFlight | None:
        """Returns what a request that was handed out belongs to."""
        claims = request.meta.get(CLAIMS) if request is not None else None
        return self._in_flight.get(claims[0]) if claims else None

    def expect(self, request: Request, flight: InFlight) -> None:
        """Notes that a callback has yielded a request, which will be enqueued."""
        # It must not be taken for a redirect because the spider has passed its meta on.
        if request.meta.get(CLAIMS) is not None:
            del request.meta[CLAIMS]
        flight.outstanding += 1
        self._parents[id(request)] = (request, flight)

    def arrived(self, flight: InFlight) -> None:
        """Notes that a request or an item of a callback has arrived."""
        flight.outstanding -= 1
        if flight.ended and flight.outstanding == 0:
            self.done(flight)

    def done(self, flight: InFlight) -> None:
        """Ends a request whose page is finished."""
        assert self.frontier and self.stats
        if self._in_flight.pop(flight.claims[0], None) is not None:
            self.frontier.done(flight)
            self.stats.inc_value("dedupstore/done")

    def failed(self, flight: InFlight) -> None:
        """Ends a request whose page could not be loaded or processed."""
        assert self.frontier and self.stats
        if self._in_flight.pop(flight.claims[0], None) is not None:
            self.frontier.failed(flight)
            self.stats.inc_value("dedupstore/failed")

    def close(self, reason: str) -> Deferred[None] | None:
        """Commits what is finished and closes the store, in a thread."""
        if self.frontier is None:
            return super().close(reason)
        return deferToThread(self._close, reason)

    def _close(self, reason: str) -> None:
        assert self.frontier
        try:
            self.frontier.close()
        finally:
            self.df.close(reason)


def _is_fifo(queue: Any) -> bool:
    """Scrapy's classes of queues have names that do not say it; their base classes have."""
    return any("fifo" in base.__name__.lower() for base in queue.__mro__)
