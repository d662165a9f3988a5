"""The stream: events from pieces, messages of one position together, gaps, and where the next connection begins."""

from __future__ import annotations

import json
from typing import Any

import pytest
from driving import MARKET, Driver, refusal

from prediction_exchange import BadArgument, Gap, Level, Outcome, Refusal, TransportError
from prediction_exchange.books import Book
from prediction_exchange.core import Core
from prediction_exchange.watching import EventParser, Watch
from prediction_exchange.wire import Response

BOOK, TRADES = f"book:{MARKET}", f"trades:{MARKET}"
STREAM = Response(200, {"content-type": "text/event-stream; charset=utf-8", "x-log-position": "9"}, b"")


def event(message: dict[str, Any], event_id: int | None = None) -> bytes:
    return (
        ("" if event_id is None else f"id: {event_id}\n").encode() + b"data: " + json.dumps(message).encode() + b"\n\n"
    )


def heartbeat(position: int) -> bytes:
    return f": {position}\nid: {position}\n\n".encode()


def trade(position: int, previous: int, *, more: bool = False, channel: str = TRADES) -> bytes:
    message = {
        "channel": channel,
        "position": position,
        "previous": previous,
        "type": "trade",
        "at": 1,
        **({"more": True} if more else {}),
    }
    return event(message, None if more else position)


def snapshot(position: int, *, more: bool = False) -> bytes:
    side = {
        "bids": [{"price": 500_000, "size": 3}, {"price": 510_000, "size": 1}],
        "asks": [{"price": 600_000, "size": 2}],
    }
    message = {
        "channel": BOOK,
        "position": position,
        "previous": position,
        "type": "snapshot",
        "at": 1,
        "yes": side,
        "no": {"bids": [], "asks": []},
        **({"more": True} if more else {}),
    }
    return event(message, None if more else position)


def begun(*channels: str, start: int | None = None, **given: Any) -> Watch:
    driver = Driver()
    watch = Watch(channels, start, driver.patience, driver.clock, **given)
    watch.request()
    assert watch.connected(STREAM) is None
    return watch


def again(watch: Watch) -> str | None:
    """Connects again; returns the position that the request begins after."""
    watch.lost(TransportError("cut"))
    told = watch.request().headers.get("Last-Event-ID")
    watch.connected(STREAM)
    return told


def what(given: Any) -> Any:
    return given if isinstance(given, Gap) else (given["position"], given["type"])


def fed(watch: Watch, *pieces: bytes) -> list[Any]:
    return [what(each) for piece in pieces for each in watch.feed(piece)]


def test_events_are_the_same_in_pieces_of_any_size() -> None:
    text = 'retry: 2000\n\n: 7\nid: 7\r\n\r\ndata: {"a":\ndata: "é💧"}\nid: 8\n\ndata:x\r\rid: 9\n\n'.encode()
    whole = EventParser().feed(text)
    assert whole == [(None, "7"), ('{"a":\n"é💧"}', "8"), ("x", "8"), (None, "9")]
    for size in (1, 2, 3, 7):
        parser = EventParser()
        assert [each for i in range(0, len(text), size) for each in parser.feed(text[i : i + size])] == whole


def test_messages_in_order_have_no_gap() -> None:
    watch = begun(TRADES)
    assert fed(watch, heartbeat(9), trade(12, 7), trade(14, 12), trade(15, 14)) == [
        (12, "trade"),
        (14, "trade"),
        (15, "trade"),
    ]
    assert again(watch) == "15"
    assert fed(watch, trade(16, 15)) == [(16, "trade")]


def test_a_gap_stands_before_the_message_that_shows_it() -> None:
    watch = begun(TRADES)
    assert fed(watch, trade(12, 7), trade(16, 14)) == [(12, "trade"), Gap(TRADES, 12, 14, 16), (16, "trade")]
    assert fed(watch, trade(17, 16)) == [(17, "trade")], "the gap is told once"


def test_the_first_message_of_a_channel_must_come_after_the_beginning() -> None:
    assert fed(begun(TRADES, start=20), trade(25, 20)) == [(25, "trade")]
    assert fed(begun(TRADES, start=20), trade(25, 3)) == [(25, "trade")]
    assert fed(begun(TRADES, start=20), trade(25, 22)) == [Gap(TRADES, 20, 22, 25), (25, "trade")]
    assert fed(begun(TRADES, start=-1), trade(2, 0)) == [Gap(TRADES, -1, 0, 2), (2, "trade")]
    assert fed(begun(TRADES), trade(25, 9)) == [(25, "trade")]
    assert fed(begun(TRADES), trade(25, 10)) == [Gap(TRADES, 9, 10, 25), (25, "trade")], (
        "the head of the answer has the beginning"
    )


def test_channels_have_their_own_order() -> None:
    watch = begun(TRADES, "markets")
    assert fed(watch, trade(12, 7), trade(13, 2, channel="markets"), trade(14, 12)) == [
        (12, "trade"),
        (13, "trade"),
        (14, "trade"),
    ]


def test_messages_of_one_position_are_given_once_all_are_there() -> None:
    watch = begun(TRADES)
    assert fed(watch, trade(12, 7, more=True), trade(12, 12, more=True)) == []
    assert fed(watch, trade(12, 12)) == [(12, "trade")] * 3


def test_half_a_position_is_dropped_with_its_connection_and_comes_again() -> None:
    watch = begun(TRADES)
    assert fed(watch, trade(10, 7), trade(12, 10, more=True), b"id: 12\nda") == [(10, "trade")]
    assert again(watch) == "10"
    assert fed(watch, trade(12, 10, more=True), trade(12, 12)) == [(12, "trade")] * 2


def test_heartbeats_move_the_beginning_but_prove_nothing() -> None:
    watch = begun(TRADES)
    assert fed(watch, trade(12, 7), heartbeat(30)) == [(12, "trade")]
    assert again(watch) == "30"
    assert fed(watch, trade(35, 31)) == [Gap(TRADES, 12, 31, 35), (35, "trade")]


def test_a_stream_with_snapshots_begins_anew_until_they_are_here() -> None:
    watch = begun(BOOK, TRADES)
    assert fed(watch, snapshot(4, more=True)) == []
    assert again(watch) is None
    assert fed(watch, snapshot(4) + heartbeat(9) + trade(12, 8)) == [(4, "snapshot"), (12, "trade")]
    assert again(watch) == "12"


def test_a_stream_from_a_position_says_so_from_the_first_connection() -> None:
    watch = begun(BOOK, start=3)
    assert again(watch) == "3"


def test_a_stream_that_the_exchange_ends_goes_on_with_the_next_connection() -> None:
    watch = begun(TRADES)
    assert fed(watch, trade(12, 7, more=True), event({"type": "error", "code": "too_slow", "error": "…"})) == []
    assert again(watch) == "9"
    assert fed(watch, trade(12, 7, more=True), trade(12, 12)) == [(12, "trade")] * 2


@pytest.mark.parametrize(
    "data",
    [
        b"data: {}\n\n",
        b"data: nonsense\n\n",
        b'data: {"type":"trade"}\n\n',
        b'data: {"type":"trade","channel":"x","position":"1","previous":0}\n\n',
    ],
)
def test_what_is_no_message_is_an_error(data: bytes) -> None:
    with pytest.raises(TransportError, match="the stream has"):
        fed(begun(TRADES), data)


@pytest.mark.parametrize("channels", ["markets", [], ()])
def test_channels_are_a_list(channels: Any) -> None:
    with pytest.raises(BadArgument, match="channels are a list"):
        Core().watch(channels)


def test_answers_that_are_no_stream() -> None:
    watch = begun(TRADES, give_up_after=30.0)
    assert watch.connected(refusal(503, "overloaded", Retry_After="4")) == 4.0
    for _ in range(5):
        assert watch.connected(refusal(404, "not_recorded_yet")) is not None
    with pytest.raises(Refusal, match="404 not_recorded_yet"):
        watch.connected(refusal(404, "not_recorded_yet"))
    with pytest.raises(Refusal, match="404 unknown_market"):
        watch.connected(refusal(404, "unknown_market"))
    with pytest.raises(TransportError):
        watch.connected(Response(200, {"content-type": "text/html"}, b"{}"))


def test_pauses_grow_and_end_where_the_caller_says() -> None:
    driver = Driver()
    watch = Watch([TRADES], None, driver.patience, driver.clock, 6.0)
    pauses = []
    with pytest.raises(TransportError, match="could not be connected for 6 s"):
        while True:
            pauses.append(watch.lost(TransportError("refused")))
            driver.elapsed += pauses[-1]
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2]


def test_a_book_is_kept() -> None:
    book = Book(MARKET)
    watch = begun(BOOK)
    change = {
        "channel": BOOK,
        "position": 11,
        "previous": 4,
        "type": "change",
        "at": 1,
        "levels": [
            {"outcome": 0, "side": 0, "price": 510_000, "size": 0},
            {"outcome": 0, "side": 1, "price": 590_000, "size": 7},
            {"outcome": 1, "side": 0, "price": 100, "size": 5},
            {"outcome": 1, "side": 1, "price": 100, "size": 0},
        ],
    }
    for given in watch.feed(snapshot(4) + event(change, 11)):
        assert not isinstance(given, Gap)
        book.apply(given)
    assert (book.bids(), book.asks()) == ([Level(500_000, 3)], [Level(590_000, 7), Level(600_000, 2)])
    assert (book.best_bid(), book.best_ask(), book.position) == (Level(500_000, 3), Level(590_000, 7), 11)
    assert (book.bids(Outcome.NO), book.best_ask(Outcome.NO)) == ([Level(100, 5)], None)
