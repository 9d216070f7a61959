"""Runs redis-server for a test, as one server or as a cluster."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 60.0


@dataclass
class RedisServer:
    """A redis-server that runs."""

    process: subprocess.Popen[bytes]
    port: int

    def url(self, store: str = "links", login: str = "") -> str:
        """Returns the address of a store."""
        return f"redis://{login}127.0.0.1:{self.port}/{store}"

    def call(self, *words: str) -> str:
        """Sends a command by redis-cli; returns what it prints."""
        command = ["redis-cli", "-h", "127.0.0.1", "-p", str(self.port), *words]
        called = subprocess.run(command, capture_output=True, text=True, check=True)
        return called.stdout


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def redis(directory: Path, *options: str) -> Iterator[RedisServer]:
    """Runs a server on a free port, which keeps nothing on disk."""
    program = shutil.which("redis-server")
    assert program is not None, "the tests need redis-server"
    directory.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", *options]
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < until
                time.sleep(0.01)
        yield RedisServer(process, port)
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def redis_cluster(directory: Path, masters: int = 3) -> Iterator[list[RedisServer]]:
    """Runs a cluster of masters."""
    with contextlib.ExitStack() as stack:
        servers = []
        for number in range(masters):
            options = ["--cluster-enabled", "yes", "--cluster-port", str(_free_port())]
            options += ["--cluster-require-full-coverage", "no"]
            servers.append(stack.enter_context(redis(directory / str(number), *options)))
        for number, server in enumerate(servers):
            first = number * 16384 // masters
            last = (number + 1) * 16384 // masters - 1
            server.call("CLUSTER", "ADDSLOTSRANGE", str(first), str(last))
            server.call("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
        bus = servers[0].call("CONFIG", "GET", "cluster-port").split()[-1]
        for server in servers[1:]:
            server.call("CLUSTER", "MEET", "127.0.0.1", str(servers[0].port), bus)
        until = time.monotonic() + PATIENCE
        for server in servers:
            known = f"cluster_known_nodes:{masters}"
            while not (
                "cluster_state:ok" in (state := server.call("CLUSTER", "INFO")) and known in state
            ):
                assert time.monotonic() < until, state
                time.sleep(0.02)
        yield servers
