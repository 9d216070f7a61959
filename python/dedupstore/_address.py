"""Addresses of servers: `redis://[user:password@]host[:port]/store`, `rediss://` for TLS, and
`redis+unix:///path?store=name`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from ._errors import InvalidArgumentError

_EXPECTED = "expected redis://host:port/store, rediss://… or redis+unix:///path?store=name"
_DEFAULT_PORT = 6379


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, and the name of a store there."""

    store: bytes
    host: str = ""
    port: int = _DEFAULT_PORT
    tls: bool = False
    unix_path: str | None = None
    password: bytes | None = None

    def __str__(self) -> str:
        """The address without its password."""
        store = self.store.decode("utf-8", "replace")
        if self.unix_path is not None:
            return f"redis+unix://{self.unix_path}?store={store}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"redis{'s' if self.tls else ''}://{host}:{self.port}/{store}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parses an address. A password that it lacks comes from the environment. Messages do not
        repeat the text, which may contain a password."""
        try:
            parts = urlsplit(text)
            port = parts.port or _DEFAULT_PORT
        except ValueError as error:
            raise InvalidArgumentError(f"the address of a server: {error}") from None
        if parts.scheme == "redis+unix":
            name, path = parts.query.removeprefix("store="), unquote(parts.path)
            if parts.netloc or not path or name == parts.query or not name:
                raise InvalidArgumentError(
                    "the address of a server: expected redis+unix:///path?store=name"
                )
            return cls(
                store=unquote_to_bytes(name), unix_path=path, password=_password_of_environment()
            )
        if parts.scheme not in ("redis", "rediss"):
            raise InvalidArgumentError(f"the address of a server: {_EXPECTED}")
        if not parts.hostname:
            raise InvalidArgumentError(f"the address of a server has no host; {_EXPECTED}")
        store = unquote_to_bytes(parts.path.removeprefix("/"))
        if not store:
            raise InvalidArgumentError(f"the address has no name of a store; {_EXPECTED}")
        # A text without a colon is a password as well.
        password = parts.username if parts.password is None else parts.password
        return cls(
            store=store,
            host=parts.hostname,
            port=port,
            tls=parts.scheme == "rediss",
            password=unquote_to_bytes(password) if password else _password_of_environment(),
        )


def _password_of_environment() -> bytes | None:
    if given := os.environ.get("DEDUPSTORE_PASSWORD"):
        return os.fsencode(given)
    if path := os.environ.get("DEDUPSTORE_PASSWORD_FILE"):
        return Path(path).read_bytes().rstrip(b"\r\n")
    return None
