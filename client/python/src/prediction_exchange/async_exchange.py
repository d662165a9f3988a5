"""The asynchronous client: a thin shell that carries out the core's flows by httpx."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from typing import Any, Concatenate, ParamSpec, TypeVar

import httpx

from .answers import StreamMessage
from .books import Book, BookWatch
from .core import Core
from .delivery import Clock, Patience
from .nonces import MemoryNonces, Nonces
from .reads import Pages
from .signing import Signer, signer_of
from .transport import LIMITS, arguments_of, base_of, is_stream, response_of, stream_arguments_of, unanswered
from .watching import Gap, Watch, lost_by
from .wire import Flow, Pause, Response, Send, Unanswered

P = ParamSpec("P")
T = TypeVar("T")


def _flow(
    method: Callable[Concatenate[Core, P], Flow[T]],
) -> Callable[Concatenate[AsyncExchange, P], Coroutine[Any, Any, T]]:
    @functools.wraps(method)
    def call(self: AsyncExchange, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return self._carry_out(method(self.core, *args, **kwargs))

    return call


def _pages(
    method: Callable[Concatenate[Core, P], Pages[T]],
) -> Callable[Concatenate[AsyncExchange, P], AsyncIterator[T]]:
    @functools.wraps(method)
    def call(self: AsyncExchange, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self._iterate(method(self.core, *args, **kwargs))

    return call


def _watch(
    method: Callable[Concatenate[Core, P], Watch],
) -> Callable[Concatenate[AsyncExchange, P], AsyncIterator[StreamMessage | Gap]]:
    @functools.wraps(method)
    def call(self: AsyncExchange, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[StreamMessage | Gap]:
        return self._follow(method(self.core, *args, **kwargs))

    return call


def _books(
    method: Callable[Concatenate[Core, P], BookWatch],
) -> Callable[Concatenate[AsyncExchange, P], AsyncIterator[Book]]:
    @functools.wraps(method)
    def call(self: AsyncExchange, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[Book]:
        return self._keep(method(self.core, *args, **kwargs))

    return call


class AsyncExchange:
    """An exchange at an address, for one wallet or for reading only. Use it in an `async with`, or close it."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        *,
        signer: str | Signer | None = None,
        token: str | None = None,
        nonces: Nonces | None = None,
        patience: Patience | None = None,
        clock: Clock | None = None,
        chain_id: int | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        """
        `signer` is a private key or whoever signs typed data, `token` the relayer's bearer token, `http` an own client
        of httpx, which stays open.
        """
        self.url = base_of(url)
        self.core = Core(
            None if signer is None else signer_of(signer),
            token,
            nonces or MemoryNonces(),
            patience or Patience(),
            clock or Clock(),
            chain_id,
        )
        self._http = http if http is not None else httpx.AsyncClient(limits=LIMITS)
        self._owns_http = http is None

    @property
    def address(self) -> str:
        """The signer's address."""
        return self.core.address

    async def close(self) -> None:
        """Closes the connections."""
        if self._owns_http:
            await self._http.aclose()

    async def __aenter__(self) -> AsyncExchange:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    config = _flow(Core.config)
    status = _flow(Core.status)
    sign = _flow(Core.sign)
    place = _flow(Core.place)
    place_signed = _flow(Core.place_signed)
    check = _flow(Core.check)
    place_batch = _flow(Core.place_batch)
    cancel = _flow(Core.cancel)
    cancel_many = _flow(Core.cancel_many)
    cancel_all = _flow(Core.cancel_all)
    cancel_after = _flow(Core.cancel_after)
    reduce = _flow(Core.reduce)
    resend = _flow(Core.resend)
    funds = _flow(Core.funds)
    approve = _flow(Core.approve)
    permit = _flow(Core.permit)
    split = _flow(Core.split)
    merge = _flow(Core.merge)
    redeem = _flow(Core.redeem)
    redeem_many = _flow(Core.redeem_many)
    propose = _flow(Core.propose)
    settle = _flow(Core.settle)
    nonces_due = _flow(Core.nonces_due)
    market = _flow(Core.market)
    market_stats = _flow(Core.market_stats)
    platform_stats = _flow(Core.platform_stats)
    ticker = _flow(Core.ticker)
    orderbook = _flow(Core.orderbook)
    resolution = _flow(Core.resolution)
    order = _flow(Core.order)
    position = _flow(Core.position)
    account = _flow(Core.account)
    sync_position = _flow(Core.sync_position)
    settlement = _flow(Core.settlement)
    quick_market = _flow(Core.quick_market)
    price = _flow(Core.price)
    price_history = _flow(Core.price_history)
    markets = _pages(Core.markets)
    holders = _pages(Core.holders)
    market_activity = _pages(Core.market_activity)
    trades = _pages(Core.trades)
    candles = _pages(Core.candles)
    open_orders = _pages(Core.open_orders)
    user_orders = _pages(Core.user_orders)
    positions = _pages(Core.positions)
    user_activity = _pages(Core.user_activity)
    payouts = _pages(Core.payouts)
    pending_trades = _pages(Core.pending_trades)
    failed_trades = _pages(Core.failed_trades)
    pending_claims = _pages(Core.pending_claims)
    failed_claims = _pages(Core.failed_claims)
    quick_markets = _pages(Core.quick_markets)
    price_candles = _pages(Core.price_candles)
    events = _pages(Core.events)
    watch = _watch(Core.watch)
    book = _books(Core.book)

    async def _carry_out(self, flow: Flow[T]) -> T:
        try:
            effect = next(flow)
            while True:
                if isinstance(effect, Pause):
                    await asyncio.sleep(effect.seconds)
                    effect = next(flow)
                    continue
                try:
                    response = await self._send(effect)
                except Unanswered as silence:
                    effect = flow.throw(silence)
                else:
                    effect = flow.send(response)
        except StopIteration as end:
            result: T = end.value
            return result

    async def _send(self, effect: Send) -> Response:
        try:
            response = await self._http.request(**arguments_of(self.url, effect))
        except httpx.RequestError as error:
            raise unanswered(error) from error
        return response_of(response, response.content)

    async def _iterate(self, pages: Pages[T]) -> AsyncIterator[T]:
        after: object | None = None
        while True:
            page = await self._carry_out(pages.page(after))
            for item in page.items:
                yield item
            after = page.after
            if after is None:
                return

    async def _follow(self, watch: Watch) -> AsyncGenerator[StreamMessage | Gap, None]:
        while True:
            failure: Exception | None = None
            pause: float | None = None
            try:
                async with self._http.stream(**stream_arguments_of(self.url, watch.request())) as response:
                    pause = watch.connected(
                        response_of(response, b"" if is_stream(response) else await response.aread())
                    )
                    if pause is None:
                        async for piece in response.aiter_bytes():
                            for given in watch.feed(piece):
                                yield given
            except httpx.RequestError as error:
                failure = error
            await asyncio.sleep(watch.lost(lost_by(failure)) if pause is None else pause)

    async def _keep(self, books: BookWatch) -> AsyncIterator[Book]:
        while True:
            async with aclosing(self._follow(books.watch)) as stream:
                async for given in stream:
                    book = books.take(given)
                    if book is None:
                        break
                    yield book
