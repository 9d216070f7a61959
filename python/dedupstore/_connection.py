"""A connection to a server that speaks the Redis protocol (RESP2)."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from ._address import Address
from ._errors import ConnectionFailedError, Error, NotFoundError, ServerError

if TYPE_CHECKING:
    from ssl import SSLContext

# A reply; an error in an array is not raised.
Reply: TypeAlias = "bytes | int | None | Error | list[Reply]"

# So many requests are sent before the first of their replies is read. A server does not read from a
# client that does not read.
_AHEAD = 4
_READ = 1 << 18
# Longer lines and deeper arrays are not of a server of ours.
_LONGEST_LINE = 64 << 10
_DEEPEST = 8


class Connection:
    """A socket, and the bytes that have arrived."""

    def __init__(
        self, address: Address, *, timeout: float | None, tls: SSLContext | None
    ) -> None:
        self._address = address
        self._buffer = bytearray()
        self._at = 0
        try:
            self._socket = _connect(address, timeout, tls)
        except OSError as error:
            raise ConnectionFailedError(
                f"{address}: cannot connect: {error}; is `dedupstore serve` running there?"
            ) from error
        if address.password is not None:
            self.call(b"AUTH", address.password)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or broke."""
        return self._socket.fileno() < 0

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()

    def call(self, *arguments: bytes) -> Reply:
        """Sends a request; returns its reply. Raises an error reply."""
        [reply] = self.call_all([arguments])
        return reply

    def call_all(self, requests: Iterable[tuple[bytes, ...]]) -> list[Reply]:
        """Sends requests, several ahead; returns their replies. Raises the first error reply, after
        all of them have arrived."""
        replies: list[Reply] = []
        sent = 0
        try:
            for request in requests:
                if sent - len(replies) == _AHEAD:
                    replies.append(self._reply())
                self._send(request)
                sent += 1
            while len(replies) < sent:
                replies.append(self._reply())
        except BaseException:
            # Also after KeyboardInterrupt: the next reply would be taken for that of another request.
            self.close()
            raise
        for reply in replies:
            if isinstance(reply, Error):
                raise reply
        return replies

    def _send(self, arguments: tuple[bytes, ...]) -> None:
        parts = [b"*%d\r\n" % len(arguments)]
        for argument in arguments:
            parts += (b"$%d\r\n" % len(argument), argument, b"\r\n")
        try:
            self._socket.sendall(b"".join(parts))
        except OSError as error:
            raise self._broken(error) from error

    def _reply(self) -> Reply:
        reply = self._value(0)
        # Only what has not been read is kept.
        del self._buffer[: self._at]
        self._at = 0
        return reply

    def _value(self, depth: int) -> Reply:
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b":":
            return self._number(rest)
        if kind == b"+":
            return bytes(rest)
        if kind == b"-":
            return self._refusal(rest.decode("utf-8", "replace"))
        if kind == b"$":
            length = self._number(rest)
            return None if length < 0 else self._bulk(length)
        if kind == b"*" and depth < _DEEPEST:
            count = self._number(rest)
            return None if count < 0 else self._array(count, depth)
        raise self._broken(f"the server sent no valid reply: {line[:40]!r}")

    def _array(self, count: int, depth: int) -> list[Reply]:
        digits = self._digits(count)
        if digits is not None:
            return [digit - 48 for digit in digits]
        return [self._value(depth + 1) for _ in range(count)]

    def _digits(self, count: int) -> bytes | None:
        """Returns the elements of an array if all of them are integers of one digit, as verdicts
        are: that is much faster than one by one."""
        # Every element takes at least as much.
        self._wait(4 * count)
        end = self._at + 4 * count
        part = self._buffer[self._at : end]
        if part[0::4] != b":" * count or part[2::4] != b"\r" * count:
            return None
        self._at = end
        return bytes(part[1::4])

    def _number(self, text: bytes) -> int:
        try:
            return int(text)
        except ValueError:
            raise self._broken(f"the server sent no number: {text[:40]!r}") from None

    def _line(self) -> bytes:
        while (end := self._buffer.find(b"\r\n", self._at)) < 0:
            if len(self._buffer) - self._at > _LONGEST_LINE:
                raise self._broken("the server sent no valid reply")
            self._receive()
        line = bytes(self._buffer[self._at : end])
        self._at = end + 2
        return line

    def _bulk(self, length: int) -> bytes:
        self._wait(length + 2)
        text = bytes(self._buffer[self._at : self._at + length])
        self._at += length + 2
        return text

    def _wait(self, length: int) -> None:
        while len(self._buffer) < self._at + length:
            self._receive()

    def _receive(self) -> None:
        try:
            received = self._socket.recv(_READ)
        except OSError as error:
            raise self._broken(error) from error
        if not received:
            raise self._broken("the server has closed it")
        self._buffer += received

    def _refusal(self, text: str) -> Error:
        if text == "ERR not found":
            return NotFoundError(f"{self._address}: the server has no such store")
        if text.startswith(("NOAUTH", "WRONGPASS")):
            text += " Give it in the address: redis://:PASSWORD@host:port/store"
        return ServerError(f"{self._address}: the server answered: {text}")

    def _broken(self, reason: object) -> ConnectionFailedError:
        self.close()
        return ConnectionFailedError(f"{self._address}: the connection broke: {reason}")


def _connect(
    address: Address, timeout: float | None, tls: SSLContext | None
) -> socket.socket:
    if address.unix_path is not None:
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(timeout)
        connected.connect(address.unix_path)
        return connected
    connected = socket.create_connection((address.host, address.port), timeout)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if address.tls:
        import ssl

        context = tls or ssl.create_default_context()
        return context.wrap_socket(connected, server_hostname=address.host)
    return connected


def numbers(reply: Reply, count: int) -> Iterator[int]:
    """Yields the integers of an array; raises an error among them."""
    if not isinstance(reply, list) or len(reply) != count:
        raise ServerError(f"expected {count} numbers; the server answered {str(reply)[:80]}")
    for value in reply:
        if isinstance(value, Error):
            raise value
        if not isinstance(value, int):
            raise ServerError(f"expected a number; the server answered {str(value)[:80]}")
        yield value
