"""The examples of docs/PYTHON.md and docs/SERVE.md run."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from serving import serve

import dedupstore.warc

_DOCUMENTS = Path(__file__).parent.parent.parent / "docs"
_DOCUMENT = _DOCUMENTS / "PYTHON.md"


def examples(document: Path = _DOCUMENT) -> list[str]:
    """Returns the examples in Python, in order."""
    parts = document.read_text().split("```python\n")[1:]
    return [part.split("```")[0] for part in parts]


@pytest.mark.parametrize("example", [it for it in examples() if "dedupstore.ray" not in it])
def test_the_examples_run(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(example, str(_DOCUMENT), "exec"), {})


def test_the_example_of_a_server_runs(tmp_path: Path) -> None:
    # The others are for packages that are not installed here.
    example = examples(_DOCUMENTS / "SERVE.md")[0]
    address = "redis://127.0.0.1:6379/links"
    assert address in example
    with serve(tmp_path / "stores") as server:
        exec(example.replace(address, server.url()), {})


def test_there_are_examples() -> None:
    assert len(examples()) >= 6


def test_the_example_of_warc_runs() -> None:
    assert doctest.testmod(dedupstore.warc).failed == 0
