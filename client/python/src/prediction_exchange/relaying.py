"""
Actions that the relayer sends: the wallet signs, and needs no gas. Approve, permit, split, merge, propose, settle,
redeem.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, cast

from .amounts import UINT256_MAX, Amount, base_units
from .answers import Chain, UserNonces
from .errors import BadArgument, ExchangeError, OutcomeUnknown, Refusal, TransportError
from .orders import Outcome
from .session import Session, body_of, bytes32
from .wire import Flow, Pause, Request, post, segment

P = ParamSpec("P")

#: What a permit of no limit permits.
UNLIMITED = UINT256_MAX
_ZERO_32 = "0x" + "0" * 64
#: How long a relayed message counts.
_GOOD_FOR_S = 3_600
_LOOKS_EVERY_S = 0.25


@dataclass(frozen=True)
class Relayed:
    """A request that the relayer has sent. Fees may be raised later, which gives another hash to the same request."""

    #: Empty where the chain was so already, and nothing was sent.
    tx_hash: str
    #: Whether the chain has taken the message: the nonce that it was signed with is used.
    is_done: bool


@dataclass(frozen=True)
class _Message:
    """A signed message, and the nonce by which the chain shows that it has taken it."""

    fields: Mapping[str, Any]
    nonce_kind: str
    nonce: int
    market_id: str | None


def _when_due(
    method: Callable[Concatenate[Relaying, P], Flow[Relayed]],
) -> Callable[Concatenate[Relaying, P], Flow[Relayed]]:
    """
    While another message of the wallet is on its way to a block, its nonce is the one that is due: then that is waited
    for, and the action is signed with the next one.
    """

    @functools.wraps(method)
    def flow(self: Relaying, /, *args: P.args, **kwargs: P.kwargs) -> Flow[Relayed]:
        deadline = self.clock.elapsed() + self.patience.resend_for
        attempt = 0
        while True:
            try:
                return (yield from method(self, *args, **kwargs))
            except Refusal as error:
                pause = self.patience.pause(attempt, self.clock.chance())
                if error.code != "relay_already_used" or self.clock.elapsed() + pause >= deadline:
                    raise
            attempt += 1
            yield Pause(pause)

    return flow


class Relaying(Session):
    """
    The flows of relayed actions. Each signs once, sends until the relayer answers, and with `wait` (the default) until
    the chain has it, since the next message of the wallet needs the next nonce. Several at once wait for each other's.
    Raises Refusal, and OutcomeUnknown at the deadline.
    """

    @_when_due
    def approve(self, approved: bool = True, *, chain_id: int | None = None, wait: bool = True) -> Flow[Relayed]:
        """Lets the settlement contract move the wallet's shares, which selling needs; False revokes it."""
        chain = yield from self._relaying_chain(chain_id)
        fields = {"owner": self.address, "operator": chain["contracts"]["settlement"], "approved": approved}
        message = yield from self._message(chain, "ctf-approval", fields)
        return (yield from self._relay(chain, "ctf-approval", {**fields, **message.fields}, [message], wait))

    @_when_due
    def permit(
        self, value: Amount = UNLIMITED, *, spender: str = "settlement", chain_id: int | None = None, wait: bool = True
    ) -> Flow[Relayed]:
        """
        Lets a contract take so much stablecoin. `spender` is the name of a contract in the configuration: `settlement`,
        which buying needs, `conditionalTokens`, which splitting needs, or `oracleResolver`.
        """
        chain = yield from self._relaying_chain(chain_id)
        address = cast(Mapping[str, str | None], chain["contracts"]).get(spender)
        if address is None:
            raise BadArgument(f"chain {chain['chainId']} has no contract {spender}")
        fields = {"owner": self.address, "spender": address, "value": base_units(value, "value")}
        message = yield from self._message(chain, "usdc-permit", fields)
        body = {**fields, "value": str(fields["value"]), **message.fields}
        return (yield from self._relay(chain, "usdc-permit", body, [message], wait))

    @_when_due
    def split(self, market_id: str, amount: Amount, *, wait: bool = True) -> Flow[Relayed]:
        """Turns stablecoin into as many shares of YES and of NO. Needs a permit for `conditionalTokens` before."""
        return (yield from self._sets("ctf-split", market_id, amount, wait))

    @_when_due
    def merge(self, market_id: str, amount: Amount, *, wait: bool = True) -> Flow[Relayed]:
        """Turns as many shares of YES and of NO into stablecoin."""
        return (yield from self._sets("ctf-merge", market_id, amount, wait))

    @_when_due
    def redeem(
        self, market_id: str, outcomes: Sequence[Outcome] = tuple(Outcome), *, wait: bool = True
    ) -> Flow[Relayed]:
        """Turns the shares of a resolved market into what they pay."""
        chain = yield from self._relaying_chain(market_id=market_id)
        item, message = yield from self._redemption(chain, market_id, outcomes)
        return (yield from self._relay(chain, "ctf-redemption", {"owner": self.address, **item}, [message], wait))

    @_when_due
    def redeem_many(
        self, market_ids: Sequence[str], *, chain_id: int | None = None, wait: bool = True
    ) -> Flow[Relayed]:
        """Redeems the shares of up to 20 resolved markets in one transaction."""
        chain = yield from self._relaying_chain(chain_id)
        items, messages = [], []
        for market_id in market_ids:
            bytes32(market_id, "a market id")
            item, message = yield from self._redemption(chain, market_id, tuple(Outcome))
            items.append(item)
            messages.append(message)
        body = {"owner": self.address, "redemptions": items}
        return (yield from self._relay(chain, "batch-ctf-redemption", body, messages, wait))

    @_when_due
    def propose(self, market_id: str, outcome: Outcome, *, wait: bool = True) -> Flow[Relayed]:
        """Proposes the outcome of an expired market. The wallet posts the market's bond, which its permit goes with."""
        chain = yield from self._relaying_chain(market_id=market_id)
        market = yield from self._market_nonces(chain, market_id)
        bond = int(market["bond"])
        fields = {
            "market": market["contractAddress"],
            "proposer": self.address,
            "outcome": Outcome(outcome) is Outcome.YES,
            "bond": bond,
        }
        message = yield from self._message(chain, "propose-resolution", fields, market_id)
        of_bond = {"owner": self.address, "spender": chain["contracts"]["oracleResolver"], "value": bond}
        permit = (yield from self._message(chain, "bond-permit", of_bond)).fields
        body = {
            "marketAddress": fields["market"],
            "proposer": self.address,
            "outcome": fields["outcome"],
            **message.fields,
            "bondPermitDeadline": permit["deadline"],
            "bondV": permit["v"],
            "bondR": permit["r"],
            "bondS": permit["s"],
        }
        return (yield from self._relay(chain, "propose-resolution", body, [message], wait))

    @_when_due
    def settle(self, market_id: str, winning_outcome: Outcome, *, wait: bool = True) -> Flow[Relayed]:
        """Settles a proposal after its dispute window: the market is resolved."""
        chain = yield from self._relaying_chain(market_id=market_id)
        market = yield from self._market_nonces(chain, market_id)
        fields = {
            "market": market["contractAddress"],
            "settler": self.address,
            "winningOutcome": int(Outcome(winning_outcome)),
        }
        message = yield from self._message(chain, "settle-market", fields, market_id)
        body = {
            "marketAddress": fields["market"],
            "settler": self.address,
            "winningOutcome": fields["winningOutcome"],
            **message.fields,
        }
        return (yield from self._relay(chain, "settle-market", body, [message], wait))

    def nonces_due(self, *, market_id: str | None = None, chain_id: int | None = None) -> Flow[UserNonces]:
        """The nonces that the wallet signs next, and of markets their contracts and bonds."""
        chain = yield from self._relaying_chain(chain_id, market_id)
        return (yield from self._nonces(chain, market_id))

    def _sets(self, action: str, market_id: str, amount: Amount, wait: bool) -> Flow[Relayed]:
        chain = yield from self._relaying_chain(market_id=market_id)
        fields = {
            "owner": self.address,
            "collateralToken": chain["contracts"]["collateral"],
            "conditionId": market_id,
            "amount": base_units(amount, "amount", least=1),
        }
        message = yield from self._message(chain, action, fields)
        return (
            yield from self._relay(
                chain, action, {**fields, "amount": str(fields["amount"]), **message.fields}, [message], wait
            )
        )

    def _redemption(
        self, chain: Chain, market_id: str, outcomes: Sequence[Outcome]
    ) -> Flow[tuple[dict[str, Any], _Message]]:
        market = yield from self._market_nonces(chain, market_id)
        index_sets = [1 << int(Outcome(outcome)) for outcome in outcomes]
        fields = {
            "collateralToken": chain["contracts"]["collateral"],
            "parentCollectionId": _ZERO_32,
            "conditionId": market_id,
        }
        message = yield from self._message(
            chain, "ctf-redemption", {"owner": self.address, **fields, "indexSets": index_sets}, market_id
        )
        item = {
            **fields,
            "marketAddress": market["contractAddress"],
            "indexSets": [str(each) for each in index_sets],
            **message.fields,
        }
        return item, message

    def _message(
        self, chain: Chain, action: str, fields: Mapping[str, Any], market_id: str | None = None
    ) -> Flow[_Message]:
        """Signs a message with the nonce that is due."""
        kind = (yield from self._action(chain, action))["nonce"]["kind"]
        nonce = _nonce_of((yield from self._nonces(chain, market_id)), kind)
        deadline = self._server_time() + _GOOD_FOR_S
        signed = yield from self._signed(chain, action, {**fields, "nonce": nonce, "deadline": deadline})
        return _Message({"deadline": str(deadline), **signed.vrs}, kind, nonce, market_id)

    def _relay(
        self, chain: Chain, action: str, body: Mapping[str, Any], messages: Sequence[_Message], wait: bool
    ) -> Flow[Relayed]:
        request = self._authorized(post(f"/api/v1/relayer/{action}", {"chainId": chain["chainId"], **body}))
        delivered = yield from self._write(request, action)
        answer = body_of(delivered.response)
        tx_hash = answer.get("tx_hash", answer.get("txHash"))
        if not isinstance(tx_hash, str):
            raise OutcomeUnknown(f"{action} was answered without a transaction", request)
        if tx_hash == "" or not wait:
            return Relayed(tx_hash, is_done=tx_hash == "")
        deadline = self.clock.elapsed() + self.patience.resend_for
        for message in messages:
            reason: ExchangeError | None = None
            while True:
                try:
                    if (yield from self._is_used(chain, message)):
                        break
                except (TransportError, Refusal) as error:
                    # The request is with the relayer, whatever a look at it comes to.
                    reason = error
                if self.clock.elapsed() >= deadline:
                    raise OutcomeUnknown(
                        f"{action} was sent as {tx_hash}, and is not on the chain yet", request, tx_hash=tx_hash
                    ) from reason
                yield Pause(_LOOKS_EVERY_S)
        return Relayed(tx_hash, is_done=True)

    def _is_used(self, chain: Chain, message: _Message) -> Flow[bool]:
        due = _nonce_of((yield from self._nonces(chain, message.market_id)), message.nonce_kind)
        return due > message.nonce

    def _authorized(self, request: Request) -> Request:
        if self.token is None:
            raise BadArgument("the relayer needs a bearer token: give the exchange one as token")
        return Request(
            request.method, request.path, request.body, {**request.headers, "Authorization": f"Bearer {self.token}"}
        )

    def _relaying_chain(self, chain_id: int | None = None, market_id: str | None = None) -> Flow[Chain]:
        chain = yield from self._chain(chain_id, market_id)
        if chain["relayer"] is None:
            raise BadArgument(f"nothing is relayed on chain {chain['chainId']}: send the transaction yourself")
        return chain

    def _market_nonces(self, chain: Chain, market_id: str) -> Flow[dict[str, Any]]:
        found = (yield from self._nonces(chain, market_id))["markets"]
        if not found:
            raise BadArgument(f"chain {chain['chainId']} has no market {market_id}")
        return cast("dict[str, Any]", found[0])

    def _nonces(self, chain: Chain, market_id: str | None) -> Flow[UserNonces]:
        path = f"/api/v1/users/{segment(self.address)}/nonces"
        return cast(UserNonces, (yield from self._read(path, {"chain_id": chain["chainId"], "market": market_id})))


def _nonce_of(due: UserNonces, kind: str) -> int:
    """The nonce of a kind that the configuration names."""
    if kind in ("owner", "token"):
        return int(due["owner"] if kind == "owner" else due["token"])
    if kind in ("condition", "market") and due["markets"]:
        market = due["markets"][0]
        return int(market["condition"] if kind == "condition" else market["market"])
    raise BadArgument(f"the exchange tells no nonce of the kind {kind}")
