"""Runs crawls of the synthetic site in processes of their own, and kills them."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from site_server import Site

_SPIDER = Path(__file__).with_name("site_spider.py")
_SECONDS = 120


@dataclass
class Crawl:
    """A crawl that is started again and again in one job directory."""

    site: Site
    directory: Path
    mode: str = "addon"
    options: dict[str, str] = field(default_factory=dict)

    @property
    def log(self) -> Path:
        """The pages in the order in which they were parsed."""
        return self.directory / "parsed.log"

    @property
    def job(self) -> Path:
        """The job directory."""
        return self.directory / "job"

    def parsed(self) -> list[int]:
        """Returns the pages that were parsed so far, in order."""
        if not self.log.exists():
            return []
        return [int(line) for line in self.log.read_text().split()]

    def _start(self, **options: str) -> subprocess.Popen[bytes]:
        given = [f"{name}={value}" for name, value in {**self.options, **options}.items()]
        command = [
            sys.executable,
            str(_SPIDER),
            self.site.url(),
            str(self.job),
            str(self.log),
            self.mode,
            *given,
        ]
        with (self.directory / "errors.log").open("ab") as errors:
            return subprocess.Popen(command, stdout=errors, stderr=errors)

    def errors(self) -> str:
        """Returns what the crawls have written to standard error."""
        return (self.directory / "errors.log").read_text()

    def run(self, **options: str) -> None:
        """Runs the crawl to its end."""
        process = self._start(**options)
        assert process.wait(timeout=_SECONDS) == 0, self.errors()

    def kill_after(self, pages: int, delay: float) -> bool:
        """Starts the crawl and kills it when it has parsed so many more pages, and a moment later;
        returns False if it has ended before."""
        process = self._start()
        size = self.log.stat().st_size if self.log.exists() else 0
        until = time.monotonic() + _SECONDS
        # A line has at most five bytes.
        while process.poll() is None and time.monotonic() < until:
            now = self.log.stat().st_size if self.log.exists() else 0
            if now - size >= 4 * pages:
                break
            time.sleep(0.002)
        time.sleep(delay)
        was_running = process.poll() is None
        process.kill()
        process.wait()
        return was_running


@dataclass
class Outcome:
    """What kills did to a crawl that was then run to its end."""

    lost: int
    kills: int
    # Pages parsed again after each kill.
    repeated: list[int]


def crawl_with_kills(crawl: Crawl, kills: int, seed: int) -> Outcome:
    """Kills a crawl at random moments, each time starting it again, and lets it end."""
    chosen = random.Random(seed)
    share = crawl.site.pages // (kills + 1)
    outcome = Outcome(0, 0, [])
    before: set[int] = set()
    at = 0
    for number in range(kills + 1):
        if number < kills:
            pages = chosen.randint(1, max(share, 2))
            outcome.kills += crawl.kill_after(pages, chosen.random() * 0.05)
        else:
            crawl.run()
        parsed = crawl.parsed()
        part, at = parsed[at:], len(parsed)
        if number > 0:
            outcome.repeated.append(sum(page in before for page in part))
        before.update(part)
    outcome.lost = crawl.site.pages - len(before)
    return outcome
