"""A synthetic site on real HTTP: numbered pages that link to each other."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Iterator


class Site:
    """Pages 0 to `pages` - 1, all reachable from page 0. A page in `broken` closes the connection,
    one in `unavailable` answers 503, one in `moved` redirects to another page, and one in `missing`
    answers 404."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.broken: set[int] = set()
        self.unavailable: set[int] = set()
        self.missing: set[int] = set()
        self.moved: dict[int, int] = {}
        self.served: Counter[int] = Counter()
        self.port = 0

    def url(self, page: int = 0) -> str:
        """Returns the address of a page."""
        return f"http://127.0.0.1:{self.port}/{page}"

    def links(self, page: int) -> list[int]:
        """A tree in which every page has three children, and a few links across it."""
        children = [3 * page + branch for branch in (1, 2, 3)]
        across = [(page * 7 + 11) % self.pages, (page * 31 + 5) % self.pages, page // 2]
        return [link for link in children if link < self.pages] + across

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].split(b"?")[0].strip(b"/")
                page = int(path) if path.isdigit() else -1
                self.served[page] += 1
                if page in self.broken:
                    break
                status, extra, body = "200 OK", "", ""
                if page in self.unavailable:
                    status = "503 Service Unavailable"
                elif page in self.missing or not 0 <= page < self.pages:
                    status = "404 Not Found"
                elif page in self.moved:
                    status, extra = "302 Found", f"Location: /{self.moved[page]}\r\n"
                else:
                    body = "".join(f'<a href="/{link}">x</a>' for link in self.links(page))
                text = body.encode()
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{extra}"
                    f"Content-Length: {len(text)}\r\n\r\n".encode()
                    + text
                )
                await writer.drain()
        writer.close()

    @contextlib.contextmanager
    def serve(self) -> Iterator[Site]:
        """Serves the site on a free port of this machine, in a thread."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        start = asyncio.start_server(self._answer, "127.0.0.1", 0)
        server = asyncio.run_coroutine_threadsafe(start, loop).result()
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            loop.call_soon_threadsafe(server.close)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
