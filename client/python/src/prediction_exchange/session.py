"""What all operations share: the exchange's configuration and time, the signer, and the position of the own writes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from .answers import Chain, Configuration, SignedAction
from .delivery import Clock, Delivered, Delivery, Patience, deliver
from .errors import BadArgument, TransportError
from .nonces import MemoryNonces, Nonces
from .signing import Signed, Signer, sign
from .wire import Flow, Request, Response, get, json_object, segment

_BYTES32 = re.compile("0x[0-9a-fA-F]{64}")


@dataclass
class Session:
    """The base of the core. Its methods are flows: a shell carries them out."""

    signer: Signer | None = None
    #: The bearer token of the relayer.
    token: str | None = field(default=None, repr=False)
    nonces: Nonces = field(default_factory=MemoryNonces)
    patience: Patience = field(default_factory=Patience)
    clock: Clock = field(default_factory=Clock)
    #: Which chain is meant where the exchange has several and no market says it.
    chain_id: int | None = None
    #: The highest log position of the own writes: reads wait until they include it.
    written: int = field(default=-1, init=False)
    _configuration: Configuration | None = field(default=None, init=False)
    _ahead_s: float = field(default=0.0, init=False)
    _last_deadline: int = field(default=-1, init=False)

    def config(self) -> Flow[Configuration]:
        """Chains, signing domains, limits and the exchange's time."""
        asked_at = self.clock.now()
        answer = cast(Configuration, (yield from self._read("/api/v1/config")))
        self._ahead_s = answer["serverTime"] - asked_at
        self._configuration = answer
        return answer

    def _known_config(self) -> Flow[Configuration]:
        known = self._configuration
        return known if known is not None else (yield from self.config())

    def _server_time(self) -> int:
        """The exchange's time in Unix seconds, once the configuration has been read."""
        return math.floor(self.clock.now() + self._ahead_s)

    def _deadline(self) -> int:
        """
        Until when a signed request counts: it outlives the times that it is sent, and no longer, since signatures are
        public.
        """
        return self._server_time() + math.ceil(self.patience.resend_for + self.patience.attempt) + 20

    def _chain(self, chain_id: int | None = None, market_id: str | None = None) -> Flow[Chain]:
        """The chain that is named, or that the market is on, or the only one."""
        if market_id is not None:
            bytes32(market_id, "market_id")
        config = yield from self._known_config()
        wanted = chain_id if chain_id is not None else self.chain_id
        if wanted is None and market_id is not None and len(config["chains"]) > 1:
            wanted = (yield from self._read(f"/api/v1/markets/{segment(market_id)}"))["chainId"]
        found = [chain for chain in config["chains"] if wanted is None or chain["chainId"] == wanted]
        if len(found) == 1:
            return found[0]
        names = ", ".join(str(chain["chainId"]) for chain in config["chains"])
        raise BadArgument(f"the exchange has the chains {names}: name one of them, not {wanted}, as chain_id")

    def _signer(self) -> Signer:
        if self.signer is None:
            raise BadArgument("this needs a signer: give the exchange a private key or a signer")
        return self.signer

    @property
    def address(self) -> str:
        """The signer's address. Raises BadArgument without a signer."""
        return str(self._signer().address)

    def _signed(self, chain: Chain, action: str, message: Mapping[str, Any]) -> Flow[Signed]:
        """Signs a message of an action, as the configuration names it."""
        told = yield from self._action(chain, action)
        return sign(
            self._signer(), cast("Mapping[str, Any]", told["domain"]), cast("Mapping[str, Any]", told["types"]), message
        )

    def _action(self, chain: Chain, name: str) -> Flow[SignedAction]:
        """How an action is signed. The domain of the stablecoin may come a moment after the exchange has started."""
        told = _action_in(chain, name)
        if told is not None and told["domain"] is None:
            yield from self.config()
            told = _action_in((yield from self._chain(chain["chainId"])), name)
        if told is None or told["domain"] is None:
            raise BadArgument(f"the exchange does not say how {name} is signed on chain {chain['chainId']}")
        return told

    def _read(self, path: str, query: Mapping[str, object] | None = None) -> Flow[dict[str, Any]]:
        """A read that includes the own writes."""
        response = yield from self._read_response(get(path, query))
        return body_of(response)

    def _read_response(self, request: Request) -> Flow[Response]:
        if self.written >= 0:
            request = Request(
                request.method, request.path, request.body, {**request.headers, "X-Min-Log-Position": str(self.written)}
            )
        return (yield from deliver(Delivery(request), self.patience, self.clock)).response

    def _write(
        self, request: Request, what: str, *, order_hash: str | None = None, patience: Patience | None = None
    ) -> Flow[Delivered]:
        """A request that changes something. Later reads include it."""
        delivery = Delivery(request, changes=True, order_hash=order_hash, what=what)
        delivered = yield from deliver(delivery, patience or self.patience, self.clock)
        self._include(delivered.response)
        return delivered

    def _include(self, response: Response) -> None:
        told = response.header("X-Log-Position") or ""
        if told.isascii() and told.isdecimal():
            self.written = max(self.written, int(told))


def bytes32(text: str, name: str) -> str:
    """The text. Raises BadArgument where it is not 32 bytes as hex: a shorter one would be signed as another one."""
    if not isinstance(text, str) or not _BYTES32.fullmatch(text):
        raise BadArgument(f"{name} is {text!r}, and not 0x and 64 hex digits")
    return text


def body_of(response: Response) -> dict[str, Any]:
    """The answer's object, which `deliver` has looked at."""
    body = json_object(response.body)
    if body is None:
        raise TransportError("an answer of success is no JSON object", status=response.status)
    return body


def _action_in(chain: Chain, name: str) -> SignedAction | None:
    return cast("Mapping[str, SignedAction]", chain["signedActions"]).get(name)
