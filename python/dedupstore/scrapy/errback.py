"""Notices that a request has ended without a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import IgnoreRequest
from scrapy.spidermiddlewares.httperror import HttpError

from .queues import CLAIMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.python.failure import Failure

    from .frontier import InFlight
    from .scheduler import Scheduler


class Errback:
    """Takes the place of a request's errback while the request is in flight. Every download that
    fails for good ends here, whichever middleware has given up."""

    __slots__ = ("__weakref__", "_flight", "_scheduler", "inner")

    def __init__(
        self, inner: Callable[[Failure], Any] | None, scheduler: Scheduler, flight: InFlight
    ) -> None:
        self.inner = inner
        self._scheduler = scheduler
        self._flight = flight

    def __call__(self, failure: Failure) -> Any:
        """Ends the request, and calls the errback of the spider if there is one."""
        error = failure.value
        if isinstance(error, HttpError):
            # Others are answers; the spider middleware sees how the spider takes them.
            if error.response.status in self._scheduler.retried_statuses:
                self._scheduler.failed(self._flight)
        elif isinstance(error, IgnoreRequest):
            # For example because of robots.txt: a decision, not a failure.
            self._scheduler.done(self._flight)
        else:
            self._scheduler.failed(self._flight)
        request = getattr(failure, "request", None)
        if self._flight.over and request is not None:
            # What the errback makes of this request is new work.
            request.meta.pop(CLAIMS, None)
        return self.inner(failure) if self.inner is not None else failure
