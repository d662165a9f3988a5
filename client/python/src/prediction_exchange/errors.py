"""
What can go wrong, one class per layer: an argument, the way to the exchange, the exchange's refusal, and an outcome
that nobody knows yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .wire import Request


class ExchangeError(Exception):
    """Every error of this client."""


class BadArgument(ExchangeError, ValueError):
    """A call that cannot be sent: nothing has happened."""


class TransportError(ExchangeError):
    """
    No answer, or one that is not the exchange's, such as a proxy's page. Of a call that changes something: it was
    certainly not carried out, or OutcomeUnknown would have been raised.
    """

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        #: Of an answer that is not the exchange's.
        self.status = status
        #: Seconds, as the answer asked; None where it did not.
        self.retry_after = retry_after


@dataclass(frozen=True)
class FieldFault:
    """What is wrong with one field: its JSON pointer or name, and what was expected."""

    field: str
    message: str


class Refusal(ExchangeError):
    """
    The exchange has answered, and refused: `code` says why, such as `insufficient_balance`, and nothing has happened.
    Refusals of the relayer have only a text in their body; their code is from the header `X-Error-Code`, and `unknown`
    without it.
    """

    def __init__(
        self, status: int, body: Mapping[str, Any], *, code: str | None = None, retry_after: float | None = None
    ) -> None:
        told = body.get("code") if code is None else code
        self.status = status
        self.code = told if isinstance(told, str) else "unknown"
        #: The whole body, with the fields that some errors have besides, such as `required` and `available`.
        self.body = dict(body)
        #: Seconds to wait before it is worth trying again, as the exchange says; None where it does not.
        self.retry_after = retry_after
        text = body.get("error")
        super().__init__(f"{status} {self.code}: {text}" if isinstance(text, str) else f"{status} {self.code}")

    @property
    def fields(self) -> tuple[FieldFault, ...]:
        """What is wrong with each field of the request."""
        faults = self.body.get("errors")
        found = faults if isinstance(faults, list) else []
        return tuple(
            FieldFault(str(each.get("field")), str(each.get("message"))) for each in found if isinstance(each, dict)
        )


class OutcomeUnknown(ExchangeError):
    """
    The time was up before an answer said whether the request was carried out. It may have been, or may still be. The
    exchange's `resend` sends the very same bytes once more, which are carried out once: it returns the answer, or
    raises the refusal.
    """

    def __init__(
        self, message: str, request: Request, *, order_hash: str | None = None, tx_hash: str | None = None
    ) -> None:
        super().__init__(message)
        self.request = request
        #: Of an order: it can be read by this hash, too.
        self.order_hash = order_hash
        #: Of a relayed action that was sent, and is not on the chain yet.
        self.tx_hash = tx_hash
