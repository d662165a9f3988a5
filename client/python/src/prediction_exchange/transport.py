"""httpx as both shells use it: its requests and answers, and what its errors say of a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from .errors import BadArgument
from .watching import SILENCE_S
from .wire import Request, Response, Send, Unanswered

#: A pool for many requests at once; a stream keeps one connection.
LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=4.0)
#: Errors after which the request has certainly not left.
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)


def base_of(url: str) -> str:
    """The exchange's address without a slash at its end. Raises BadArgument for what is none."""
    try:
        parsed = urlsplit(url)
        is_address = parsed.scheme in ("http", "https") and bool(parsed.hostname) and parsed.port != 0
    except (ValueError, TypeError, AttributeError):
        is_address = False
    if not is_address:
        raise BadArgument(f"{url!r} is no address of an exchange: it begins with http:// or https:// and a host")
    return url.rstrip("/")


def arguments_of(base: str, effect: Send) -> dict[str, Any]:
    """The arguments of httpx for a request."""
    request = effect.request
    return {
        "method": request.method,
        "url": base + request.path,
        "content": request.body,
        "headers": dict(request.headers),
        "timeout": effect.timeout_s,
        "follow_redirects": False,
    }


def stream_arguments_of(base: str, request: Request) -> dict[str, Any]:
    """The arguments of httpx for a stream, which is read until it is silent for too long."""
    return {
        "method": request.method,
        "url": base + request.path,
        "headers": dict(request.headers),
        "follow_redirects": False,
        "timeout": httpx.Timeout(10.0, read=SILENCE_S),
    }


def response_of(response: httpx.Response, body: bytes) -> Response:
    """The answer for the core."""
    return Response(response.status_code, _lowered(response.headers), body)


def is_stream(response: httpx.Response) -> bool:
    """Whether the body comes piece by piece and has no end."""
    return response.status_code == 200 and response.headers.get("Content-Type", "").startswith("text/event-stream")


def unanswered(error: httpx.RequestError) -> Unanswered:
    """What an error of httpx says of the request."""
    return Unanswered(str(error) or type(error).__name__, sent=not isinstance(error, _NEVER_SENT))


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
