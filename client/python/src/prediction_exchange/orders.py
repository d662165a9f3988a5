"""
Orders: placed, checked, cancelled, reduced. What is signed is signed once, and the same bytes are sent until they are
answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Literal, TypedDict, cast

from .amounts import UINT64_MAX, UINT256_MAX, Amount, base_units
from .answers import CancelledAll, CancelledOrder, Chain, CheckedOrder, PlacedOrder, ReducedOrder, Switch
from .delivery import NOT_TAKEN, is_worth_repeating
from .errors import BadArgument, ExchangeError, OutcomeUnknown, Refusal
from .session import Session, body_of, bytes32
from .wire import Flow, Pause, Request, Response, post, segment

ZERO_ADDRESS = "0x" + "0" * 40
#: Stands for all markets of a chain.
ALL_MARKETS = "0x" + "0" * 64
MOST_PER_BATCH = 15

TimeInForce = Literal["GTC", "FOK", "FAK"]
SelfTrade = Literal["cancel_older", "cancel_newer"]


class Funds(TypedDict):
    """What a wallet has that was given test money. Only a development stack has the endpoint, so its document alone."""

    address: str
    chainId: int
    #: Test stablecoin, in base units.
    collateral: int
    #: The coin that pays for gas, in wei, as a decimal text.
    native: str
    status: Literal["confirmed", "pending"]
    #: Empty where the wallet had enough.
    txHash: str


class Side(IntEnum):
    BUY = 0
    SELL = 1


class Outcome(IntEnum):
    YES = 0
    NO = 1


@dataclass(frozen=True)
class Order:
    """A limit order as its trader means it. The client adds what else is signed: trader, nonce, expiration."""

    market_id: str
    side: Side
    outcome: Outcome
    #: Of one share in stablecoin, between 0 and 1.
    price: Amount
    #: Shares.
    size: Amount
    #: Unix seconds; None: `expires_in` from now by the exchange's time.
    expiration: int | None = None
    #: Seconds, at least 60.
    expires_in: int = 3_600
    #: None: the next one of the client's nonces.
    nonce: int | None = None
    #: GTC rests, FOK matches as a whole or not at all, FAK cancels what does not match at once.
    time_in_force: TimeInForce = "GTC"
    #: Refused with `would_match` where it would match at once.
    post_only: bool = False
    #: Milliseconds since the epoch: refused with `too_late` after that.
    not_after: int | None = None
    #: Which of two orders of the same trader is cancelled when they meet.
    self_trade: SelfTrade = "cancel_older"
    #: An ERC-2612 permit of this amount goes with the order: who buys needs no approval before.
    permit: Amount | None = None


@dataclass(frozen=True)
class SignedOrder:
    """An order that is signed, and the body that is sent as often as it takes."""

    order_hash: str
    body: Mapping[str, Any]

    @property
    def request(self) -> Request:
        return post("/api/v1/orders", self.body)


#: What became of an order of a batch.
Placing = PlacedOrder | Refusal | OutcomeUnknown


class Orders(Session):
    """The flows about orders."""

    def sign(self, order: Order) -> Flow[SignedOrder]:
        """
        Signs an order without sending it. `place_signed` sends it, also after a restart: its hash and its bytes stay
        the same.
        """
        chain, fields = yield from self._fields(order)
        signed = yield from self._signed(chain, "order", fields)
        permit = None if order.permit is None else (yield from self._permit(chain, order.permit))
        body = {"order": _wire(fields), "signature": signed.text, **_terms(order)}
        return SignedOrder(signed.digest, body if permit is None else {**body, "permitSignature": permit})

    def place(self, order: Order) -> Flow[PlacedOrder]:
        """
        Signs an order once, and sends it until it is answered. Raises BadArgument before anything is sent, Refusal, and
        OutcomeUnknown, which has the order's hash, when the deadline passes without an answer.
        """
        signed = yield from self.sign(order)
        return (yield from self.place_signed(signed))

    def place_signed(self, order: SignedOrder) -> Flow[PlacedOrder]:
        """
        Sends a signed order until it is answered. One that was accepted before gets its first answer, with
        `orderStatus`.
        """
        delivered = yield from self._write(order.request, f"order {order.order_hash}", order_hash=order.order_hash)
        return cast(PlacedOrder, body_of(delivered.response))

    def check(self, order: Order) -> Flow[CheckedOrder]:
        """
        What the order would do as the next one, or in `refusal` why it would be refused. Nothing is signed or recorded.
        """
        _, fields = yield from self._fields(order)
        body = {"order": _wire(fields), **_terms(order)}
        response = yield from self._read_response(post("/api/v1/orders/check", body))
        return cast(CheckedOrder, body_of(response))

    def place_batch(self, orders: Iterable[Order]) -> Flow[list[Placing]]:
        """
        Places 1 to 15 orders in one append. Each has a result of its own, in their order: its answer, its refusal,
        or that its outcome is not known. What has no final answer is sent again by itself, the same bytes, until the
        deadline. Raises BadArgument for another number, and what the whole request was refused with.
        """
        wanted = list(orders)
        if not 1 <= len(wanted) <= MOST_PER_BATCH:
            raise BadArgument(f"a batch has 1 to {MOST_PER_BATCH} orders, not {len(wanted)}")
        signed: list[SignedOrder] = []
        for order in wanted:
            signed.append((yield from self.sign(order)))
        results: dict[int, Placing] = {}
        deadline = self.clock.elapsed() + self.patience.resend_for
        left, attempt = list(range(len(signed))), 0
        while left:
            time_left = replace(self.patience, resend_for=max(0.0, deadline - self.clock.elapsed()))
            request = post("/api/v1/orders/batch", {"orders": [signed[i].body for i in left]})
            try:
                delivered = yield from self._write(request, "the batch", patience=time_left)
                results.update(zip(left, _results_in(delivered.response, request, len(left)), strict=False))
            except OutcomeUnknown as unknown:
                results.update({i: _unknown_order(signed[i], str(unknown)) for i in left})
                break
            except ExchangeError:
                if not results:
                    raise
                # What came first is known, so the caller gets it, and what stood in the way of the rest before.
            left = [i for i in left if _is_open(results[i])]
            pause = self.patience.pause(attempt, self.clock.chance())
            attempt += 1
            if self.clock.elapsed() + pause >= deadline:
                break
            if left:
                yield Pause(pause)
        for i in left:
            result = results[i]
            if isinstance(result, Refusal) and result.code not in NOT_TAKEN:
                results[i] = _unknown_order(signed[i], str(result))
        return [results[i] for i in range(len(signed))]

    def cancel(self, order_hash: str, market_id: str) -> Flow[CancelledOrder]:
        """
        Cancels one order. One that is cancelled already gets the same answer; one that is filled raises
        `already_filled`.
        """
        chain = yield from self._chain(market_id=market_id)
        deadline = self._deadline()
        message = {"orderHash": bytes32(order_hash, "order_hash"), "trader": self.address, "deadline": deadline}
        signed = yield from self._signed(chain, "cancel", message)
        headers = {"X-Cancel-Signature": signed.text, "X-Cancel-Deadline": str(deadline)}
        request = Request(
            "DELETE", f"/api/v1/orders/{segment(order_hash)}?marketId={segment(market_id)}", headers=headers
        )
        delivered = yield from self._write(request, f"the cancel of {order_hash}", order_hash=order_hash)
        return cast(CancelledOrder, body_of(delivered.response))

    def cancel_many(
        self, order_hashes: Sequence[str], *, chain_id: int | None = None
    ) -> Flow[list[CancelledOrder | Refusal]]:
        """
        Cancels up to 100 orders by one signature. Each has a result of its own: its answer, or why it was not
        cancelled.
        """
        chain = yield from self._chain(chain_id)
        hashes = [bytes32(order_hash, "an order hash") for order_hash in order_hashes]
        message = {"orderHashes": hashes, "trader": self.address, "deadline": self._deadline()}
        request = yield from self._request(chain, "cancel", "cancel-orders", message)
        delivered = yield from self._write(request, "the cancels")
        return _results_in(delivered.response, request, len(hashes))

    def cancel_all(self, market_id: str | None = None, *, chain_id: int | None = None) -> Flow[CancelledAll]:
        """Cancels all open orders in a market, or on the chain. From the answer on none of them trades."""
        chain = yield from self._chain(chain_id, market_id)
        while True:
            # A signed request takes effect once: two cancels in one second must not be the same one.
            self._last_deadline = max(self._deadline(), self._last_deadline + 1)
            message = {"trader": self.address, "marketId": market_id or ALL_MARKETS, "deadline": self._last_deadline}
            request = yield from self._request(chain, "cancel-all", "cancel-all", message)
            delivered = yield from self._write(request, "the cancel of all orders")
            # Answered as a repeat though it was sent once: another process of this wallet has signed the same request.
            if delivered.attempts > 1 or delivered.response.header("Idempotent-Replayed") != "true":
                return cast(CancelledAll, body_of(delivered.response))

    def cancel_after(self, seconds: int, *, chain_id: int | None = None) -> Flow[Switch]:
        """
        A dead man's switch: all open orders on the chain are cancelled after so many seconds, unless this is called
        again. 0 disarms.
        """
        chain = yield from self._chain(chain_id)
        message = {"trader": self.address, "seconds": seconds, "deadline": max(self._deadline(), self._last_deadline)}
        request = yield from self._request(chain, "cancel-after", "cancel-after", message)
        delivered = yield from self._write(request, "cancel-after")
        return cast(Switch, body_of(delivered.response))

    def reduce(self, order_hash: str, size: Amount, *, chain_id: int | None = None) -> Flow[ReducedOrder]:
        """
        Makes an open order smaller; it keeps its place in the book. `size` is that of the whole order, its filled part
        included.
        """
        chain = yield from self._chain(chain_id)
        units = base_units(size, "size", least=1, most=UINT64_MAX)
        message = {
            "orderHash": bytes32(order_hash, "order_hash"),
            "trader": self.address,
            "size": units,
            "deadline": self._deadline(),
        }
        signed = yield from self._signed(chain, "reduce", message)
        body = {"size": str(units), "deadline": str(message["deadline"]), "signature": signed.text}
        request = post(f"/api/v1/orders/{segment(order_hash)}/reduce", body)
        delivered = yield from self._write(request, f"the reduction of {order_hash}", order_hash=order_hash)
        return cast(ReducedOrder, body_of(delivered.response))

    def funds(self, address: str | None = None, *, chain_id: int | None = None) -> Flow[Funds]:
        """Test money and gas for a wallet, the signer where none is named. Only a development stack has any."""
        chain = yield from self._chain(chain_id)
        request = post("/api/v1/dev/funds", {"address": address or self.address, "chainId": chain["chainId"]})
        return cast(Funds, body_of((yield from self._write(request, "the test money")).response))

    def resend(self, unknown: OutcomeUnknown) -> Flow[dict[str, Any]]:
        """
        Sends the request of an OutcomeUnknown again, the same bytes, until the next deadline. Returns the body of its
        answer; raises what the method raises that it comes from.
        """
        delivered = yield from self._write(unknown.request, str(unknown), order_hash=unknown.order_hash)
        return body_of(delivered.response)

    def _request(self, chain: Chain, name: str, action: str, message: Mapping[str, Any]) -> Flow[Request]:
        """A signed request about several orders."""
        signed = yield from self._signed(chain, action, message)
        body = {**message, "deadline": str(message["deadline"]), "signature": signed.text, "chainId": chain["chainId"]}
        return post(f"/api/v1/orders/{name}", body)

    def _fields(self, order: Order) -> Flow[tuple[Chain, dict[str, Any]]]:
        """The order's fields as they are signed."""
        price = base_units(order.price, "price", least=1, most=999_999)
        size = base_units(order.size, "size", least=1, most=UINT64_MAX)
        if order.post_only and order.time_in_force != "GTC":
            raise BadArgument("a post-only order rests, so it is GTC")
        try:
            side, outcome = Side(order.side), Outcome(order.outcome)
        except ValueError as error:
            raise BadArgument(f"the order's side or outcome is none: {error}") from error
        trader = self.address
        chain = yield from self._chain(market_id=order.market_id)
        return chain, {
            "marketId": order.market_id,
            "trader": trader,
            "side": int(side),
            "outcome": int(outcome),
            "price": price,
            "size": size,
            "nonce": self.nonces.next() if order.nonce is None else order.nonce,
            "expiration": self._server_time() + order.expires_in if order.expiration is None else order.expiration,
            "makerFeeRecipient": ZERO_ADDRESS,
        }

    def _permit(self, chain: Chain, amount: Amount) -> Flow[dict[str, Any]]:
        """A signed permit for the settlement contract, with the nonce that is due."""
        value = base_units(amount, "permit", most=UINT256_MAX)
        nonces = yield from self._read(f"/api/v1/users/{segment(self.address)}/nonces", {"chain_id": chain["chainId"]})
        deadline = self._server_time() + 3_600
        message = {
            "owner": self.address,
            "spender": chain["contracts"]["settlement"],
            "value": value,
            "nonce": int(nonces["token"]),
            "deadline": deadline,
        }
        signed = yield from self._signed(chain, "usdc-permit", message)
        return {"nonce": nonces["token"], "value": str(value), "deadline": str(deadline), **signed.vrs}


def _wire(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What may be beyond 2^31 goes as a decimal text."""
    return {
        **fields,
        "size": str(fields["size"]),
        "nonce": str(fields["nonce"]),
        "expiration": str(fields["expiration"]),
    }


def _terms(order: Order) -> dict[str, Any]:
    """The terms that are not the defaults."""
    return {
        **({} if order.time_in_force == "GTC" else {"timeInForce": order.time_in_force}),
        **({"postOnly": True} if order.post_only else {}),
        **({} if order.not_after is None else {"notAfter": str(order.not_after)}),
        **({} if order.self_trade == "cancel_older" else {"selfTrade": order.self_trade}),
    }


def _results_in(response: Response, request: Request, count: int) -> list[Any]:
    """
    The results of several orders: bodies of answers, and Refusals. Raises OutcomeUnknown where they are not as many.
    """
    items = body_of(response).get("results")
    found = (
        [item for item in items if isinstance(item, dict) and isinstance(item.get("body"), dict)]
        if isinstance(items, list)
        else []
    )
    if len(found) != count:
        raise OutcomeUnknown(f"{count} orders were answered with other results", request)
    return [
        item["body"] if item.get("status") == 200 else Refusal(item.get("status", 0), item["body"]) for item in found
    ]


def _unknown_order(order: SignedOrder, reason: str) -> OutcomeUnknown:
    """That it is not known what became of an order of a batch. It is asked for by itself."""
    return OutcomeUnknown(
        f"order {order.order_hash} may have been accepted: {reason}", order.request, order_hash=order.order_hash
    )


def _is_open(result: Placing) -> bool:
    return isinstance(result, Refusal) and is_worth_repeating(result, changes=True)
