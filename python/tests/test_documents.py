"""The examples of docs/PYTHON.md run."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import dedupstore.warc

_DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "PYTHON.md"


def examples() -> list[str]:
    """Returns the examples in Python, in order."""
    parts = _DOCUMENT.read_text().split("```python\n")[1:]
    return [part.split("```")[0] for part in parts]


@pytest.mark.parametrize("example", [it for it in examples() if "dedupstore.ray" not in it])
def test_the_examples_run(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(example, str(_DOCUMENT), "exec"), {})


def test_there_are_examples() -> None:
    assert len(examples()) >= 6


def test_the_example_of_warc_runs() -> None:
    assert doctest.testmod(dedupstore.warc).failed == 0
