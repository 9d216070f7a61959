"""`Store.connect` to Redis: the methods of a store in slices, on real servers."""

from __future__ import annotations

import inspect
import os
import random
import signal
import threading
from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawl_runs import Crawl
from redis_serving import RedisServer, redis, redis_cluster
from serving import serve
from site_server import Site

from dedupstore import (
    ClosedError,
    ClusterStore,
    ConnectionFailedError,
    ForkedError,
    InvalidArgumentError,
    NotFoundError,
    RemoteStore,
    ServerError,
    Store,
    Verdict,
)

LINKS = [f"https://harbour.example/page/{number}" for number in range(10_000)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with redis(tmp_path / "redis") as server:
        yield server


@pytest.fixture
def store(server: RedisServer) -> Iterator[ClusterStore]:
    with ClusterStore(server.url(), filter="bloom:k=4", memory="1MiB") as store:
        yield store


def test_it_has_the_methods_of_a_store() -> None:
    def public(item: type) -> dict[str, object]:
        return {name: it for name, it in vars(item).items() if not name.startswith("_")}

    local = set(public(Store)) - {"open", "connect", "path"}
    assert local <= set(public(ClusterStore))
    for name in local:
        method = public(ClusterStore)[name]
        if inspect.isfunction(method) and name != "inspect":
            real = inspect.signature(getattr(Store, name))
            assert list(inspect.signature(method).parameters) == list(real.parameters), name


def test_connect_finds_out_what_answers(server: RedisServer, tmp_path: Path) -> None:
    with Store.connect(server.url()) as store:
        assert isinstance(store, ClusterStore)
        assert store.observe("a") is Verdict.NEW
    # The store that was created by the first connection.
    with Store.connect(server.url(), create=False) as store:
        assert store.observe("a") is Verdict.SEEN
        assert store.filter == "slot:values=65535"
    with pytest.raises(NotFoundError, match="no store `absent`"):
        Store.connect(server.url("absent"), create=False)
    with serve(tmp_path / "stores") as ours, Store.connect(ours.url()) as other:
        assert isinstance(other, RemoteStore)


def test_verdicts_are_those_of_a_local_store(store: ClusterStore, tmp_path: Path) -> None:
    keys = LINKS + LINKS[:100] + [link.encode() for link in LINKS[:100]]
    with Store(tmp_path / "local.dds", memory="1MiB", filter="bloom:k=4", seed=store.seed) as local:
        assert store.observe_many(keys) == local.observe_many(keys)
        assert store.contains_many(["new", *LINKS]) == local.contains_many(["new", *LINKS])
        assert store.fingerprint("a") == local.fingerprint("a")
        chosen = random.Random(1)
        hashed = array("Q", (chosen.getrandbits(64) for _ in range(9000)))
        assert store.observe_fingerprints(hashed) == local.observe_fingerprints(hashed)
        assert store.contains_fingerprints(hashed) == local.contains_fingerprints(hashed)
    assert store.observe("one") is Verdict.NEW
    assert store.observe(b"one") is Verdict.SEEN
    assert store.contains("one").is_seen and "two" not in store
    inspected = store.inspect()
    assert inspected["failed_slices"] == 0 and len(inspected["slices"]) == 16
    assert store.sequence == inspected["counts"]["new"] + inspected["counts"]["seen"]
    with pytest.raises(InvalidArgumentError, match="cannot remove"):
        store.forget("one")
    with pytest.raises(InvalidArgumentError, match="`at`"):
        store.observe("one", at=5)


def test_claims_are_recorded_by_their_commit(store: ClusterStore, server: RedisServer) -> None:
    claim = store.claim("page")
    assert claim.is_new and store.claim("page").is_pending
    with ClusterStore(server.url()) as other:
        assert other.claim("page").is_pending
        store.renew_claims()
        store.commit(claim)
        assert other.claim("page").is_seen
        with pytest.raises(InvalidArgumentError, match="not claimed"):
            store.commit(claim)
        store.abort(store.claim("given back"))
        assert other.claim("given back").is_new
        assert other.claim("closed").is_new
    # Closing ends the claims.
    assert store.claim("closed").is_new
    many = array("Q", (store.claim(link).fingerprint for link in LINKS[:50]))
    many.append(12345)
    assert store.commit_fingerprints(many) == 50
    assert all(verdict.is_seen for verdict in store.contains_many(LINKS[:50]))


def test_an_owner_gets_its_claims_again(store: ClusterStore, server: RedisServer) -> None:
    store.set_owner(7)
    assert store.claim("page").is_new
    other = ClusterStore(server.url())
    assert other.claim("page").is_pending
    other.set_owner(7)
    again = other.claim("page")
    assert again.is_new
    other.commit(again)
    assert "page" in store
    other.close()


def test_a_cluster_loses_a_node(tmp_path: Path) -> None:
    with redis_cluster(tmp_path) as servers:
        with ClusterStore(servers[0].url(), slices=12, memory="8MiB", timeout=2.0) as store:
            assert all(verdict.is_new for verdict in store.observe_many(LINKS[:600]))
            servers[2].process.send_signal(signal.SIGKILL)
            servers[2].process.wait()
            seen = sum(verdict.is_seen for verdict in store.observe_many(LINKS[:600]))
            # A key that no node answers about counts as new.
            assert 0 < store.unknown == 600 - seen
            assert 300 < seen < 500
            assert store.inspect()["failed_slices"] == 4


def test_windows_options_and_repr(server: RedisServer) -> None:
    with ClusterStore(server.url("week"), window=604_800, slices=4, memory=1 << 20) as store:
        assert store.observe("a").is_new and store.observe("a").is_seen
        assert store.inspect()["window_seconds"] == 604_800.0
        assert repr(store) == f"<ClusterStore {store.url} slot:values=65535>"
        store.flush()
        store.sync()
        store.wait_durable()
        store.checkpoint()
    with pytest.raises(ClosedError):
        store.observe("a")
    with pytest.raises(InvalidArgumentError, match="slot:values=65535"):
        ClusterStore(server.url("other"), filter="stable")
    with pytest.raises(InvalidArgumentError, match="horizontal:N"):
        ClusterStore(server.url("other"), filter="bloom:k=4", window=3600, slices="vertical:4")


def test_threads_share_it_and_forks_are_told(store: ClusterStore) -> None:
    new: list[str] = []

    def observe() -> None:
        new.extend(link for link in LINKS[:200] if store.observe(link).is_new)

    threads = [threading.Thread(target=observe) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(new) == sorted(LINKS[:200])
    child = os.fork()
    if child == 0:
        try:
            store.observe("child")
        except ForkedError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_passwords_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with redis(tmp_path / "redis", "--requirepass", "s@cret") as server:
        with pytest.raises((ServerError, ConnectionFailedError)) as raised:
            Store.connect(server.url(login=":wr%40ng@"))
        assert "wr@ng" not in str(raised.value) and "wr%40ng" not in str(raised.value)
        with pytest.raises(ServerError, match="DEDUPSTORE_PASSWORD"):
            ClusterStore(server.url())
        monkeypatch.setenv("DEDUPSTORE_PASSWORD", "s@cret")
        with Store.connect(server.url()) as store:
            assert store.observe("a").is_new
            assert "cret" not in repr(store) + store.url
        monkeypatch.delenv("DEDUPSTORE_PASSWORD")
        (tmp_path / "password").write_text("s@cret\n")
        monkeypatch.setenv("DEDUPSTORE_PASSWORD_FILE", str(tmp_path / "password"))
        with Store.connect(server.url()) as store:
            assert store.observe("a").is_seen


def _crawls(site: Site, tmp_path: Path, url: str) -> list[Crawl]:
    """Returns two crawls with job directories of their own and one store."""
    crawls = []
    for name in ["first", "second"]:
        (tmp_path / name).mkdir()
        options = {"DEDUPSTORE_URL": url}
        crawls.append(Crawl(site, tmp_path / name, options=options))
    return crawls


@pytest.mark.parametrize("kind", ["redis", "serve"])
def test_crawls_share_a_store(tmp_path: Path, kind: str) -> None:
    with Site(60).serve() as site, redis(tmp_path / "redis") as server:
        with serve(tmp_path / "stores") as ours:
            url = server.url() if kind == "redis" else ours.url()
            first, second = _crawls(site, tmp_path, url)
            first.run()
            assert Counter(first.parsed()) == Counter(range(60))
            # The other crawl finds its start page done.
            second.run()
            assert second.parsed() == []


def test_no_page_of_a_shared_crawl_is_lost_to_a_kill(tmp_path: Path) -> None:
    with Site(300).serve() as site, redis(tmp_path / "redis") as server:
        crawl, other = _crawls(site, tmp_path, server.url())
        assert crawl.kill_after(40, 0.01)
        crawl.run()
        parsed = Counter(crawl.parsed())
        assert set(parsed) == set(range(300))
        # Its claims outlived it and were its own again, so all pages are recorded.
        other.run()
        assert other.parsed() == []
