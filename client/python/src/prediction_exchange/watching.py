"""
The streams: from bytes to messages, and the proof that none is missing. Connects again where the connection is lost.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from .answers import StreamMessage
from .delivery import Clock, Patience, is_worth_repeating, refusal_in, retry_after_in
from .errors import ExchangeError, Refusal, TransportError
from .wire import Request, Response, get

#: The exchange writes every 15 s at least. Without anything for so long the connection is taken for lost.
SILENCE_S = 45.0
#: A process that is a moment behind may not have the position yet. After so many times the exchange has another
#: history, or less of it.
_NOT_RECORDED_TIMES = 5


@dataclass(frozen=True)
class Gap:
    """
    Messages of a channel may be missing here: the message that follows says that it comes after `previous`, and the
    last one that was received is `received`. What was kept of the channel is to be read anew.
    """

    channel: str
    received: int
    previous: int
    #: Of the message that follows.
    position: int


class EventParser:
    """
    Server-sent events from pieces of any size: each event's data, None where there is only an id, and the last id.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._data: list[str] = []
        self._id: str | None = None
        self._told_id: str | None = None

    def feed(self, piece: bytes) -> list[tuple[str | None, str | None]]:
        """The events that are whole now, each with the id as of its end."""
        text = self._rest + self._decoder.decode(piece)
        # A carriage return at the end may be the half of a line's end.
        held = "\r" if text.endswith("\r") else ""
        lines = (text[:-1] if held else text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = lines.pop() + held
        events: list[tuple[str | None, str | None]] = []
        for line in lines:
            self._take(line, events)
        return events

    def _take(self, line: str, events: list[tuple[str | None, str | None]]) -> None:
        if line == "":
            if self._data or self._id != self._told_id:
                events.append(("\n".join(self._data) if self._data else None, self._id))
            self._data = []
            self._told_id = self._id
            return
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value


@dataclass
class Watch:
    """
    A stream of channels across connections, without input and output: a shell asks for the request, gives the answer's
    head and its pieces, and tells when the connection is lost. Messages of one position are given together.
    """

    channels: Sequence[str]
    #: The last position that the caller has; None begins now, with books as snapshots.
    start: int | None = None
    patience: Patience = field(default_factory=Patience)
    clock: Clock = field(default_factory=Clock)
    #: Seconds without a connection after which TransportError is raised; None: never.
    give_up_after: float | None = None
    #: The position from which on everything comes that was not given yet.
    _anchor: int | None = field(default=None, init=False)
    _last: dict[str, int] = field(default_factory=dict, init=False)
    _burst: list[dict[str, Any]] = field(default_factory=list, init=False)
    _parser: EventParser = field(default_factory=EventParser, init=False)
    _attempt: int = field(default=0, init=False)
    _lost_at: float | None = field(default=None, init=False)
    _not_recorded: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._anchor = self.start

    def request(self) -> Request:
        """The request of the next connection."""
        self._burst = []
        self._parser = EventParser()
        headers = {"Accept": "text/event-stream"}
        if self._anchor is not None:
            headers["Last-Event-ID"] = str(self._anchor)
        return get("/api/v1/stream", {"channels": ",".join(self.channels)}, headers)

    def connected(self, response: Response) -> float | None:
        """
        Takes an answer's head; of one that is no stream the whole answer. Returns None where the pieces follow, else
        the pause until the next connection. Raises Refusal where another connection would be refused, too.
        """
        if response.status == 200 and (response.header("Content-Type") or "").startswith("text/event-stream"):
            self._lost_at = None
            self._not_recorded = 0
            told = response.header("X-Log-Position") or ""
            # Where snapshots come first, the stream has begun once they are here.
            if (
                self._anchor is None
                and told.isascii()
                and told.isdecimal()
                and not any(self._opens(channel) for channel in self.channels)
            ):
                self._anchor = int(told)
            return None
        refusal = refusal_in(get("/api/v1/stream"), response)
        if refusal is None:
            raise TransportError("the stream was answered with something else", status=response.status)
        self._not_recorded = (
            self._not_recorded + 1 if isinstance(refusal, Refusal) and refusal.code == "not_recorded_yet" else 0
        )
        if not is_worth_repeating(refusal, changes=False) and not 0 < self._not_recorded <= _NOT_RECORDED_TIMES:
            raise refusal
        return max(self.lost(refusal), retry_after_in(response) or 0.0)

    def feed(self, piece: bytes) -> Iterator[StreamMessage | Gap]:
        """The messages and gaps that are whole now."""
        for data, event_id in self._parser.feed(piece):
            if data is not None:
                yield from self._take(data)
            self._believe(event_id)

    def lost(self, reason: Exception) -> float:
        """
        The connection is lost: returns the pause until the next one. Raises TransportError when that has gone on for
        too long.
        """
        now = self.clock.elapsed()
        self._lost_at = now if self._lost_at is None else self._lost_at
        if self.give_up_after is not None and now - self._lost_at >= self.give_up_after:
            raise TransportError(
                f"the stream could not be connected for {self.give_up_after:g} s: {reason}"
            ) from reason
        pause = self.patience.pause(self._attempt, self.clock.chance())
        self._attempt += 1
        return pause

    def begin_anew(self) -> None:
        """Forgets what was received: the next connection begins now, with snapshots."""
        self._anchor = None
        self._last.clear()
        self._burst = []

    def _take(self, data: str) -> Iterator[StreamMessage | Gap]:
        message = _message_in(data)
        if message["type"] == "error":
            # The exchange says why it ends the stream: another connection goes on, or is refused itself.
            self._burst = []
            return
        self._burst.append(message)
        if message.get("more") is True:
            return
        burst, self._burst = self._burst, []
        for each in burst:
            gap = self._gap_before(each)
            self._last[each["channel"]] = each["position"]
            if gap is not None:
                yield gap
            yield cast(StreamMessage, each)

    def _gap_before(self, message: Mapping[str, Any]) -> Gap | None:
        """What is missing before the message, if that cannot be excluded. A snapshot stands for everything up to it."""
        channel, position, previous = message["channel"], message["position"], message["previous"]
        if message["type"] == "snapshot":
            return None
        received = self._last.get(channel)
        if received is None:
            # The first message of the channel: what came before the beginning was not asked for.
            if self._anchor is None or previous <= self._anchor:
                return None
            received = self._anchor
        return None if previous == received else Gap(channel, received, previous, position)

    def _believe(self, event_id: str | None) -> None:
        if event_id is not None and event_id.isascii() and event_id.isdecimal() and not self._burst:
            self._anchor = max(int(event_id), -1 if self._anchor is None else self._anchor)
            # Only a stream that comes on makes the next pause short again.
            self._attempt = 0

    @staticmethod
    def _opens(channel: str) -> bool:
        return channel.startswith(("book:", "prices:"))


def lost_by(error: Exception | None) -> ExchangeError:
    """Why a connection was lost."""
    return TransportError("the stream ended" if error is None else f"the connection was lost: {error}")


def _message_in(data: str) -> dict[str, Any]:
    try:
        message = json.loads(data)
    except ValueError:
        message = None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise TransportError(f"the stream has what is no message: {data[:200]}")
    if message["type"] == "error":
        return message
    is_told = isinstance(message.get("channel"), str) and all(
        type(message.get(name)) is int for name in ("position", "previous")
    )
    if not is_told:
        raise TransportError(f"the stream has a message without channel, position or previous: {data[:200]}")
    return message
