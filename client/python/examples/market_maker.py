"""
A market maker: it quotes both sides of YES around the last price, leans against what it holds, and leaves the book by
itself when it loses the exchange. It needs shares to sell and stablecoin to buy with: see whole_life.py for how a
wallet gets both.

    PRIVATE_KEY=0x… python market_maker.py http://127.0.0.1:8080 MARKET_ID
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress

from prediction_exchange import AsyncExchange, FileNonces, Gap, Order, Outcome, OutcomeUnknown, Refusal, Side, answers

HALF_SPREAD = 10_000
SIZE = 5_000_000
#: A quote this near to where it should be stays, and keeps its place in the book.
TOLERANCE = 5_000
#: How far the quotes lean for each whole share that is held.
LEAN = 200
#: Without a sign of life for so long, the exchange cancels everything.
LEASE_S = 30


class MarketMaker:
    """The quotes of one wallet in one market."""

    def __init__(self, exchange: AsyncExchange, market_id: str) -> None:
        self.exchange = exchange
        self.market_id = market_id
        self.price = 500_000
        self.held = 0
        #: The price of each open quote, by side and order hash.
        self.quotes: dict[Side, dict[str, int]] = {Side.BUY: {}, Side.SELL: {}}
        #: Of every order that was placed: one whose fill fails on the chain is open again.
        self.placed: dict[str, tuple[Side, int]] = {}
        self.turn = asyncio.Lock()

    async def run(self) -> None:
        """Quotes until it is cancelled."""
        await self.begin_anew()
        await asyncio.gather(self.stay_alive(), self.follow())

    async def stay_alive(self) -> None:
        """Renews the lease, and looks after the quotes while nothing happens."""
        while True:
            await self.exchange.cancel_after(LEASE_S)
            await self.quote()
            await asyncio.sleep(LEASE_S / 6)

    async def follow(self) -> None:
        """Takes what happens to the own orders and in the market, and moves the quotes."""
        channels = [f"orders:{self.exchange.address.lower()}", f"trades:{self.market_id}"]
        async for message in self.exchange.watch(channels):
            if isinstance(message, Gap):
                async with self.turn:
                    await self.begin_anew()
                continue
            self.take(message)
            await self.quote()

    def take(self, message: answers.StreamMessage) -> None:
        """Keeps the price, the holding and the quotes by one message."""
        if message["type"] == "trade":
            self.price = message["price"] if Outcome(message["outcome"]) is Outcome.YES else self.price
        elif message["type"] == "filled":
            self.hold(message["orderHash"], message["size"])
            if message["remainingSize"] == 0:
                self.forget([message["orderHash"]])
        elif message["type"] == "failed":
            self.hold(message["orderHash"], -message["size"])
        elif message["type"] == "cancelled":
            self.forget([message["orderHash"]])
        elif message["type"] == "reinstated" and message["orderHash"] in self.placed:
            side, price = self.placed[message["orderHash"]]
            self.quotes[side][message["orderHash"]] = price

    def hold(self, order_hash: str, size: int) -> None:
        """A fill of an own order: a bid adds to what is held, an ask takes from it."""
        if order_hash in self.placed:
            side, _ = self.placed[order_hash]
            self.held += size if side is Side.BUY else -size

    async def quote(self) -> None:
        """Brings the quotes to where they should be: cancels what is too far away, and places what is missing."""
        async with self.turn:
            centre = self.price - self.held * LEAN // 1_000_000
            wanted = {Side.BUY: centre - HALF_SPREAD, Side.SELL: centre + HALF_SPREAD}
            stale = [
                order_hash
                for side, quotes in self.quotes.items()
                for order_hash, price in quotes.items()
                if abs(price - wanted[side]) > TOLERANCE
            ]
            missing = [side for side, quotes in self.quotes.items() if not set(quotes) - set(stale)]
            try:
                if stale:
                    await self.exchange.cancel_many(stale)
                    self.forget(stale)
                if missing:
                    await self.place(missing, wanted)
            except OutcomeUnknown as unknown:
                print(f"begins anew: {unknown}", flush=True)
                await self.begin_anew()

    async def place(self, sides: list[Side], wanted: dict[Side, int]) -> None:
        """Places a quote for each side in one request."""
        prices = {side: min(999_999, max(1, wanted[side])) for side in sides}
        orders = [
            Order(self.market_id, side, Outcome.YES, prices[side], SIZE, expires_in=300, post_only=True)
            for side in sides
        ]
        for side, result in zip(sides, await self.exchange.place_batch(orders), strict=False):
            if isinstance(result, OutcomeUnknown):
                raise result
            if isinstance(result, Refusal):
                # It is tried again with the next message, or with the next sign of life.
                print(f"{side.name} at {prices[side]} is refused: {result}", flush=True)
            else:
                self.placed[result["orderHash"]] = side, prices[side]
                self.quotes[side][result["orderHash"]] = prices[side]
                print(f"{side.name} {SIZE} at {prices[side]}: {result['orderHash']}", flush=True)

    async def begin_anew(self) -> None:
        """Leaves the book, so that it is known again what is in it."""
        await self.exchange.cancel_all(self.market_id)
        for quotes in self.quotes.values():
            quotes.clear()

    def forget(self, order_hashes: list[str]) -> None:
        """They are not in the book any more."""
        for quotes in self.quotes.values():
            for order_hash in order_hashes:
                quotes.pop(order_hash, None)


async def main() -> None:
    """Makes the market that the command line names, until Ctrl-C."""
    _, url, market_id = sys.argv
    nonces = FileNonces(os.environ.get("NONCES", "market-maker.nonces"))
    async with AsyncExchange(url, signer=os.environ["PRIVATE_KEY"], nonces=nonces) as exchange:
        try:
            await MarketMaker(exchange, market_id).run()
        finally:
            # An order that is still on its way goes with the lease.
            await exchange.cancel_all(market_id)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
