"""Runs `dedupstore serve` for a test."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TLS = Path(__file__).parents[2] / "tests" / "clients" / "tls"


@dataclass
class Server:
    """A server that runs."""

    process: subprocess.Popen[str]
    port: int

    def url(self, store: str = "links", scheme: str = "redis", password: str = "") -> str:
        """Returns the address of a store."""
        before = f":{password}@" if password else ""
        return f"{scheme}://{before}localhost:{self.port}/{store}"


@contextlib.contextmanager
def serve(directory: Path, *options: str, port: int = 0) -> Iterator[Server]:
    """Serves the stores of a directory on a free port, unless one is given."""
    command = [os.environ["DEDUPSTORE"], "serve", str(directory), "--memory", "1MiB"]
    process = subprocess.Popen(
        [*command, "--listen", f"127.0.0.1:{port}", *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if "listening address=127.0.0.1:" in line:
            break
    else:
        raise AssertionError("".join(seen))
    # It must be able to write its log.
    drain = threading.Thread(target=process.stderr.read, daemon=True)
    drain.start()
    try:
        yield Server(process, int(line.rsplit(":", 1)[1]))
    finally:
        process.terminate()
        process.wait()
        drain.join()
        process.stderr.close()
