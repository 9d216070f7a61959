"""`Store.connect`: finds out what answers at an address."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ._address import Address
from ._cluster import ClusterStore
from ._engine import server_kind
from ._errors import ConnectionFailedError, ServerError
from ._remote import RemoteStore

if TYPE_CHECKING:
    from ssl import SSLContext


def connect(
    url: str, *, create: bool, timeout: float | None, tls: SSLContext | None
) -> RemoteStore | ClusterStore:
    """Connects to a store on a server of `dedupstore serve`, or on Redis or Valkey."""
    address = Address.parse(url)
    kind = "serve"
    if address.unix_path is None and tls is None:
        # If it cannot be asked, the client of `serve` finds the same, and says why.
        with contextlib.suppress(ConnectionFailedError, ServerError):
            kind = server_kind(url)
    if kind == "redis":
        return ClusterStore(url, create=create, timeout=timeout)
    return RemoteStore(url, create=create, timeout=timeout, tls=tls)

