"""
A server that plays faults: cut connections, lost answers, 503 with Retry-After, streams that break off. What works is
played by the real one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Play:
    """What happens to a request."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    #: The connection is cut without an answer, or within it.
    cut: bool = False
    is_stream: bool = False


@dataclass(frozen=True)
class Seen:
    """A request that has arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class FaultyServer:
    """Plays one fault for each request; the last one for all that follow."""

    url: str
    plays: deque[Play]
    seen: list[Seen]


@contextmanager
def faulty_server(*plays: Play) -> Iterator[FaultyServer]:
    """Runs such a server while the block runs."""
    left, seen, lock = deque(plays), [], threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _play(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with lock:
                seen.append(
                    Seen(self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body)
                )
                play = left.popleft() if len(left) > 1 else left[0]
            if play.cut and not play.is_stream:
                self.close_connection = True
                return
            self.send_response(play.status)
            for name, value in {"Content-Type": "application/json", **play.headers}.items():
                self.send_header(name, value)
            if not play.is_stream:
                self.send_header("Content-Length", str(len(play.body)))
            else:
                self.send_header("Connection", "close")
                self.close_connection = True
            self.end_headers()
            self.wfile.write(play.body)

        do_GET = do_POST = do_DELETE = _play

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield FaultyServer(f"http://127.0.0.1:{server.server_address[1]}", left, seen)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
