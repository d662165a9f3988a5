"""Several orders at once, and cancels: what is sent again by itself, and what must not be the same request twice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from driving import CONFIG, LOST, MARKET, Driver, answer, refusal

from prediction_exchange import BadArgument, Order, Outcome, OutcomeUnknown, Refusal, Side
from prediction_exchange.core import Core
from prediction_exchange.signing import signer_of
from prediction_exchange.wire import Request, Response

OK: dict[str, Any] = {"status": 200, "body": {"status": "accepted", "orderHash": "0x"}}


def orders(count: int) -> list[Order]:
    return [Order(MARKET, Side.BUY, Outcome.YES, 10_000 + i, "1") for i in range(count)]


def item(status: int, code: str) -> dict[str, Any]:
    return {"status": status, "body": {"status": status, "code": code, "error": code}}


def sent_in(request: Request) -> list[Any]:
    return list(json.loads(request.body or b"")["orders"])


def test_only_what_has_no_final_answer_is_sent_again_with_the_same_bytes() -> None:
    driver = Driver()
    first = answer({"results": [OK, item(409, "would_match"), item(503, "outcome_unknown"), item(429, "rate_limited")]})
    results = driver.run(
        driver.core().place_batch(orders(4)), LOST, first, answer({"results": [OK, item(409, "duplicate_nonce")]})
    )
    assert [each.code if isinstance(each, Refusal) else "ok" for each in results] == [
        "ok",
        "would_match",
        "ok",
        "duplicate_nonce",
    ]
    whole, again, rest = (sent_in(request) for request in driver.requests)
    assert whole == again
    assert rest == whole[2:]
    assert len({order["order"]["nonce"] for order in whole}) == 4


def test_at_the_deadline_each_order_says_what_is_known_of_it() -> None:
    driver = Driver()
    core = driver.core()
    open_ends = answer({"results": [item(503, "outcome_unknown"), item(503, "overloaded")]})
    results = driver.run(
        core.place_batch(orders(3)),
        answer({"results": [OK, item(503, "outcome_unknown"), item(503, "overloaded")]}),
        open_ends,
    )
    accepted, unknown, refused = results
    assert not isinstance(accepted, Exception)
    assert isinstance(refused, Refusal) and refused.code == "overloaded"
    assert isinstance(unknown, OutcomeUnknown) and unknown.order_hash is not None
    assert json.loads(unknown.request.body or b"") == sent_in(driver.requests[0])[1]
    assert all(isinstance(each, OutcomeUnknown) for each in driver.run(core.place_batch(orders(2)), LOST))


def test_a_batch_that_is_refused_as_a_whole_raises() -> None:
    driver = Driver()
    with pytest.raises(Refusal, match="invalid_request"):
        driver.run(driver.core().place_batch(orders(2)), refusal(400, "invalid_request"))


@pytest.mark.parametrize("count", [0, 16])
def test_a_batch_has_1_to_15_orders_and_another_is_not_signed(count: int) -> None:
    driver = Driver()
    with pytest.raises(BadArgument, match=f"1 to 15 orders, not {count}"):
        driver.run(driver.core().place_batch(orders(count)), LOST)
    assert driver.requests == []


@pytest.mark.parametrize("results", [None, [OK], [OK, OK, OK], [OK, 5], [OK, {"status": 200}]])
def test_results_that_are_not_as_many_leave_all_unknown(results: Any) -> None:
    driver = Driver()
    given = answer({"results": results})
    assert all(isinstance(each, OutcomeUnknown) for each in driver.run(driver.core().place_batch(orders(2)), given))
    with pytest.raises(OutcomeUnknown):
        driver.run(driver.core().cancel_many(["0x" + "01" * 32, "0x" + "02" * 32]), given)


def deadline_in(request: Request) -> int:
    return int(json.loads(request.body or b"")["deadline"])


def test_two_cancels_of_everything_are_two_requests() -> None:
    driver = Driver()
    core = driver.core()
    done = answer({"status": "cancelled", "cancelled": 1})
    driver.run(core.cancel_all(), done)
    driver.run(core.cancel_all(MARKET), done)
    first, second = (deadline_in(request) for request in driver.requests)
    assert first < second


def test_a_cancel_that_another_process_has_sent_before_is_signed_anew() -> None:
    driver = Driver()
    core = driver.core()
    replayed = answer({"status": "cancelled", "cancelled": 9}, Idempotent_Replayed="true")
    assert driver.run(core.cancel_all(), replayed, answer({"status": "cancelled", "cancelled": 1}))["cancelled"] == 1
    assert deadline_in(driver.requests[0]) < deadline_in(driver.requests[1])
    # After a lost answer the repeat is our own.
    assert driver.run(core.cancel_all(), LOST, replayed)["cancelled"] == 9


def test_each_of_several_cancels_has_its_own_result() -> None:
    driver = Driver()
    cancelled, refused = driver.run(
        driver.core().cancel_many(["0x" + "01" * 32, "0x" + "02" * 32]),
        answer({"results": [{"status": 200, "body": {"status": "cancelled"}}, item(409, "already_filled")]}),
    )
    assert not isinstance(cancelled, Refusal)
    assert isinstance(refused, Refusal) and refused.code == "already_filled"


def test_a_signer_is_needed_and_a_key_is_never_shown() -> None:
    driver = Driver()
    with pytest.raises(BadArgument, match="needs a signer"):
        driver.run(Core(clock=driver.clock).place(orders(1)[0]), LOST)
    with pytest.raises(BadArgument) as caught:
        signer_of("0xnot-a-key")
    assert "not-a-key" not in str(caught.value) and caught.value.__cause__ is None


@pytest.mark.parametrize("signature", [b"\x01" * 64, "0x12", "zz" * 65, None, 5])
def test_a_signer_that_gives_no_signature_is_told_so(signature: object) -> None:
    class Odd:
        address = "0x" + "aa" * 20

        def sign_typed_data(
            self, domain_data: dict[str, Any], message_types: dict[str, Any], message_data: dict[str, Any]
        ) -> object:
            return signature

    driver = Driver()
    core = driver.core()
    core.signer = Odd()
    with pytest.raises(BadArgument, match="65 bytes"):
        driver.run(core.place(orders(1)[0]), LOST)


def test_any_signer_signs_like_a_private_key() -> None:
    class Remote:
        """Gives the signature as hex with a recovery id of 0 or 1."""

        def __init__(self) -> None:
            self.inner = signer_of("0x" + "11" * 32)
            self.address = self.inner.address

        def sign_typed_data(
            self, domain_data: dict[str, Any], message_types: dict[str, Any], message_data: dict[str, Any]
        ) -> str:
            signature = bytes(self.inner.sign_typed_data(domain_data, message_types, message_data).signature)
            return (signature[:64] + bytes([signature[64] - 27])).hex()

    def body(core: Core, driver: Driver) -> Any:
        return driver.run(core.sign(Order(MARKET, Side.BUY, Outcome.YES, "0.5", "1", nonce=1)), answer({})).body

    driver = Driver()
    remote = driver.core()
    remote.signer = Remote()
    assert body(remote, driver) == body(driver.core(), driver)


def test_of_several_chains_the_market_or_the_caller_says_which() -> None:
    driver = Driver()
    core = driver.core()
    [chain] = CONFIG["chains"]
    driver.run(core.config(), answer({**CONFIG, "chains": [chain, {**chain, "chainId": 137}]}))
    done = answer({"status": "cancelled", "cancelled": 1})
    driver.run(core.cancel_all(MARKET), answer({"chainId": 137}), done)
    assert driver.requests[-2].path == f"/api/v1/markets/{MARKET}"
    driver.run(core.cancel_all(chain_id=31_337), done)
    assert [json.loads(request.body or b"{}").get("chainId") for request in driver.requests[-3:]] == [None, 137, 31_337]
    for unclear in (core.cancel_all(), core.cancel_all(chain_id=1)):
        with pytest.raises(BadArgument, match="the chains 31337, 137: name one of them"):
            driver.run(unclear, done)


def test_pages_are_read_until_the_last_one() -> None:
    driver = Driver()
    pages = driver.core().trades(MARKET, page_size=2)
    first = driver.run(pages.page(None), answer({"trades": [1, 2], "nextCursor": "abc"}))
    last = driver.run(pages.page(first.after), answer({"trades": []}))
    assert [*first.items, first.after, *last.items, last.after] == [1, 2, "abc", None]
    assert "limit=2&cursor=abc" in driver.requests[-1].path


def test_the_history_is_read_over_empty_pages_up_to_its_end() -> None:
    driver = Driver()
    pages = driver.core().events(start=5, event="FillMatched")

    def page(events: list[int], following: int) -> Response:
        return answer({"events": events, "next": following}, X_Log_Position="19")

    assert driver.run(pages.page(None), page([], 10)).after == 10
    assert driver.run(pages.page(10), page([7], 20)).after == 20
    assert driver.run(pages.page(20), page([], 20)).after is None
