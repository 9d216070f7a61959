"""The package: sets, stores, claims, errors, advice."""

from __future__ import annotations

import pickle
import threading
from array import array
from pathlib import Path

import pytest

import dedupstore
from dedupstore import (
    ClosedError,
    Error,
    InUseError,
    InvalidArgumentError,
    KeyHasher,
    NotFoundError,
    OptionMismatchError,
    ReadOnlyStore,
    SeenSet,
    SharedStore,
    Store,
    Verdict,
)

LINKS = [f"https://harbour.example/page/{number}" for number in range(1000)]


def is_new(verdicts: list[Verdict]) -> list[bool]:
    return [verdict.is_new for verdict in verdicts]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "links.dds"


def test_a_set_remembers_keys_of_both_types() -> None:
    seen = SeenSet(memory="1MiB")
    assert seen.observe("käse") is Verdict.NEW
    assert seen.observe("käse".encode()) is Verdict.SEEN
    assert seen.contains("käse").is_seen
    assert "käse" in seen
    assert "brot" not in seen


def test_a_batch_gives_the_verdicts_of_single_observations() -> None:
    keys = [link for link in LINKS for _ in range(2)] + LINKS[:10]
    one_by_one, batch, buffer = (SeenSet(memory="64KiB", seed=3) for _ in range(3))
    expected = [one_by_one.observe(key) for key in keys]
    assert batch.observe_many(keys) == expected
    fingerprints = array("Q")
    fingerprints.frombytes(KeyHasher(3).fingerprints(keys))
    answer = buffer.observe_fingerprints(fingerprints)
    assert [bool(new) for new in answer] == is_new(expected)
    assert batch.contains_many(keys) == [one_by_one.contains(key) for key in keys]


def test_a_batch_takes_any_iterable_of_keys() -> None:
    for keys in (tuple(LINKS), (link for link in LINKS), [link.encode() for link in LINKS]):
        assert all(is_new(SeenSet(memory="1MiB").observe_many(keys)))
    assert SeenSet(memory="1MiB").observe_many([]) == []


@pytest.mark.parametrize("keys", ["one key", b"one key", [1], [None], ["a", 2.0], 7])
def test_what_is_no_key_is_a_type_error(keys: object) -> None:
    with pytest.raises(TypeError):
        SeenSet(memory="1MiB").observe_many(keys)  # type: ignore[arg-type]


def test_a_verdict_has_no_truth_value_and_can_be_pickled() -> None:
    with pytest.raises(TypeError, match="is_new"):
        bool(Verdict.NEW)
    assert pickle.loads(pickle.dumps(Verdict.SEEN)) is Verdict.SEEN
    assert {Verdict.NEW: 1}[Verdict.NEW] == 1


def test_a_store_remembers_across_openings(path: Path) -> None:
    with Store(path, memory="1MiB", seed=5) as store:
        assert all(is_new(store.observe_many(LINKS)))
        assert store.path == path
    with Store(path) as store:
        assert not any(is_new(store.observe_many(LINKS)))
        assert store.observe("https://harbour.example/other").is_new
        assert store.seed == 5
        assert store.inspect()["filter"] == store.filter
    history = ReadOnlyStore(path)
    assert not any(is_new(history.contains_many(LINKS)))
    assert "https://harbour.example/other" in history


def test_durability_can_be_waited_for(path: Path) -> None:
    with Store(path, memory="1MiB", sync="none") as store:
        store.observe_many(LINKS)
        assert store.sequence == len(LINKS)
        store.wait_durable()
        assert store.durable_sequence == len(LINKS)
        store.observe("another")
        store.sync()
        assert store.durable_sequence == len(LINKS) + 1
        store.checkpoint()
        assert store.inspect()["generation"] >= 1
    with Store(path, sync="every") as store:
        store.observe("one more")
        assert store.durable_sequence == store.sequence


def test_claims_are_recorded_by_commit_only(path: Path) -> None:
    with Store(path, memory="1MiB") as store:
        first = store.claim("a")
        assert first.is_new and first.state == "new"
        assert store.claim("a").is_pending
        store.abort(first)
        second = store.claim("a")
        assert second.is_new
        store.commit(second)
        assert store.claim("a").is_seen
        with pytest.raises(InvalidArgumentError, match="already"):
            store.commit(second)
        with pytest.raises(InvalidArgumentError, match="seen"):
            store.commit(store.claim("a"))
        forgotten = store.claim("b")
        assert forgotten.is_new
    with Store(path) as store:
        assert store.contains("a").is_seen
        assert store.claim("b").is_new


def test_claims_by_fingerprint_need_no_object(path: Path) -> None:
    with Store(path, memory="1MiB") as store:
        fingerprints = array("Q", (store.fingerprint(link) for link in LINKS))
        assert all(store.claim_fingerprint(it).is_new for it in fingerprints)
        store.abort(fingerprints[0])
        assert store.commit_fingerprints(fingerprints) == len(LINKS) - 1
        assert is_new(store.contains_many(LINKS)) == [True] + [False] * (len(LINKS) - 1)
        with pytest.raises(InvalidArgumentError, match="not claimed"):
            store.commit(fingerprints[0])


def test_errors_have_classes_and_the_remedy_of_the_command_line(path: Path) -> None:
    with pytest.raises(NotFoundError, match=f"to create one: dedupstore create {path}"):
        Store.open(path)
    with pytest.raises(InvalidArgumentError, match="expected a size like 64MiB"):
        Store(path, memory="64XB")
    with pytest.raises(InvalidArgumentError, match="bloom"):
        SeenSet("blom")
    with Store(path, memory="1MiB") as store:
        with pytest.raises(InUseError, match="in use by another process"):
            Store(path)
        with pytest.raises(InvalidArgumentError, match="needs 8 bytes|8 bytes each"):
            store.observe_fingerprints(b"123")
    with pytest.raises(OptionMismatchError, match="--memory"):
        Store(path, memory="2MiB")
    with pytest.raises(ClosedError):
        store.observe("a")
    store.close()
    assert issubclass(InvalidArgumentError, ValueError) and issubclass(ClosedError, Error)


def test_threads_share_a_store(path: Path) -> None:
    new = []
    with Store(path, memory="1MiB") as store:

        def observe() -> None:
            count = sum(is_new(store.observe_many(LINKS)))
            new.append(count + sum(store.observe(link).is_new for link in LINKS))

        threads = [threading.Thread(target=observe) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(new) == len(LINKS)


def test_a_shared_store_gives_the_verdicts_of_stores_by_shard(tmp_path: Path) -> None:
    keys = LINKS + LINKS[::3]
    with SharedStore(tmp_path / "all.dds", memory="128KiB", seed=9, shards=2) as shared:
        expected = shared.observe_many(keys)
        assert shared.shards == 2
    hasher = KeyHasher(9)
    parts, owners = hasher.split(keys, 2)
    stores = [Store(tmp_path / f"{n}.dds", memory="64KiB", seed=9) for n in range(2)]
    answers = [
        store.observe_fingerprints(part) for store, part in zip(stores, parts, strict=True)
    ]
    assert [bool(it) for it in KeyHasher.join(owners, answers)] == is_new(expected)


def test_a_window_forgets(path: Path) -> None:
    day = 86_400
    with Store(path, memory="1MiB", window=7 * day) as store:
        assert store.filter.startswith(("window", "stamped", "apbf", "aging"))
        monday = 1_792_000_000
        assert store.observe("a", at=monday).is_new
        assert store.observe("a", at=monday + 6 * day).is_seen
        assert store.observe("a", at=monday + 9 * day).is_new


def test_keys_can_be_forgotten_if_the_filter_can() -> None:
    counting = SeenSet("quotient", memory="64KiB")
    counting.observe("a")
    assert counting.forget("a")
    assert not counting.forget("a")
    with pytest.raises(InvalidArgumentError):
        SeenSet("bloom:k=4", memory="64KiB").forget("a")


def test_advice_and_simulation_agree_with_the_engine() -> None:
    advice = dedupstore.advise(expect=1_000_000, max_fpr=0.001)
    assert advice["keeps_bounds"] and advice["runners_up"]
    runs = dedupstore.simulate(LINKS * 2, filters=["bloom:k=4", "stable"], memory="64KiB")
    assert [run["distinct"] for run in runs] == [1000, 1000]
    [run] = dedupstore.simulate(stream="uniform:20", count=5000, filters=["bloom"], memory="64KiB")
    assert run["count"] == 5000 and run["fn"] == 0
    with pytest.raises(InvalidArgumentError, match="keys or a stream"):
        dedupstore.simulate(filters=["bloom"])


def test_normalized_urls_have_one_spelling() -> None:
    assert dedupstore.normalize("HTTP://A.example/b#c", "whatwg") == "http://a.example/b"
    with pytest.raises(InvalidArgumentError, match="expected none"):
        dedupstore.normalize("http://a.example/", "idna")  # type: ignore[arg-type]


def test_a_store_applies_its_normalization(tmp_path: Path) -> None:
    path = tmp_path / "links.dds"
    with Store(path, memory="1MiB", normalization="whatwg") as store:
        assert store.observe("http://harbour.example/a#b").is_new
        assert store.observe("HTTP://harbour.example:80/a").is_seen
        assert store.observe_many(["http://HARBOUR.example/a"])[0].is_seen
        assert "http://harbour.example/a#c" in store
        claim = store.claim("http://harbour.example/b")
        assert store.claim("http://harbour.example/b#c").is_pending
        store.commit(claim)
    with pytest.raises(InvalidArgumentError, match="idna"):
        Store(tmp_path / "other.dds", memory="1MiB", normalization="idna")
    assert not (tmp_path / "other.dds").exists()
    history = ReadOnlyStore(path)
    assert history.contains("HTTP://harbour.example/b").is_seen
    assert history.contains("http://harbour.example/c").is_new
