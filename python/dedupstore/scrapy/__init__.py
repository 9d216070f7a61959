"""The Scrapy add-on: no page is lost to kill -9 or a power cut, and none is crawled twice.

All that a project needs are two settings::

    ADDONS = {"dedupstore.scrapy.Addon": 500}
    JOBDIR = "crawl"

The document `docs/PYTHON.md` describes the settings `DEDUPSTORE_*`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .dupefilter import DupeFilter
from .middleware import SpiderMiddleware
from .scheduler import Scheduler

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

__all__ = ["Addon", "DupeFilter", "Scheduler", "SpiderMiddleware"]

# Nearer to the engine than any other spider middleware.
_NEAREST = -1000


class Addon:
    """Sets the duplicate filter, the scheduler and the spider middleware, unless the project sets
    others."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Changes the settings of a crawl."""
        settings.set("DUPEFILTER_CLASS", DupeFilter, "addon")
        settings.set("SCHEDULER", Scheduler, "addon")
        settings["SPIDER_MIDDLEWARES"].set(SpiderMiddleware, _NEAREST, "addon")
