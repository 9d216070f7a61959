"""Queues whose requests are in the journal; in memory, each takes 8 bytes."""

from __future__ import annotations

import pickle
from array import array
from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.utils.request import request_from_dict

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from .frontier import Frontier

# What a request carries in its meta: its number in the journal and the fingerprints of its claims.
CLAIMS = "dedupstore"


class JournalQueue:
    """The interface that Scrapy's priority queues expect of a queue."""

    frontier: ClassVar[Frontier]
    # While a journal is read: where the request that is being pushed already is.
    restored_from: ClassVar[int | None] = None

    def __init__(self, crawler: Crawler) -> None:
        self._spider = crawler.spider

    @classmethod
    def from_crawler(cls, crawler: Crawler, *_key: Any) -> JournalQueue:
        """Ignores the key, the directory of a queue with files of its own."""
        return cls(crawler)

    def push(self, request: Request) -> None:
        """Writes a request to the journal. Raises ValueError if it cannot be serialized."""
        offset = self.restored_from
        if offset is None:
            try:
                text = pickle.dumps(request.to_dict(spider=self._spider), protocol=4)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise ValueError(str(error)) from error
            offset = self.frontier.push(request.meta[CLAIMS], text)
        self._put(offset)

    def pop(self) -> Request | None:
        """Reads the next request."""
        offset = self._take()
        return None if offset is None else read_request(self.frontier, offset, self._spider)

    def peek(self) -> Request | None:
        """Reads the next request, which stays in the queue."""
        offset = self._look()
        return None if offset is None else read_request(self.frontier, offset, self._spider)

    def close(self) -> None:
        """Does nothing: what is not finished stays in the journal."""

    def _put(self, offset: int) -> None:
        raise NotImplementedError

    def _take(self) -> int | None:
        raise NotImplementedError

    def _look(self) -> int | None:
        raise NotImplementedError


class LifoJournalQueue(JournalQueue):
    """The newest request first."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._offsets = array("Q")

    def __len__(self) -> int:
        return len(self._offsets)

    def _put(self, offset: int) -> None:
        self._offsets.append(offset)

    def _take(self) -> int | None:
        return self._offsets.pop() if self._offsets else None

    def _look(self) -> int | None:
        return self._offsets[-1] if self._offsets else None


class FifoJournalQueue(JournalQueue):
    """The oldest request first."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._offsets: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._offsets)

    def _put(self, offset: int) -> None:
        self._offsets.append(offset)

    def _take(self) -> int | None:
        return self._offsets.popleft() if self._offsets else None

    def _look(self) -> int | None:
        return self._offsets[0] if self._offsets else None


def read_request(frontier: Frontier, offset: int, spider: Any) -> Request:
    """Reads a request from the journal."""
    return request_from_dict(pickle.loads(frontier.request(offset)), spider=spider)
