"""
Calls every operation of the client once on a real exchange: paths, bodies, signatures and keys of lists are what the
exchange takes. No test of pytest's: test/client/python-kills.clients.test.ts runs it.

    KEY=0x… TOKEN=pex_… python everything.py URL MARKET_ID
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from prediction_exchange import Exchange, Order, Outcome, OutcomeUnknown, Refusal, Side
from prediction_exchange.core import Core


class Recorded:
    """An exchange that knows which of its operations were called."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.called: set[str] = set()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        self.called.add(name)
        operation: Callable[..., Any] = getattr(self._exchange, name)
        return operation


def trade(exchange: Any, market_id: str) -> str:
    """Everything that changes something. Returns the hash of an order that is filled."""
    assert exchange.funds()["collateral"] >= 10_000_000_000
    assert exchange.permit("20", spender="conditionalTokens").is_done
    with ThreadPoolExecutor() as pool:
        # Both are signed with the same nonce at first.
        assert all(done.is_done for done in pool.map(lambda amount: exchange.split(market_id, amount), ("12", "8")))
    assert exchange.merge(market_id, "5").is_done
    assert exchange.permit().is_done
    assert exchange.approve().is_done
    assert exchange.approve().tx_hash == "", "it is so already"
    ask = Order(market_id, Side.SELL, Outcome.YES, "0.9", "10")
    signed = exchange.sign(ask)
    placed = exchange.place_signed(signed)
    assert placed["orderHash"] == signed.order_hash
    assert exchange.place_signed(signed)["orderStatus"] == "open"
    assert exchange.resend(OutcomeUnknown("", signed.request))["orderStatus"] == "open"
    assert exchange.reduce(placed["orderHash"], "4")["size"] == 4_000_000
    assert exchange.order(placed["orderHash"])["remainingSize"] == 4_000_000, "it reads its own writes"
    bid = Order(market_id, Side.BUY, Outcome.NO, 100_000, 1_000_000, post_only=True, self_trade="cancel_newer")
    killed = Order(market_id, Side.BUY, Outcome.YES, 1, "1", time_in_force="FOK")
    late = Order(market_id, Side.BUY, Outcome.YES, 1, "1", not_after=1)
    first, second, *refused = exchange.place_batch([bid, bid, killed, late])
    assert [each.code for each in refused] == ["not_filled", "too_late"]
    cancelled, unknown = exchange.cancel_many([first["orderHash"], "0x" + "00" * 32])
    assert (cancelled["status"], unknown.code) == ("cancelled", "unknown_order")
    assert exchange.cancel(second["orderHash"], market_id)["remainingSize"] == 1_000_000
    assert exchange.cancel_after(60)["status"] == "armed"
    assert exchange.cancel_after(0)["status"] == "disarmed"
    assert exchange.cancel_all(market_id)["cancelled"] == 1
    assert exchange.cancel_all()["cancelled"] == 0
    assert exchange.check(ask)["accepted"]
    return str(placed["orderHash"])


def read(exchange: Any, market_id: str, order_hash: str) -> None:
    """Every read."""
    assert exchange.config()["chains"][0]["relayer"]
    assert exchange.status()["status"]
    assert exchange.market(market_id)["state"] == "open"
    assert exchange.market_stats(market_id)["marketId"] == market_id
    assert exchange.platform_stats()["chains"]
    assert exchange.ticker(market_id)["no"]
    assert exchange.orderbook(market_id)["yes"]["asks"] == exchange.orderbook(market_id, outcome=Outcome.YES)["asks"]
    assert exchange.resolution(market_id)["resolved"] is False
    assert exchange.order(order_hash)["history"]
    assert exchange.position(market_id)["yesShares"] == 15_000_000
    assert exchange.account()["available"]
    assert exchange.sync_position(market_id)["success"]
    assert exchange.settlement("0x" + "00" * 32)["found"] is False
    assert exchange.quick_market("BTC")["asset"] == "BTC"
    assert exchange.price("BTC")["price"] > 0
    assert exchange.price_history("BTC")["history"]
    assert int(exchange.nonces_due(market_id=market_id)["owner"]) > 0
    assert [message["type"] for message, _ in zip(exchange.watch(["markets"], start=-1), "1", strict=False)] == [
        "opened"
    ]
    assert next(exchange.book(market_id)).market_id == market_id
    lists: dict[str, Iterator[Any]] = {
        "markets": exchange.markets(state="open", sort="newest", page_size=1),
        "holders": exchange.holders(market_id, page_size=1),
        "positions": exchange.positions(page_size=1),
        "price_candles": exchange.price_candles("BTC", interval="1m", page_size=1),
        "events": exchange.events(page_size=50),
        "filtered events": exchange.events(event="OrderAccepted", trader=exchange.address, page_size=1),
    }
    for name, entries in lists.items():
        assert list(entries), name
    for may_be_empty in (
        exchange.market_activity(market_id),
        exchange.trades(market_id),
        exchange.candles(market_id),
        exchange.open_orders(),
        exchange.user_orders(),
        exchange.quick_markets("BTC", page_size=1),
        exchange.user_activity(),
        exchange.payouts(),
        exchange.pending_trades(),
        exchange.failed_trades(),
        exchange.pending_claims(),
        exchange.failed_claims(),
    ):
        list(may_be_empty)


def refused(exchange: Any, market_id: str) -> None:
    """What only an expired or a resolved market takes, which whole_life.py goes through."""
    operations: dict[str, Callable[[], object]] = {
        "propose": lambda: exchange.propose(market_id, Outcome.YES),
        "settle": lambda: exchange.settle(market_id, Outcome.YES),
        "redeem": lambda: exchange.redeem(market_id),
        "redeem_many": lambda: exchange.redeem_many([market_id]),
    }
    for name, operation in operations.items():
        with pytest.raises(Refusal, match=r"MarketNotExpired|NoProposal|not resolved yet") as caught:
            operation()
        assert caught.value.code in ("relay_target_refused", "relay_would_revert"), name


def main() -> None:
    """Calls everything on the exchange and the market that the command line names."""
    _, url, market_id = sys.argv
    with Exchange(url, signer=os.environ["KEY"], token=os.environ["TOKEN"]) as exchange:
        recorded = Recorded(exchange)
        order_hash = trade(recorded, market_id)
        read(recorded, market_id, order_hash)
        refused(recorded, market_id)
        operations = {name for name in vars(Exchange) if not name.startswith("_") and hasattr(Core, name)}
        # `place` is `sign` and `place_signed`.
        assert operations - recorded.called == {"place"}, operations - recorded.called
    print(f"{len(operations)} operations")


if __name__ == "__main__":
    main()
