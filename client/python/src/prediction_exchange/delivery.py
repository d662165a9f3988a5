"""
How a request is sent until it has an answer: the same bytes again after a pause, until a deadline, and what is known
then.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .errors import ExchangeError, OutcomeUnknown, Refusal, TransportError
from .wire import Flow, Pause, Request, Response, Unanswered, json_object, send


@dataclass(frozen=True)
class Clock:
    """Time and chance, as arguments: a test gives others."""

    #: Seconds since the epoch.
    now: Callable[[], float] = time.time
    #: Seconds that only rise.
    elapsed: Callable[[], float] = time.monotonic
    #: A number from 0 to 1.
    chance: Callable[[], float] = random.random


@dataclass(frozen=True)
class Patience:
    """How long and how often a request is sent. All in seconds."""

    #: A request that got no answer is sent again until so long after its first time.
    resend_for: float = 30.0
    #: One sending waits so long for its answer.
    attempt: float = 10.0
    first_pause: float = 0.1
    longest_pause: float = 5.0

    def pause(self, attempt: int, chance: float) -> float:
        """The pause after this attempt, the first one being 0: doubled each time, less up to a half by chance."""
        longest = min(self.longest_pause, self.first_pause * 2.0 ** min(attempt, 30))
        return longest * (1.0 - chance / 2.0)


@dataclass(frozen=True)
class Delivery:
    """A request, and what an answer that does not come would leave open."""

    request: Request
    #: It changes something, so that without an answer its outcome is unknown.
    changes: bool = False
    order_hash: str | None = None
    #: What it does, for messages.
    what: str = field(default="the request")


#: After these the request was certainly not carried out, though sending it again may help.
NOT_TAKEN = frozenset(
    {
        "overloaded",
        "clock_untrusted",
        "disk_full",
        "trading_halted",
        "rate_limited",
        "request_timeout",
        "relay_owner_paused",
        "relay_quota_used",
    }
)
_RETRIED = frozenset({408, 429, 502, 503, 504})


@dataclass(frozen=True)
class Delivered:
    """The answer, and after how many sendings."""

    response: Response
    attempts: int


def deliver(delivery: Delivery, patience: Patience, clock: Clock) -> Flow[Delivered]:
    """
    Sends the request until it is answered. Raises Refusal; at the deadline OutcomeUnknown where the request may have
    been carried out, else what stood in its way: TransportError, or the refusal that asked to come again.
    """
    deadline = clock.elapsed() + patience.resend_for
    attempts = 0
    maybe_taken = False
    while True:
        pause = patience.pause(attempts, clock.chance())
        attempts += 1
        try:
            # A last attempt shortly before the deadline gets a moment, too.
            response = yield from send(delivery.request, max(0.1, min(patience.attempt, deadline - clock.elapsed())))
        except Unanswered as silence:
            maybe_taken = maybe_taken or silence.sent
            failure: ExchangeError = TransportError(
                f"{delivery.request.method} {delivery.request.path} had no answer: {silence}"
            )
        else:
            refusal = refusal_in(delivery.request, response)
            if refusal is None:
                return Delivered(response, attempts)
            if not is_worth_repeating(refusal, changes=delivery.changes):
                raise refusal
            maybe_taken = maybe_taken or not (isinstance(refusal, Refusal) and refusal.code in NOT_TAKEN)
            failure = refusal
            pause = max(pause, refusal.retry_after or 0.0)
        if clock.elapsed() + pause >= deadline:
            if delivery.changes and maybe_taken:
                raise OutcomeUnknown(
                    f"{delivery.what} may have been carried out, no answer in {patience.resend_for:g} s ({failure})",
                    delivery.request,
                    order_hash=delivery.order_hash,
                ) from failure
            raise failure
        yield Pause(pause)


def is_worth_repeating(refusal: Refusal | TransportError, *, changes: bool) -> bool:
    """Whether the same request may be answered otherwise in a moment."""
    if isinstance(refusal, TransportError):
        return refusal.status is None or refusal.status >= 500 or refusal.status in _RETRIED
    # An unexpected error may have come after the request was written: the same request again tells.
    return refusal.status in _RETRIED or (changes and refusal.status >= 500)


def refusal_in(request: Request, response: Response) -> Refusal | TransportError | None:
    """What the answer refuses the request with; None for an answer of success."""
    body = json_object(response.body)
    retry_after = retry_after_in(response)
    if 200 <= response.status < 300:
        return (
            None
            if body is not None
            else TransportError(f"{request.path} was answered with {response.status}, but not with a JSON object")
        )
    code = response.header("X-Error-Code")
    # The relayer's bodies have a text only.
    if body is not None and (
        isinstance(body.get("code"), str) or (body.get("success") is False and isinstance(body.get("error"), str))
    ):
        return Refusal(response.status, body, code=code, retry_after=retry_after)
    return TransportError(
        f"{request.path} was answered with {response.status}, and with no error of the exchange: is this its address?",
        status=response.status,
        retry_after=retry_after,
    )


def retry_after_in(response: Response) -> float | None:
    """Seconds, as the exchange gives them; None where the header is absent or something else."""
    text = (response.header("Retry-After") or "").strip()
    return float(text[:9]) if text.isascii() and text.isdecimal() else None
