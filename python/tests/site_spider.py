"""Crawls the synthetic site: `python site_spider.py URL JOBDIR LOG MODE [SETTING=VALUE ...]`.

The callback appends the number of each page to LOG before anything else. MODE is `stock` for
Scrapy alone, or `addon`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import DropItem
from scrapy.http import Response


class SlowPipeline:
    """Takes a moment per item, drops some and fails for some."""

    async def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0.001)
        if item["page"] % 5 == 1:
            raise DropItem("dropped")
        if item["page"] % 5 == 2:
            raise RuntimeError("an error of the pipeline")
        return item


class SiteSpider(scrapy.Spider):
    name = "site"
    # Pages whose callback raises an exception after its first link.
    raising: tuple[int, ...] = ()
    again = False
    url: str
    # The file for the numbers of parsed pages.
    parsed: int

    async def start(self) -> AsyncIterator[Any]:
        yield scrapy.Request(self.url, dont_filter=self.again)

    def parse(self, response: Response) -> Iterator[Any]:
        page = int(response.url.rsplit("/", 1)[1])
        os.write(self.parsed, f"{page}\n".encode())
        yield {"page": page}
        for link in response.css("a::attr(href)").getall():
            # Passing the meta on is a common habit.
            yield response.follow(link, meta=dict(response.meta))
            if page in self.raising:
                raise ValueError("an error of the callback")


def main() -> None:
    url, jobdir, log, mode, *rest = sys.argv[1:]
    given = dict(pair.split("=", 1) for pair in rest)
    raising = tuple(int(page) for page in given.pop("raising", "").split(",") if page)
    again = given.pop("again", "") == "1"
    settings: dict[str, Any] = {
        "JOBDIR": jobdir,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
        "RETRY_TIMES": 1,
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "ERROR",
        "ITEM_PIPELINES": {SlowPipeline: 300},
        **given,
    }
    if "DEDUPSTORE_URL" not in given:
        settings["DEDUPSTORE_MEMORY"] = "1MiB"
    if mode == "addon":
        settings["ADDONS"] = {"dedupstore.scrapy.Addon": 500}
    process = CrawlerProcess(settings)
    process.crawl(
        SiteSpider,
        url=url,
        parsed=os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND),
        raising=raising,
        again=again,
    )
    process.start()


if __name__ == "__main__":
    main()
