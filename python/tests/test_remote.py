"""`Store.connect`: the methods of a store over the wire, against a real server."""

from __future__ import annotations

import inspect
import os
import ssl
import threading
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import TLS, Server, serve

from dedupstore import (
    ClosedError,
    ConnectionFailedError,
    InvalidArgumentError,
    KeyHasher,
    NotFoundError,
    RemoteStore,
    ServerError,
    Store,
    Verdict,
)

# More than fit into one request.
LINKS = [f"https://harbour.example/page/{number}" for number in range(10_000)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serve(tmp_path / "stores") as server:
        yield server


@pytest.fixture
def store(server: Server) -> Iterator[RemoteStore]:
    with Store.connect(server.url()) as store:
        assert isinstance(store, RemoteStore)
        yield store


def test_it_has_the_methods_of_a_store() -> None:
    def public(item: type) -> dict[str, object]:
        return {name: it for name, it in vars(item).items() if not name.startswith("_")}

    # A server has addresses where a directory has a path.
    local = set(public(Store)) - {"open", "connect", "path"}
    assert local <= set(public(RemoteStore))
    for name in local:
        method = public(RemoteStore)[name]
        if inspect.isfunction(method) and name != "inspect":
            real = inspect.signature(getattr(Store, name))
            assert list(inspect.signature(method).parameters) == list(real.parameters), name


def test_verdicts_are_those_of_a_local_store(store: RemoteStore, tmp_path: Path) -> None:
    keys = LINKS + LINKS[:100] + [link.encode() for link in LINKS[:100]]
    with Store(tmp_path / "local.dds", memory="1MiB", seed=store.seed) as local:
        assert store.filter == local.filter
        assert store.observe_many(keys) == local.observe_many(keys)
        assert store.contains_many(["new", *LINKS]) == local.contains_many(["new", *LINKS])
        assert store.fingerprint("a") == local.fingerprint("a")
        hashed = array("Q", range(1, 9000))
        assert store.observe_fingerprints(hashed) == local.observe_fingerprints(hashed)
        assert store.contains_fingerprints(hashed) == local.contains_fingerprints(hashed)
        assert store.sequence == local.sequence
    assert store.observe_many([]) == []
    assert store.observe("one") is Verdict.NEW
    assert store.observe(b"one") is Verdict.SEEN
    assert store.contains("one").is_seen and "two" not in store
    assert store.inspect()["live_new"] >= 10_000 - 10
    with pytest.raises(ServerError, match="cannot"):
        store.forget("one")


def test_claims_are_recorded_by_their_commit(store: RemoteStore, server: Server) -> None:
    claim = store.claim("page")
    assert claim.is_new and store.claim("page").is_pending
    with Store.connect(server.url()) as other:
        assert other.claim("page").is_pending
        store.commit(claim)
        assert other.claim("page").is_seen
        with pytest.raises(InvalidArgumentError, match="not claimed"):
            store.commit(claim)
        store.abort(store.claim("given back"))
        assert other.claim("given back").is_new
        # Claims end with the connection.
        assert other.claim("lost").is_new
    while not (again := store.claim("lost")).is_new:
        pass
    store.commit(again.fingerprint)
    many = array("Q", (store.claim(link).fingerprint for link in LINKS[:50]))
    many.append(12345)
    assert store.commit_fingerprints(many) == 50
    assert all(verdict.is_seen for verdict in store.contains_many(LINKS[:50]))


def test_what_was_answered_survives_a_kill(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        store = Store.connect(server.url())
        assert store.observe("kept").is_new
        claim = store.claim("claimed")
        server.process.kill()
        server.process.wait()
        with pytest.raises(ConnectionFailedError):
            store.observe("other")
        with pytest.raises(ConnectionFailedError, match="dedupstore serve"):
            store.observe("other")
    with serve(tmp_path, port=server.port):
        # The same object connects again; its claims are over.
        assert store.observe("kept").is_seen
        with pytest.raises(InvalidArgumentError, match="not claimed"):
            store.commit(claim)
        assert store.claim("claimed").is_new
    store.close()


def test_durability_can_be_waited_for(store: RemoteStore) -> None:
    store.observe_many(LINKS)
    store.wait_durable()
    assert store.durable_sequence == store.sequence == len(LINKS)
    store.flush()
    generation = store.inspect()["generation"]
    store.checkpoint()
    assert store.inspect()["generation"] > generation


def test_a_store_can_be_required_to_exist(server: Server) -> None:
    with pytest.raises(NotFoundError, match="no such store"):
        Store.connect(server.url("absent"), create=False)


def test_a_closed_store_raises(server: Server) -> None:
    with Store.connect(server.url()) as store:
        pass
    store.close()
    with pytest.raises(ClosedError):
        store.observe("a")


def test_threads_share_a_connection(store: RemoteStore) -> None:
    new: list[str] = []

    def observe() -> None:
        new.extend(link for link in LINKS[:300] if store.observe(link).is_new)

    threads = [threading.Thread(target=observe) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(new) == sorted(LINKS[:300])


def test_a_forked_process_connects_by_itself(store: RemoteStore) -> None:
    assert store.observe("parent").is_new
    child = os.fork()
    if child == 0:
        fine = store.observe("parent").is_seen and store.observe("child").is_new
        os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert store.observe("child").is_seen


def test_tls_unix_sockets_and_passwords(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    password = tmp_path / "password"
    password.write_text("s@cret\n")
    socket = tmp_path / "socket"
    options = ["--tls-cert", str(TLS / "certificate.pem"), "--tls-key", str(TLS / "key.pem")]
    options += ["--requirepass-file", str(password), "--unix", str(socket)]
    with serve(tmp_path / "stores", *options) as server:
        url = server.url(scheme="rediss", password="s%40cret")
        # The authority is not one that the system trusts.
        with pytest.raises(ConnectionFailedError, match="certificate"):
            Store.connect(url)
        context = ssl.create_default_context(cafile=str(TLS / "authority.pem"))
        with Store.connect(url, tls=context) as store:
            assert store.observe("a").is_new
            assert "cret" not in store.url and "cret" not in repr(store)
        monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "authority.pem"))
        with Store.connect(url) as store:
            assert store.observe("a").is_seen
        with pytest.raises(ServerError, match="PASSWORD"):
            Store.connect(server.url(scheme="rediss", password="wrong"))
        with pytest.raises(ServerError, match="PASSWORD"):
            Store.connect(f"redis+unix://{socket}?store=links")


def test_a_unix_socket_needs_no_port(tmp_path: Path) -> None:
    socket = tmp_path / "socket"
    with serve(tmp_path / "stores", "--unix", str(socket)):
        with Store.connect(f"redis+unix://{socket}?store=a%2Fb") as store:
            assert store.observe("a").is_new
            assert store.url == f"redis+unix://{socket}?store=a/b"


def test_normalization_of_the_store_applies(tmp_path: Path) -> None:
    Store(tmp_path / "links.dds", memory="1MiB", normalization="whatwg").close()
    with serve(tmp_path) as server, Store.connect(server.url()) as store:
        assert store.observe("http://harbour.example/a#b").is_new
        assert store.observe("HTTP://harbour.example:80/a").is_seen
        assert store.observe_many(["http://HARBOUR.example/a"])[0].is_seen
        rule = KeyHasher(store.seed, rule="whatwg")
        assert rule.fingerprint("HTTP://a.example") == KeyHasher(store.seed).fingerprint(
            "http://a.example/"
        )


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a/b", "redis://"),
        ("redis:///links", "host"),
        ("redis://a", "name of a store"),
        ("redis://a:x/links", "[Pp]ort"),
        ("redis+unix:///path", "store="),
    ],
)
def test_a_wrong_address_is_explained(url: str, expected: str) -> None:
    with pytest.raises(InvalidArgumentError, match=expected):
        Store.connect(url)


def test_a_peer_that_is_no_server_of_ours_is_refused() -> None:
    import socket

    for answer in [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"*99\r\n:1\r\n", b"$5\r\nhello\r\n", b""]:
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def respond(listener: socket.socket = listener, answer: bytes = answer) -> None:
                # `connect` asks first what the peer is, on a connection of its own.
                while True:
                    try:
                        peer, _ = listener.accept()
                    except OSError:
                        return
                    with peer:
                        peer.recv(1000)
                        peer.sendall(answer)

            thread = threading.Thread(target=respond, daemon=True)
            thread.start()
            port = listener.getsockname()[1]
            with pytest.raises((ConnectionFailedError, ServerError)):
                Store.connect(f"redis://127.0.0.1:{port}/links", timeout=10.0)
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
