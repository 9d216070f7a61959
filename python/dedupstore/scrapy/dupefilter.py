"""The duplicate filter: a store at `DEDUPSTORE_URL` or in the job directory, or a set in memory."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.job import job_dir

from dedupstore import ClusterStore, RemoteStore, SeenSet, Store, normalize

from .seen_file import read_fingerprints

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

AnyStore: TypeAlias = Store | RemoteStore | ClusterStore

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class DupeFilter(RFPDupeFilter):
    """Scrapy's duplicate filter in a fixed amount of memory, durable with a job directory.

    On its own it records a request when it is enqueued, as Scrapy's does. With the scheduler of
    this package it claims it, and the key is recorded when the page is done.
    """

    def __init__(self, path: str | None = None, debug: bool = False, **options: Any) -> None:
        settings: BaseSettings | None = options.pop("settings", None)
        super().__init__(None, debug, **options)
        self._directory = Path(path) if path else None
        get = settings.get if settings is not None else lambda _name, default=None: default
        self._options: dict[str, Any] = {
            "memory": get("DEDUPSTORE_MEMORY"),
            "filter": get("DEDUPSTORE_FILTER"),
            "window": window_seconds(get("DEDUPSTORE_WINDOW")),
        }
        self._url: str | None = get("DEDUPSTORE_URL")
        self._normalization = get("DEDUPSTORE_NORMALIZE", "none")
        self.store: AnyStore | None = None
        self.imported = 0
        self._set: SeenSet | AnyStore | None = None
        # Newer versions have it, for subclasses that override the deprecated method.
        own = getattr(self, "_fingerprint", self.fingerprinter.fingerprint)
        self._scrapy_fingerprint: Callable[[Request], bytes] = own

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Reads the settings DEDUPSTORE_URL, _MEMORY, _FILTER, _WINDOW and _NORMALIZE."""
        return cls(
            job_dir(crawler.settings),
            crawler.settings.getbool("DUPEFILTER_DEBUG"),
            fingerprinter=crawler.request_fingerprinter,
            settings=crawler.settings,
        )

    def open(self) -> None:
        """Opens the store. The first time, records what Scrapy's own filter has recorded. Waits for
        the disk."""
        if self._url:
            self._set = self.store = self._connected(self._url)
        elif self._directory is None:
            self._set = SeenSet(**self._options)
        else:
            self._set = self.store = Store(self._directory / "dedupstore.dds", **self._options)
        if self._directory is None or self.store is None:
            return
        imported = self._directory / "dedupstore.imported"
        if not imported.exists():
            for part in read_fingerprints(self._directory / "requests.seen"):
                self.store.observe_many(part)
                self.imported += len(part)
            self.store.sync()
            imported.touch()

    def _connected(self, url: str) -> AnyStore:
        """Connects to the store that crawlers share."""
        if given := [name for name, value in self._options.items() if value is not None]:
            raise ValueError(
                f"DEDUPSTORE_{given[0].upper()}: a store at DEDUPSTORE_URL has its own options; "
                "create it with `dedupstore create`, or let `dedupstore serve` create it"
            )
        store = Store.connect(url)
        if isinstance(store, ClusterStore) and self._directory is not None:
            # Claims outlive this process; the next one of this crawl gets them again.
            owner = self._directory / "dedupstore.owner"
            if not owner.exists():
                self._directory.mkdir(parents=True, exist_ok=True)
                owner.write_text(f"{secrets.randbits(64)}\n")
            store.set_owner(int(owner.read_text()))
        return store

    def key(self, request: Request) -> bytes:
        """Returns the key of a request: Scrapy's fingerprint, of the normalized URL if that is
        asked for."""
        if self._normalization != "none":
            url = normalize(request.url, self._normalization)
            if url != request.url:
                request = request.replace(url=url)
        return self._scrapy_fingerprint(request)

    def request_seen(self, request: Request) -> bool:
        """Returns whether a request was seen, and records it."""
        if self._set is None:
            self.open()
        assert self._set is not None
        return self._set.observe(self.key(request)).is_seen

    def close(self, reason: str) -> None:
        """Closes the store. Waits for the disk."""
        if self.store is not None:
            self.store.close()


def window_seconds(text: str | int | None) -> int | None:
    """Parses a span such as 604800, "7d" or "1d12h"."""
    if text is None or isinstance(text, int):
        return text
    if text.isdigit():
        return int(text)
    parts = re.findall(r"(\d+)([smhdw])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"DEDUPSTORE_WINDOW: expected a span like 7d or 12h; found {text!r}")
    return sum(int(number) * _UNITS[unit] for number, unit in parts)
