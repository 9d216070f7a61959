"""WARC files from Python."""

from __future__ import annotations

import gzip
import io

import pytest

from dedupstore import SeenSet
from dedupstore.warc import WarcError, filter_records, read_records


def record(kind: str, target: str, digest: str = "", content: str = "page") -> bytes:
    fields = [f"WARC-Type: {kind}", f"Content-Length: {len(content)}"]
    fields += [f"WARC-Target-URI: {target}"] if target else []
    fields += [f"WARC-Payload-Digest: {digest}"] if digest else []
    head = "\r\n".join(["WARC/1.0", *fields])
    return f"{head}\r\n\r\n{content}\r\n\r\n".encode()


INFO = record("warcinfo", "")
A = record("request", "http://a.example/") + record("response", "http://a.example/", "sha1:A")
B = record("request", "http://b.example/") + record("response", "http://b.example/", "sha1:A")


@pytest.mark.parametrize(
    ("key", "expected"), [("uri", INFO + A + B), ("digest", INFO + A)]
)
def test_captures_whose_key_is_new_are_passed_on_whole(key: str, expected: bytes) -> None:
    for source in (INFO + A + B + A, gzip.compress(INFO) + gzip.compress(A + B + A)):
        output = io.BytesIO()
        seen = SeenSet(memory="1MiB")
        filter_records(seen, io.BytesIO(source), output, key=key)  # type: ignore[arg-type]
        assert output.getvalue() == expected


@pytest.mark.parametrize("source", [b"no warc\n", A[:-7], b"WARC/1.0\r\n\r\n", b"WARC/1.0\r\nCo"])
def test_what_is_no_warc_file_is_an_error(source: bytes) -> None:
    with pytest.raises(WarcError):
        list(read_records(io.BytesIO(source)))
