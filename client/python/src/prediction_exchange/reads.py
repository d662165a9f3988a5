"""All reads. Each includes the own writes; lists that can grow are read page by page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, cast

from . import answers
from .errors import TransportError
from .orders import Outcome
from .session import Session, body_of
from .wire import Flow, Response, get, post, segment

T = TypeVar("T")
Interval = Literal["1m", "5m", "15m", "1h", "1d"]
MarketState = Literal["open", "expired", "proposed", "disputed", "resolved", "all"]

PAGE = 100


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some entries of a list, and what leads to the next ones; None at the list's end."""

    items: list[T]
    after: object | None


@dataclass(frozen=True)
class Pages(Generic[T]):
    """A list that is read page by page: `page` is the flow that reads one. A shell makes an iterator of it."""

    page: Callable[[object | None], Flow[Page[T]]]


class Reads(Session):
    """The flows that read."""

    def status(self) -> Flow[answers.TradingStatus]:
        """Whether orders are taken, and if not, why; and when none are going to be taken."""
        return cast(answers.TradingStatus, (yield from self._read("/api/v1/status")))

    def markets(
        self,
        *,
        query: str | None = None,
        category: str | None = None,
        state: MarketState | None = None,
        sort: Literal["newest", "expiration", "volume"] | None = None,
        chain_id: int | None = None,
        page_size: int = PAGE,
    ) -> Pages[answers.Market]:
        """Markets by words of their question, by category and by state."""
        asked = {"query": query, "category": category, "state": state, "sort": sort, "chain_id": chain_id}
        return self._pages("/api/v1/markets", "markets", asked, page_size)

    def market(self, market_id: str) -> Flow[answers.Market]:
        """One market. Raises Refusal `unknown_market`."""
        return cast(answers.Market, (yield from self._read(f"/api/v1/markets/{segment(market_id)}")))

    def market_stats(self, market_id: str) -> Flow[answers.MarketStatistics]:
        """Volumes and the last price of a market."""
        return cast(answers.MarketStatistics, (yield from self._read(f"/api/v1/stats/{segment(market_id)}")))

    def platform_stats(self, *, chain_id: int | None = None) -> Flow[dict[str, Any]]:
        """Volume and trades of the platform, per chain and in total, or of one chain."""
        return (yield from self._read("/api/v1/platform/stats", {"chain_id": chain_id}))

    def ticker(self, market_id: str) -> Flow[answers.Ticker]:
        """Best prices, last prices and what has happened in 24 hours, for each outcome."""
        return cast(answers.Ticker, (yield from self._read(f"/api/v1/ticker/{segment(market_id)}")))

    def orderbook(
        self, market_id: str, *, outcome: Outcome | None = None, at: int | str | None = None
    ) -> Flow[answers.Orderbook]:
        """Price levels, now or as they were at a log position or time."""
        asked = {"outcome": None if outcome is None else int(outcome), "at": at}
        return cast(answers.Orderbook, (yield from self._read(f"/api/v1/orderbook/{segment(market_id)}", asked)))

    def resolution(self, market_id: str) -> Flow[answers.Resolution]:
        """Whether a market is expired, proposed, disputed, resolved, and who has won."""
        return cast(answers.Resolution, (yield from self._read(f"/api/v1/resolution/{segment(market_id)}")))

    def holders(self, market_id: str, *, page_size: int = PAGE) -> Pages[answers.Holder]:
        """Who holds shares of a market, the largest holders first."""
        return self._pages(f"/api/v1/holders/{segment(market_id)}", "topHolders", {}, page_size)

    def market_activity(self, market_id: str, *, page_size: int = PAGE) -> Pages[answers.MarketActivityEntry]:
        """Trades of a market, newest first."""
        return self._pages(f"/api/v1/activity/{segment(market_id)}", "activity", {}, page_size)

    def trades(self, market_id: str, *, page_size: int = PAGE) -> Pages[answers.Trade]:
        """Trades of a market with the outcome that was traded, newest first."""
        return self._pages(f"/api/v1/trades/{segment(market_id)}", "trades", {}, page_size)

    def candles(
        self,
        market_id: str,
        *,
        outcome: Outcome = Outcome.YES,
        interval: Interval = "1h",
        start: int | None = None,
        end: int | None = None,
        page_size: int = PAGE,
    ) -> Pages[answers.Candle]:
        """Candles of one outcome, of each interval in which there was a trade. `start` and `end` are Unix seconds."""
        asked = {"outcome": int(outcome), "interval": interval, "from": start, "to": end}
        return self._pages(f"/api/v1/candles/{segment(market_id)}", "candles", asked, page_size)

    def order(self, order_hash: str) -> Flow[answers.OrderWithHistory]:
        """One order, open or closed, with its history."""
        return cast(answers.OrderWithHistory, (yield from self._read(f"/api/v1/orders/{segment(order_hash)}")))

    def open_orders(
        self, trader: str | None = None, *, market_id: str | None = None, page_size: int = PAGE
    ) -> Pages[answers.OpenOrder]:
        """Open orders of a trader, the signer where none is named."""
        return self._pages(
            "/api/v1/orders", "orders", {"trader": trader or self.address, "market": market_id}, page_size
        )

    def user_orders(
        self, user: str | None = None, *, chain_id: int | None = None, page_size: int = PAGE
    ) -> Pages[answers.UserOpenOrder]:
        """All open orders of a user on a chain, with the questions of their markets."""
        return self._of_user(user, "orders", "orders", chain_id, page_size)

    def positions(
        self, user: str | None = None, *, chain_id: int | None = None, page_size: int = PAGE
    ) -> Pages[answers.UserPosition]:
        """What a user holds on a chain, and what it has cost."""
        return self._of_user(user, "positions", "positions", chain_id, page_size)

    def user_activity(
        self, user: str | None = None, *, chain_id: int | None = None, page_size: int = PAGE
    ) -> Pages[answers.UserTrade]:
        """Trades of a user on a chain, newest first."""
        return self._of_user(user, "activity", "activity", chain_id, page_size)

    def payouts(
        self, user: str | None = None, *, chain_id: int | None = None, page_size: int = PAGE
    ) -> Pages[answers.Payout]:
        """What a user was paid for shares of resolved markets, newest first."""
        return self._of_user(user, "activity", "settlements", chain_id, page_size)

    def position(self, market: str, user: str | None = None) -> Flow[answers.Position]:
        """What a user holds in a market, by the market's id or contract address."""
        asked = {"user": user or self.address}
        return cast(answers.Position, (yield from self._read(f"/api/v1/positions/{segment(market)}", asked)))

    def account(self, user: str | None = None, *, chain_id: int | None = None) -> Flow[answers.Account]:
        """
        What a user owns and allows on a chain, how much of it orders and fills need, and until when the user is
        suspended.
        """
        chain = yield from self._chain(chain_id)
        path = f"/api/v1/users/{segment(user or self.address)}/account"
        return cast(answers.Account, (yield from self._read(path, {"chain_id": chain["chainId"]})))

    def sync_position(self, market: str, user: str | None = None) -> Flow[answers.PositionSync]:
        """Has the exchange read a user's balances from the chain, and returns the position."""
        request = post(f"/api/v1/positions/{segment(market)}/sync", {"userAddress": user or self.address})
        delivered = yield from self._write(request, "the synchronisation")
        return cast(answers.PositionSync, body_of(delivered.response))

    def settlement(self, tx_hash: str) -> Flow[dict[str, Any]]:
        """What a settlement transaction has settled; `found` is false for others."""
        return (yield from self._read(f"/api/v1/settlements/{segment(tx_hash)}"))

    def pending_trades(self, *, page_size: int = PAGE) -> Pages[answers.PendingTrade]:
        """Trades that wait for the chain."""
        return self._pages("/api/v1/pending-trades", "pendingTrades", {}, page_size)

    def failed_trades(self, *, page_size: int = PAGE) -> Pages[answers.FailedTrade]:
        """Trades of the last 24 hours that the chain has refused."""
        return self._pages("/api/v1/failed-trades", "failedTrades", {}, page_size)

    def pending_claims(self, *, page_size: int = PAGE) -> Pages[answers.PendingClaim]:
        """Redemptions that wait for the chain."""
        return self._pages("/api/v1/pending-claims", "pendingClaims", {}, page_size)

    def failed_claims(self, *, page_size: int = PAGE) -> Pages[answers.FailedClaim]:
        """Redemptions that failed on the chain."""
        return self._pages("/api/v1/failed-claims", "failedClaims", {}, page_size)

    def quick_market(self, asset: str, *, chain_id: int | None = None) -> Flow[answers.ActiveQuickMarket]:
        """The quick market of an asset that runs now."""
        return cast(
            answers.ActiveQuickMarket,
            (yield from self._read(f"/api/v1/quick-markets/{segment(asset)}", {"chain_id": chain_id})),
        )

    def quick_markets(
        self, asset: str, *, chain_id: int | None = None, page_size: int = PAGE
    ) -> Pages[answers.PastQuickMarket]:
        """Quick markets of an asset that have begun, newest first."""
        return self._pages(
            f"/api/v1/quick-markets/{segment(asset)}/history", "history", {"chain_id": chain_id}, page_size
        )

    def price(self, asset: str) -> Flow[answers.PriceRecord]:
        """The price of an asset now."""
        return cast(answers.PriceRecord, (yield from self._read(f"/api/v1/prices/{segment(asset)}")))

    def price_history(self, asset: str) -> Flow[answers.PriceHistory]:
        """Prices of the last 20 minutes, oldest first."""
        return cast(answers.PriceHistory, (yield from self._read(f"/api/v1/prices/{segment(asset)}/history")))

    def price_candles(
        self,
        asset: str,
        *,
        interval: Interval = "1h",
        start: int | None = None,
        end: int | None = None,
        page_size: int = PAGE,
    ) -> Pages[answers.PriceCandle]:
        """Candles of an asset's price."""
        asked = {"interval": interval, "from": start, "to": end}
        return self._pages(f"/api/v1/prices/{segment(asset)}/candles", "candles", asked, page_size)

    def events(
        self,
        *,
        start: int = 0,
        market_id: str | None = None,
        trader: str | None = None,
        event: str | None = None,
        page_size: int = PAGE,
    ) -> Pages[answers.HistoryEntry]:
        """The recorded history from a log position on, up to its present end."""

        def page(after: object | None) -> Flow[Page[answers.HistoryEntry]]:
            asked = {
                "from": start if after is None else after,
                "limit": page_size,
                "market": market_id,
                "trader": trader,
                "event": event,
            }
            response = yield from self._read_response(get("/api/v1/events", asked))
            body = body_of(response)
            items, following = _list_in(body, "events"), body.get("next")
            # A filtered page may be empty before the end.
            is_last = not items and (
                not isinstance(following, int) or following > _position_of(response, following - 1)
            )
            return Page(items, None if is_last else following)

        return Pages(page)

    def _of_user(self, user: str | None, what: str, key: str, chain_id: int | None, page_size: int) -> Pages[Any]:
        def page(after: object | None) -> Flow[Page[Any]]:
            chain = yield from self._chain(chain_id)
            path = f"/api/v1/users/{segment(user or self.address)}/{what}"
            return (yield from self._page(path, key, {"chain_id": chain["chainId"]}, page_size, after))

        return Pages(page)

    def _pages(self, path: str, key: str, asked: Mapping[str, object], page_size: int) -> Pages[Any]:
        return Pages(lambda after: self._page(path, key, asked, page_size, after))

    def _page(
        self, path: str, key: str, asked: Mapping[str, object], page_size: int, after: object | None
    ) -> Flow[Page[Any]]:
        body = yield from self._read(path, {**asked, "limit": page_size, "cursor": after})
        following = body.get("nextCursor")
        if following is not None and following == after:
            raise TransportError(f"the page of {path} after {after} leads to itself")
        return Page(_list_in(body, key), following)


def _list_in(body: Mapping[str, Any], key: str) -> list[Any]:
    found = body.get(key)
    if not isinstance(found, list):
        raise TransportError(f"an answer that should have {key} has none")
    return found


def _position_of(response: Response, default: int) -> int:
    told = response.header("X-Log-Position") or ""
    return int(told) if told.isascii() and told.isdecimal() else default
