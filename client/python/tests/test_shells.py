"""
Both shells over real connections: they have every operation of the core, and go through the same faults in the same
way.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from driving import CONFIG, KEY, MARKET
from faulty_server import FaultyServer, Play, faulty_server
from test_watching import TRADES, heartbeat, trade

from prediction_exchange import (
    AsyncExchange,
    BadArgument,
    Exchange,
    Gap,
    Order,
    Outcome,
    OutcomeUnknown,
    Patience,
    Refusal,
    Side,
    TransportError,
)
from prediction_exchange.core import Core

#: Long enough for the slowest machine; the pauses are short.
QUICK = Patience(resend_for=120.0, attempt=60.0, first_pause=0.001, longest_pause=0.002)
#: The pause after the first attempt would be longer than the time.
ONCE = Patience(resend_for=60.0, attempt=60.0, first_pause=120.0, longest_pause=120.0)
BID = Order(MARKET, Side.BUY, Outcome.YES, "0.62", "1")
PLACED = {"orderHash": "0x12", "status": "accepted", "matches": 0, "timestamp": 1}


def playing(body: Any, status: int = 200, **headers: str) -> Play:
    return Play(status, json.dumps(body).encode(), {name.replace("_", "-"): value for name, value in headers.items()})


CUT = Play(cut=True)
BUSY = playing({"code": "overloaded", "error": "busy", "status": 503}, 503, Retry_After="0")

#: Carries out one method of an exchange, in one shell or the other; lists what it gives.
Caller = Callable[..., Any]


def sync_call(url: str, name: str, *args: Any, take: int = 0, **given: Any) -> Any:
    with Exchange(url, signer=KEY, patience=given.pop("patience", QUICK)) as exchange:
        result = getattr(exchange, name)(*args, **given)
        if not inspect.isgenerator(result):
            return result
        return [each for _, each in zip(range(take), result, strict=False)] if take else list(result)


def async_call(url: str, name: str, *args: Any, take: int = 0, **given: Any) -> Any:
    async def run() -> Any:
        async with AsyncExchange(url, signer=KEY, patience=given.pop("patience", QUICK)) as exchange:
            result = getattr(exchange, name)(*args, **given)
            if isinstance(result, Awaitable):
                return await result
            found = []
            async for each in result:
                found.append(each)
                if len(found) == take:
                    await result.aclose()
                    break
            return found

    return asyncio.run(run())


both = pytest.mark.parametrize("call", [sync_call, async_call])


def bodies(server: FaultyServer) -> list[bytes]:
    return [seen.body for seen in server.seen if seen.method == "POST"]


def test_both_shells_have_every_operation_of_the_core() -> None:
    operations = {name for name, _ in inspect.getmembers(Core, inspect.isfunction) if not name.startswith("_")}
    for shell in (Exchange, AsyncExchange):
        own = {name for name, _ in inspect.getmembers(shell, inspect.isfunction) if not name.startswith("_")}
        assert operations - own == set()
        assert own - operations == {"close"}


@both
def test_a_lost_answer_and_a_busy_exchange_get_the_same_bytes_again(call: Caller) -> None:
    with faulty_server(playing(CONFIG), CUT, BUSY, Play(200, b'{"orderHash"'), playing(PLACED)) as server:
        assert call(server.url, "place", BID) == PLACED
    assert len(bodies(server)) == 4
    assert len(set(bodies(server))) == 1


@both
def test_the_outcome_is_unknown_past_the_deadline(call: Caller) -> None:
    with faulty_server(playing(CONFIG), CUT) as server, pytest.raises(OutcomeUnknown):
        call(server.url, "place", BID, patience=ONCE)


@both
def test_nobody_there_is_told_as_such(call: Caller) -> None:
    with faulty_server(playing(CONFIG)) as server:
        pass
    with pytest.raises(TransportError):
        call(server.url, "status", patience=ONCE)


@both
def test_pages_are_an_iterator(call: Caller) -> None:
    with faulty_server(playing({"trades": [1, 2], "nextCursor": "a"}), BUSY, playing({"trades": [3]})) as server:
        assert call(server.url, "trades", MARKET) == [1, 2, 3]


@both
def test_a_stream_that_breaks_off_goes_on_where_it_was(call: Caller) -> None:
    def streaming(body: bytes, *, cut: bool = False) -> Play:
        return Play(200, body, {"Content-Type": "text/event-stream", "X-Log-Position": "9"}, is_stream=True, cut=cut)

    with faulty_server(
        streaming(heartbeat(9) + trade(12, 7) + trade(13, 12, more=True)),
        BUSY,
        CUT,
        streaming(trade(13, 12, more=True) + trade(13, 13)),
        streaming(trade(20, 17)),
    ) as server:
        given = call(server.url, "watch", [TRADES], take=5)
    assert [each if isinstance(each, Gap) else each["position"] for each in given] == [
        12,
        13,
        13,
        Gap(TRADES, 13, 17, 20),
        20,
    ]
    assert [seen.headers.get("last-event-id") for seen in server.seen][:5] == [None, "12", "12", "12", "13"]


@both
def test_a_stream_that_is_refused_raises(call: Caller) -> None:
    with faulty_server(playing({"code": "unknown_market", "error": "no such market", "status": 404}, 404)) as server:
        with pytest.raises(Refusal, match="unknown_market"):
            call(server.url, "watch", [TRADES], take=1)


@pytest.mark.parametrize("url", ["", "127.0.0.1:8080", "ftp://x", "http://", "http://[", 5])
def test_an_address_that_is_none_is_refused(url: Any) -> None:
    with pytest.raises(BadArgument):
        Exchange(url)
