"""
What flows between the core and a shell: requests, answers and pauses. The core is generators that do no input or output
themselves.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """A request as it goes over the wire. Sent again, it is the same bytes."""

    method: str
    #: With its query.
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Response:
    """A whole answer. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def header(self, name: str) -> str | None:
        """The header's value; None without it."""
        return self.headers.get(name.lower())


@dataclass(frozen=True)
class Send:
    """The shell sends the request and gives its Response back, or throws Unanswered into the flow."""

    request: Request
    timeout_s: float


@dataclass(frozen=True)
class Pause:
    """The shell waits so long."""

    seconds: float


class Unanswered(Exception):
    """There was no whole answer. `sent`: the exchange may have got the request."""

    def __init__(self, reason: str, *, sent: bool) -> None:
        super().__init__(reason)
        self.sent = sent


#: A piece of work for a shell to carry out; it returns T.
Flow = Generator[Send | Pause, Response | None, T]


def send(request: Request, timeout_s: float) -> Flow[Response]:
    """Has the shell send a request once. Raises Unanswered."""
    answer = yield Send(request, timeout_s)
    if answer is None:
        raise TypeError("the shell gave no response")
    return answer


def get(path: str, query: Mapping[str, object] | None = None, headers: Mapping[str, str] | None = None) -> Request:
    """A read. Parameters that are None are left out."""
    given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
    return Request("GET", f"{path}?{urlencode(given)}" if given else path, headers=dict(headers or {}))


def post(path: str, body: Mapping[str, object], headers: Mapping[str, str] | None = None) -> Request:
    """A request with a JSON body. Fields that are None are left out."""
    given = {name: value for name, value in body.items() if value is not None}
    text = json.dumps(given, separators=(",", ":"), ensure_ascii=False)
    return Request("POST", path, text.encode(), {"Content-Type": "application/json", **(headers or {})})


def segment(text: object) -> str:
    """A text as one segment of a path, whatever is in it."""
    return quote(str(text), safe="")


def json_object(body: bytes) -> dict[str, Any] | None:
    """The object that the body is; None for anything else. Integers are exact at any size."""
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
