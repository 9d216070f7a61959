"""Scrapy's own tests of duplicate filters, from its source distribution, with our class."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

# These look into the file of Scrapy's filter, or ask it to list its fingerprints.
_NOT_OURS = ["test_seenreq_truncated", "test_fingerprints_deprecation"]

_CONFTEST = """
import scrapy.dupefilters
from dedupstore.scrapy import DupeFilter

used = 0

class OurFilter(DupeFilter):
    def __init__(self, *arguments, **options):
        global used
        used += 1
        super().__init__(*arguments, **options)

scrapy.dupefilters.RFPDupeFilter = OurFilter

def pytest_unconfigure(config):
    print(f"our class was used {used} times")
"""


def test_scrapys_own_tests_pass_with_our_class(tmp_path: Path) -> None:
    sources = os.environ["SCRAPY_SOURCES"]
    plugin = tmp_path / "our_class.py"
    plugin.write_text(_CONFTEST)
    deselected = " and ".join(f"not {name}" for name in _NOT_OURS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "our_class", "-p", "no:cacheprovider"]
    tested = subprocess.run(
        [*command, "-c", os.devnull, "--rootdir", sources, "-k", deselected]
        + [f"{sources}/tests/test_dupefilters.py"],
        cwd=sources,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{sources}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "passed" in tested.stdout and "failed" not in tested.stdout
    # Else they would have tested Scrapy's class.
    used = re.search(r"our class was used (\d+) times", tested.stdout)
    assert used and int(used[1]) >= 5, tested.stdout
