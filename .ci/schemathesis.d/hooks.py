"""What Schemathesis cannot know of the service from its document: how requests are signed, and what else a schema cannot say; .ci/contract says how it is run."""
import atexit
import json
import os
import sys

import schemathesis

sys.path.insert(0, os.path.dirname(__file__))
from signing import UINT64_MAX, UINT256_MAX, Wallet  # noqa: E402

with open(os.environ["CONTRACT_MARKETS"], encoding="utf-8") as states:
    MARKETS = json.load(states)
OPEN = MARKETS["open"]["id"]

trader = Wallet("trader")
# Its orders are cancelled at times.
absent = Wallet("absent")
owner = Wallet("owner")


def signed_order(body):
    order, signature = trader.order(OPEN, body["order"])
    return {"order": order, "signature": signature}


def reduced(case):
    """An order that is larger than what is asked for; the request's signature is in the body, its hash in the path."""
    size = min(int(case.body["size"]), UINT64_MAX - 1)
    order_hash = trader.place(OPEN, size=size + 1)
    signed = trader.asked("reduce", {"orderHash": order_hash, "size": size})
    case.path_parameters = {**case.path_parameters, "hash": order_hash}
    return {name: signed[name] for name in ("size", "deadline", "signature")}


def synced(case):
    case.path_parameters = {**case.path_parameters, "marketId": OPEN}
    case.query = {}
    return {"userAddress": trader.address}


def batch(case):
    return {"chainId": owner.chain["chainId"], "owner": owner.address, "redemptions": [owner.redemption(MARKETS["batch"])]}


def single(case):
    return {"chainId": owner.chain["chainId"], "owner": owner.address, **owner.redemption(MARKETS["single"])}


def amount(case):
    """A dollar at most: the owner has some thousands."""
    return max(1, min(int(case.body["amount"]), 1_000_000))


# By the operation: the body that takes the place of a generated one that fits the schema. What can be kept of it is.
SIGNED = {
    "POST /api/v1/orders": lambda case: signed_order(case.body),
    "POST /api/v1/orders/batch": lambda case: {"orders": [signed_order(each) for each in case.body["orders"]]},
    "POST /api/v1/orders/check": lambda case: signed_order(case.body),
    "POST /api/v1/orders/cancel": lambda case: trader.asked(
        "cancel-orders", {"orderHashes": [trader.place(OPEN), *case.body["orderHashes"]][:20]}),
    "POST /api/v1/orders/cancel-all": lambda case: absent.asked("cancel-all", {"marketId": OPEN}),
    "POST /api/v1/orders/cancel-after": lambda case: absent.asked("cancel-after", {"seconds": int(case.body["seconds"])}),
    "POST /api/v1/orders/{hash}/reduce": reduced,
    "POST /api/v1/positions/{marketId}/sync": synced,
    "POST /api/v1/dev/funds": lambda case: {"address": case.body["address"]},
    "POST /api/v1/relayer/ctf-approval": lambda case: owner.approval(case.body["approved"]),
    "POST /api/v1/relayer/usdc-permit": lambda case: owner.permit("settlement", min(int(case.body["value"]), UINT256_MAX)),
    "POST /api/v1/relayer/ctf-split": lambda case: owner.sets("ctf-split", MARKETS["open"], amount(case)),
    "POST /api/v1/relayer/ctf-merge": lambda case: owner.sets("ctf-merge", MARKETS["open"], 1),
    "POST /api/v1/relayer/ctf-redemption": single,
    "POST /api/v1/relayer/batch-ctf-redemption": batch,
    "POST /api/v1/relayer/propose-resolution": lambda case: owner.proposal(MARKETS["expired"]),
    "POST /api/v1/relayer/settle-market": lambda case: owner.settlement(MARKETS["proposed"]),
}

# How many requests to each operation were answered with 2xx.
accepted = {}


@atexit.register
def tell_accepted():
    with open(os.environ["CONTRACT_ACCEPTED"], "w", encoding="utf-8") as file:
        json.dump(accepted, file)


def is_positive(case):
    return case.meta is not None and case.meta.generation.mode.is_positive


@schemathesis.hook
def before_call(context, case, kwargs):
    """Signs what fits the schema. A position that the log does not have yet is waited for and answered with 503: asks for positions that it has."""
    sign = SIGNED.get(case.operation.label)
    if sign is not None and is_positive(case) and isinstance(case.body, dict):
        case.body = sign(case)
    headers = case.headers or {}
    for name in list(headers):
        text = str(headers[name])
        if name.lower() == "x-min-log-position" and text.isdigit() and len(text) < 300:
            headers[name] = str(int(text) % 20)


@schemathesis.hook
def after_call(context, case, response):
    if 200 <= response.status_code < 300:
        accepted[case.operation.label] = accepted.get(case.operation.label, 0) + 1
        if case.path.startswith("/api/v1/relayer/"):
            owner.mined()


# What the schema of a request cannot say, and the descriptions do: signatures, times, chains, the state of markets.
BEYOND_THE_SCHEMA = {
    "invalid_signature", "invalid_permit", "invalid_expiration", "size_too_small",
    # A number that fits the pattern of its digits, and is larger than the description says.
    "invalid_size", "invalid_request",
}
# A day that its month does not have; a cursor that no page has given, and a search for no word; a user who is named twice, or not at all.
MESSAGES = (
    ("/at", "is an integer of 0 to "), ("/cursor", "is not a cursor of this list"), ("/query", "has words of the question"),
    ("/userAddress", "is one user in the body and another one in the query"), ("/userAddress", "is missing"),
    ("/address", "is one that the test stablecoin refuses"),
)
# The relayer's errors have texts only.
RELAYER_TEXTS = (
    "No relayer configured for chain", "the signature is not the owner", "the deadline is too far ahead", "a proposal on this chain needs the bond",
    "Invalid signature format",
)


def has_odd_number(value):
    """To JSON Schema 1.0 is an integer, but the service takes digits alone; and a pattern of digits has no upper bound."""
    if isinstance(value, dict):
        return any(has_odd_number(each) for each in value.values())
    if isinstance(value, list):
        return any(has_odd_number(each) for each in value)
    return isinstance(value, float) or (isinstance(value, str) and value.isdigit() and int(value) >= 2**256)


@schemathesis.check
def refused_for_what_the_schema_cannot_say(ctx, response, case):
    """A request that fits the schema is refused with 400 only for reasons that a schema cannot express."""
    if response.status_code != 400 or not is_positive(case) or has_odd_number(case.body):
        return
    answer = response.json()
    text = str(answer.get("error"))
    told = [(fault["field"], fault["message"]) for fault in answer.get("errors", [])]
    known = told != [] and all(any(field == name and message.startswith(begin) for name, begin in MESSAGES) for field, message in told)
    if not case.path.endswith("/sync") and case.method != "GET":
        known = known or (answer["code"] in BEYOND_THE_SCHEMA if "code" in answer else text.startswith(RELAYER_TEXTS))
    assert known, f"400 to a request as documented: {text}"
