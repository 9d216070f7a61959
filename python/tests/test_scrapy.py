"""The Scrapy add-on: real crawls over HTTP, in processes that are killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawl_runs import Crawl, crawl_with_kills
from site_server import Site

# As many as the spider downloads at once.
IN_FLIGHT = 16


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(900).serve() as site:
        yield site


@pytest.fixture
def small_site() -> Iterator[Site]:
    with Site(60).serve() as site:
        yield site


def test_no_page_is_lost_to_kills_and_scrapy_alone_loses_pages(site: Site, tmp_path: Path) -> None:
    (tmp_path / "addon").mkdir()
    (tmp_path / "stock").mkdir()
    outcome = crawl_with_kills(Crawl(site, tmp_path / "addon"), kills=4, seed=1)
    assert outcome.kills == 4
    assert outcome.lost == 0
    # A page that was in flight may be parsed again by any later run.
    assert sum(outcome.repeated) <= outcome.kills * IN_FLIGHT
    # Without this, the kills would prove nothing.
    control = crawl_with_kills(Crawl(site, tmp_path / "stock", mode="stock"), kills=2, seed=1)
    assert control.lost > 0


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(4))
def test_campaign_of_kills(tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    with Site(3000).serve() as site:
        (tmp_path / "addon").mkdir()
        (tmp_path / "stock").mkdir()
        outcome = crawl_with_kills(Crawl(site, tmp_path / "addon"), kills=5, seed=seed)
        control = crawl_with_kills(Crawl(site, tmp_path / "stock", mode="stock"), 1, seed)
    with capsys.disabled():
        print(
            f"\nseed {seed}: {outcome.kills} kills, {outcome.lost} pages lost, repeated after each "
            f"kill: {outcome.repeated}; Scrapy alone, {control.kills} kill: {control.lost} lost"
        )
    assert outcome.kills == 5
    assert outcome.lost == 0
    # A page that was in flight may be parsed again by any later run.
    assert sum(outcome.repeated) <= outcome.kills * IN_FLIGHT
    assert control.lost > 0


def test_a_finished_crawl_parses_nothing_again(small_site: Site, tmp_path: Path) -> None:
    crawl = Crawl(small_site, tmp_path)
    crawl.run()
    assert Counter(crawl.parsed()) == Counter(range(60))
    crawl.run()
    assert len(crawl.parsed()) == 60


def test_failures_are_offered_again_and_redirects_carry_the_claim(
    small_site: Site, tmp_path: Path
) -> None:
    crawl = Crawl(small_site, tmp_path)
    small_site.broken = {20}
    small_site.unavailable = {21}
    small_site.missing = {22}
    # The target is also linked to; 24 leads to a page that nothing else links to.
    small_site.moved = {23: 30, 24: 59}
    crawl.run(raising="25")
    first = Counter(crawl.parsed())
    assert not {20, 21, 22, 23, 24} & set(first)
    # A link that comes after the failure offers the page again, in the same run.
    assert first[25] >= 1 and first[30] == 1 and first[59] == 1
    small_site.broken = small_site.unavailable = set()
    small_site.missing, small_site.moved = set(), {}
    crawl.run()
    second = Counter(crawl.parsed()) - first
    # The failed ones are offered again; a page that is missing or moved was an answer.
    assert second == Counter({20: 1, 21: 1, 25: 1})


def test_dont_filter_is_honoured(small_site: Site, tmp_path: Path) -> None:
    crawl = Crawl(small_site, tmp_path, options={"again": "1"})
    crawl.run()
    crawl.run()
    # Page 0 is linked to, too.
    assert Counter(crawl.parsed())[0] == 3
    assert all(count == 1 for page, count in Counter(crawl.parsed()).items() if page)


def test_a_crawl_of_scrapy_alone_is_taken_over(small_site: Site, tmp_path: Path) -> None:
    crawl = Crawl(small_site, tmp_path, mode="stock", options={"CLOSESPIDER_PAGECOUNT": "20"})
    crawl.run()
    taken = set(crawl.parsed())
    assert 0 < len(taken) < 60
    Crawl(small_site, tmp_path).run()
    assert Counter(crawl.parsed()) == Counter(range(60))
