"""The synchronous client: a thin shell that carries out the core's flows by httpx."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Concatenate, ParamSpec, TypeVar

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


def _flow(method: Callable[Concatenate[Core, P], Flow[T]]) -> Callable[Concatenate[Exchange, P], T]:
    @functools.wraps(method)
    def call(self: Exchange, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._carry_out(method(self.core, *args, **kwargs))

    return call


def _pages(method: Callable[Concatenate[Core, P], Pages[T]]) -> Callable[Concatenate[Exchange, P], Iterator[T]]:
    @functools.wraps(method)
    def call(self: Exchange, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self._iterate(method(self.core, *args, **kwargs))

    return call


def _watch(
    method: Callable[Concatenate[Core, P], Watch],
) -> Callable[Concatenate[Exchange, P], Iterator[StreamMessage | Gap]]:
    @functools.wraps(method)
    def call(self: Exchange, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[StreamMessage | Gap]:
        return self._follow(method(self.core, *args, **kwargs))

    return call


def _books(method: Callable[Concatenate[Core, P], BookWatch]) -> Callable[Concatenate[Exchange, P], Iterator[Book]]:
    @functools.wraps(method)
    def call(self: Exchange, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[Book]:
        return self._keep(method(self.core, *args, **kwargs))

    return call


class Exchange:
    """
    An exchange at an address, for one wallet or for reading only. Use it in a `with`, or close it. Threads may share
    it.
    """

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
        http: httpx.Client | None = None,
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
        self._http = http if http is not None else httpx.Client(limits=LIMITS)
        self._owns_http = http is None

    @property
    def address(self) -> str:
        """The signer's address."""
        return self.core.address

    def close(self) -> None:
        """Closes the connections."""
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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

    def _carry_out(self, flow: Flow[T]) -> T:
        try:
            effect = next(flow)
            while True:
                if isinstance(effect, Pause):
                    time.sleep(effect.seconds)
                    effect = next(flow)
                    continue
                try:
                    response = self._send(effect)
                except Unanswered as silence:
                    effect = flow.throw(silence)
                else:
                    effect = flow.send(response)
        except StopIteration as end:
            result: T = end.value
            return result

    def _send(self, effect: Send) -> Response:
        try:
            response = self._http.request(**arguments_of(self.url, effect))
        except httpx.RequestError as error:
            raise unanswered(error) from error
        return response_of(response, response.content)

    def _iterate(self, pages: Pages[T]) -> Iterator[T]:
        after: object | None = None
        while True:
            page = self._carry_out(pages.page(after))
            yield from page.items
            after = page.after
            if after is None:
                return

    def _follow(self, watch: Watch) -> Generator[StreamMessage | Gap, None, None]:
        while True:
            pause = yield from self._connection(watch)
            time.sleep(pause)

    def _connection(self, watch: Watch) -> Generator[StreamMessage | Gap, None, float]:
        """One connection. Returns the pause until the next one."""
        failure: Exception | None = None
        try:
            with self._http.stream(**stream_arguments_of(self.url, watch.request())) as response:
                pause = watch.connected(response_of(response, b"" if is_stream(response) else response.read()))
                if pause is not None:
                    return pause
                for piece in response.iter_bytes():
                    yield from watch.feed(piece)
        except httpx.RequestError as error:
            failure = error
        return watch.lost(lost_by(failure))

    def _keep(self, books: BookWatch) -> Iterator[Book]:
        while True:
            with closing(self._follow(books.watch)) as stream:
                for given in stream:
                    book = books.take(given)
                    if book is None:
                        break
                    yield book
