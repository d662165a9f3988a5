"""Carries out flows without input and output: scripted answers, and a clock that goes on when the flow pauses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from prediction_exchange.core import Core
from prediction_exchange.delivery import Clock, Patience
from prediction_exchange.nonces import MemoryNonces
from prediction_exchange.signing import signer_of
from prediction_exchange.wire import Flow, Pause, Request, Response, Send, Unanswered

T = TypeVar("T")
Answer = Response | Unanswered | Callable[[Request], Response]

KEY = "0x" + "11" * 32
MARKET = "0x" + "4d" * 32
NOW_S = 1_800_000_000.0

DOMAIN = {
    "name": "Prediction Exchange Settlement",
    "version": "1",
    "chainId": 31_337,
    "verifyingContract": "0x" + "5e" * 20,
}


def _action(type_name: str, *fields: str) -> dict[str, Any]:
    members = [{"type": kind, "name": name} for kind, name in (each.split(" ") for each in fields)]
    return {"primaryType": type_name, "domain": DOMAIN, "types": {type_name: members}, "nonce": {"kind": "owner"}}


CONFIG: dict[str, Any] = {
    "serverTime": int(NOW_S) + 7,
    "chains": [
        {
            "chainId": 31_337,
            "orderDomain": DOMAIN,
            "relayer": {"address": "0x" + "0e" * 20, "actions": []},
            "contracts": {
                "settlement": "0x" + "5e" * 20,
                "conditionalTokens": "0x" + "c7" * 20,
                "collateral": "0x" + "c0" * 20,
            },
            "signedActions": {
                "order": _action(
                    "Order",
                    "bytes32 marketId",
                    "address trader",
                    "uint8 side",
                    "uint8 outcome",
                    "uint64 price",
                    "uint64 size",
                    "uint64 nonce",
                    "uint64 expiration",
                    "address makerFeeRecipient",
                ),
                "cancel-all": _action("CancelAll", "address trader", "bytes32 marketId", "uint64 deadline"),
                "cancel-orders": _action("CancelOrders", "bytes32[] orderHashes", "address trader", "uint64 deadline"),
                "ctf-split": _action(
                    "Split",
                    "address owner",
                    "address collateralToken",
                    "bytes32 conditionId",
                    "uint256 amount",
                    "uint256 nonce",
                    "uint256 deadline",
                ),
            },
        }
    ],
}


def answer(body: Mapping[str, Any], status: int = 200, **headers: str) -> Response:
    """An answer with a JSON body. An underscore in a header's name is a hyphen."""
    named = {name.replace("_", "-").lower(): value for name, value in headers.items()}
    return Response(status, {"content-type": "application/json", **named}, json.dumps(body).encode())


def refusal(status: int, code: str, **headers: str) -> Response:
    """A problem document."""
    return answer({"status": status, "code": code, "error": f"because of {code}"}, status, **headers)


LOST = Unanswered("cut", sent=True)
NEVER_SENT = Unanswered("refused", sent=False)


@dataclass
class Driver:
    """A core with a clock of its own, and what it has asked for."""

    requests: list[Request] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    elapsed: float = 0.0
    patience: Patience = field(default_factory=lambda: Patience(resend_for=10.0, attempt=4.0))

    def core(self, **given: Any) -> Core:
        """A core of a wallet that knows the configuration."""
        core = Core(
            signer=signer_of(KEY),
            patience=self.patience,
            clock=self.clock,
            nonces=MemoryNonces(now_s=lambda: NOW_S, lane=5),
            **given,
        )
        self.run(core.config(), answer(CONFIG))
        self.requests.clear()
        return core

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: NOW_S + self.elapsed, elapsed=lambda: self.elapsed, chance=lambda: 0.0)

    def run(self, flow: Flow[T], *answers: Answer) -> T:
        """Carries a flow out. The last answer is given again and again."""
        left = list(answers)
        try:
            effect = next(flow)
            while True:
                if isinstance(effect, Pause):
                    self.pauses.append(effect.seconds)
                    self.elapsed += effect.seconds
                    effect = next(flow)
                    continue
                given = left.pop(0) if len(left) > 1 else left[0]
                effect = self._give(flow, effect, given)
        except StopIteration as end:
            result: T = end.value
            return result

    def _give(self, flow: Flow[T], effect: Send, given: Answer) -> Send | Pause:
        self.requests.append(effect.request)
        if isinstance(given, Unanswered):
            self.elapsed += effect.timeout_s if given.sent else 0.0
            return flow.throw(given)
        return flow.send(given if isinstance(given, Response) else given(effect.request))
