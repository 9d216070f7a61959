"""The journal and the frontier: what a crash at any byte leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from dedupstore import Store
from dedupstore.scrapy import journal
from dedupstore.scrapy.frontier import Frontier, InFlight
from dedupstore.scrapy.journal import Journal
from dedupstore.scrapy.seen_file import read_fingerprints


def write_sample(path: Path) -> bytes:
    log = Journal(path)
    offsets = [log.push(number, (number, 100 + number), b"r" * number) for number in range(4)]
    assert [log.request(offset) for offset in offsets] == [b"r" * number for number in range(4)]
    log.done(1)
    log.push(2, (2, 102, 202), b"redirected")
    log.failed(3)
    log.close()
    return path.read_bytes()


def test_a_journal_tells_what_is_unfinished(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    write_sample(path)
    contents = journal.read(path)
    assert [(it.number, it.fingerprints, it.failures) for it in contents.unfinished] == [
        (0, (0, 100), 0),
        (2, (2, 102, 202), 0),
        (3, (3, 103), 1),
    ]
    assert contents.finished == [1, 101]
    journal.rewrite(path, contents.unfinished)
    again = journal.read(path)
    assert [(it.number, it.fingerprints, it.failures) for it in again.unfinished] == [
        (0, (0, 100), 0),
        (2, (2, 102, 202), 0),
        (3, (3, 103), 1),
    ]
    log = Journal(path)
    assert log.request(again.unfinished[1].offset) == b"redirected"
    log.close()


def test_a_journal_cut_at_any_byte_is_a_prefix(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole = write_sample(path)
    counts = []
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        contents = journal.read(path)
        counts.append(len(contents.unfinished) + len(contents.finished) // 2)
    assert counts == sorted(counts)
    assert counts[0] == 0 and counts[-1] == 4


def test_a_journal_with_a_flipped_bit_in_any_byte_is_a_prefix(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole = write_sample(path)
    intact = journal.read(path)
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        contents = journal.read(path)
        assert len(contents.finished) <= len(intact.finished)
        assert all(it.number < 4 for it in contents.unfinished)


def test_done_requests_are_committed_after_a_crash(tmp_path: Path) -> None:
    with Store(tmp_path / "a.dds", memory="1MiB") as store:
        # The thread never runs: this process dies first.
        frontier = Frontier(store, tmp_path, interval=3600)
        assert frontier.recover() == []
        flights = []
        for key in ("a", "b"):
            fingerprint = store.claim(key).fingerprint
            claims = (frontier.new_number(), fingerprint)
            frontier.push(claims, key.encode())
            flights.append(InFlight(claims, journaled=True))
        frontier.done(flights[0])
        assert store.contains("a").is_new
    with Store(tmp_path / "a.dds") as store:
        frontier = Frontier(store, tmp_path)
        [left] = frontier.recover()
        assert frontier.request(left.offset) == b"b"
        assert store.contains("a").is_seen and store.contains("b").is_new
        assert store.claim("b").is_pending
        frontier.close()


def test_a_failed_request_is_not_offered_if_another_one_has_reached_its_page(
    tmp_path: Path,
) -> None:
    with Store(tmp_path / "a.dds", memory="1MiB") as store:
        frontier = Frontier(store, tmp_path, interval=3600)
        frontier.recover()
        for _ in range(2):
            claim = store.claim("a")
            assert claim.is_new
            claims = (frontier.new_number(), claim.fingerprint)
            frontier.push(claims, b"a")
            frontier.failed(InFlight(claims, journaled=True))
        frontier.close()
        assert [it.failures for it in Frontier(store, tmp_path).recover()] == [1]
        with pytest.raises(ValueError, match="not claimed"):
            store.commit(store.fingerprint("b"))


def test_both_forms_of_scrapys_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "requests.seen"
    fingerprints = [bytes([number]) * 20 for number in range(30)]
    path.write_bytes(b"".join(b"\0\x14" + it for it in fingerprints) + b"\0\x14torn")
    assert [it for part in read_fingerprints(path) for it in part] == fingerprints
    path.write_text("".join(f"{it.hex()}\n" for it in fingerprints))
    assert [it for part in read_fingerprints(path) for it in part] == fingerprints
    assert list(read_fingerprints(tmp_path / "absent")) == []
