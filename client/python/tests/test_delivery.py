"""What is sent again, for how long, and what is known at the end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from driving import LOST, MARKET, NEVER_SENT, Driver, answer, refusal

from prediction_exchange import BadArgument, Order, Outcome, OutcomeUnknown, Refusal, Side, TransportError
from prediction_exchange.wire import Response

BID = Order(MARKET, Side.BUY, Outcome.YES, "0.62", "2.5")
PLACED: dict[str, Any] = {"orderHash": "0x" + "ab" * 32, "status": "accepted", "matches": 0, "timestamp": 1}


def test_an_order_is_signed_once_and_the_same_bytes_are_sent_until_they_are_answered() -> None:
    driver = Driver()
    core = driver.core()
    placed = driver.run(
        core.place(BID), LOST, refusal(503, "outcome_unknown"), NEVER_SENT, answer(PLACED, X_Log_Position="42")
    )
    assert placed == PLACED
    assert len({(each.method, each.path, each.body) for each in driver.requests}) == 1
    assert len(driver.requests) == 4
    order = json.loads(driver.requests[0].body or b"")["order"]
    assert (order["price"], order["size"], order["side"], order["expiration"]) == (
        620_000,
        "2500000",
        0,
        str(1_800_000_007 + 3_600),
    )
    assert core.written == 42


def test_retry_after_is_waited_for() -> None:
    driver = Driver()
    driver.run(
        driver.core().place(BID),
        refusal(429, "rate_limited", Retry_After="3"),
        refusal(503, "overloaded", Retry_After="soon"),
        answer(PLACED),
    )
    assert driver.pauses == [3.0, 0.2]


def test_past_the_deadline_the_outcome_is_unknown_and_can_be_asked_for_with_the_same_bytes() -> None:
    driver = Driver()
    core = driver.core()
    with pytest.raises(OutcomeUnknown) as caught:
        driver.run(core.place(BID), LOST)
    assert 9.0 <= driver.elapsed <= 10.5
    assert caught.value.order_hash is not None
    sent = driver.requests[0]
    assert driver.run(core.resend(caught.value), answer(PLACED)) == PLACED
    assert driver.requests[-1] == sent


@pytest.mark.parametrize(
    "unclear",
    [
        LOST,
        refusal(503, "outcome_unknown"),
        refusal(503, "unavailable"),
        refusal(500, "internal"),
        Response(502, {}, b"<html>bad gateway</html>"),
        Response(200, {}, b'{"orderHash":'),
    ],
)
def test_what_may_have_been_carried_out_ends_as_unknown(unclear: Any) -> None:
    driver = Driver()
    with pytest.raises(OutcomeUnknown):
        driver.run(driver.core().place(BID), unclear, NEVER_SENT)


def test_what_was_certainly_not_carried_out_ends_with_what_stood_in_the_way() -> None:
    driver = Driver()
    with pytest.raises(Refusal) as caught:
        driver.run(driver.core().place(BID), refusal(503, "overloaded"))
    assert caught.value.code == "overloaded"
    with pytest.raises(TransportError):
        driver.run(driver.core().place(BID), NEVER_SENT)
    with pytest.raises(Refusal):
        driver.run(driver.core().place(BID), refusal(429, "rate_limited", Retry_After="3600"))


def test_a_refusal_is_final_also_after_a_lost_answer() -> None:
    driver = Driver()
    problem = {
        "status": 400,
        "code": "invalid_price",
        "error": "no",
        "errors": [{"field": "/order/price", "message": "is too high"}],
    }
    with pytest.raises(Refusal) as caught:
        driver.run(driver.core().place(BID), LOST, answer(problem, 400))
    assert (caught.value.status, caught.value.code) == (400, "invalid_price")
    assert [(fault.field, fault.message) for fault in caught.value.fields] == [("/order/price", "is too high")]
    assert str(caught.value) == "400 invalid_price: no"


def test_what_is_not_the_exchange_is_not_asked_again() -> None:
    driver = Driver()
    with pytest.raises(TransportError, match="is this its address"):
        driver.run(driver.core().status(), Response(404, {}, b"<html>"))
    assert len(driver.requests) == 1


def test_reads_include_the_own_writes_and_have_no_unknown_outcome() -> None:
    driver = Driver()
    core = driver.core()
    driver.run(core.place(BID), answer(PLACED, X_Log_Position="42"))
    driver.run(core.status(), refusal(503, "not_caught_up"), answer({"status": "open"}))
    assert driver.requests[-1].headers["X-Min-Log-Position"] == "42"
    with pytest.raises(TransportError):
        driver.run(core.status(), LOST)
    with pytest.raises(Refusal, match="500 internal"):
        driver.run(core.status(), refusal(500, "internal"))


def test_a_refused_relay_has_the_code_of_its_header_and_tells_no_token() -> None:
    driver = Driver()
    core = driver.core(token="pex_secret")
    nonces = answer({"owner": "3", "token": "0", "markets": []})
    refused = answer({"success": False, "error": "DisputeWindowOpen(1)"}, 422, X_Error_Code="relay_would_revert")
    with pytest.raises(Refusal) as caught:
        driver.run(core.split(MARKET, "1"), nonces, refused)
    assert (caught.value.code, caught.value.status, str(caught.value)) == (
        "relay_would_revert",
        422,
        "422 relay_would_revert: DisputeWindowOpen(1)",
    )
    assert driver.requests[-1].headers["Authorization"] == "Bearer pex_secret"
    with pytest.raises(OutcomeUnknown) as unknown:
        driver.run(core.split(MARKET, "1"), nonces, LOST)
    assert "pex_secret" not in repr((core, unknown.value, unknown.value.request))


def test_a_relayed_action_is_done_when_its_nonce_is_used() -> None:
    driver = Driver()
    core = driver.core(token="t")
    due, used = (answer({"owner": owner, "token": "0", "markets": []}) for owner in ("3", "4"))
    sent = answer({"success": True, "tx_hash": "0x12"})
    assert driver.run(core.split(MARKET, "1"), due, sent, due, due, used).is_done
    assert not driver.run(core.split(MARKET, "1", wait=False), due, sent).is_done
    assert driver.run(core.split(MARKET, "1"), due, answer({"success": True, "tx_hash": ""})).is_done
    for look in (due, LOST, refusal(503, "chain_unavailable")):
        with pytest.raises(OutcomeUnknown) as caught:
            driver.run(core.split(MARKET, "1"), due, sent, look)
        assert caught.value.tx_hash == "0x12"


def test_an_answer_without_a_transaction_says_nothing_of_a_relayed_action() -> None:
    driver = Driver()
    due = answer({"owner": "3", "token": "0", "markets": []})
    with pytest.raises(OutcomeUnknown, match="ctf-split was answered without a transaction"):
        driver.run(driver.core(token="t").split(MARKET, "1"), due, answer({}))


def test_a_relayed_action_is_signed_anew_while_another_message_has_its_nonce() -> None:
    driver = Driver()
    core = driver.core(token="t")
    three, four, five = (answer({"owner": owner, "token": "0", "markets": []}) for owner in ("3", "4", "5"))
    taken = answer({"success": False, "error": "another"}, 409, X_Error_Code="relay_already_used")
    sent = answer({"success": True, "tx_hash": "0x12"})
    assert driver.run(core.split(MARKET, "1"), three, taken, three, taken, four, sent, five).is_done
    bodies = [request.body for request in driver.requests if request.method == "POST"]
    assert (bodies[0] == bodies[1], bodies[1] == bodies[2]) == (True, False)
    with pytest.raises(Refusal) as caught:
        driver.run(core.split(MARKET, "1"), *[three, taken] * 20)
    assert caught.value.code == "relay_already_used"


def test_what_cannot_be_sent_is_refused_before_anything_is_sent() -> None:
    driver = Driver()
    core = driver.core()
    for wrong in (
        Order(MARKET, Side.BUY, Outcome.YES, 0.62, "1"),  # type: ignore[arg-type]
        Order(MARKET, Side.BUY, Outcome.YES, "1", "1"),
        Order(MARKET, Side.BUY, Outcome.YES, "0.5", 0),
        Order(MARKET, Side.BUY, Outcome.YES, "0.5", "1", post_only=True, time_in_force="FOK"),
        Order(MARKET, "buy", Outcome.YES, "0.5", "1"),  # type: ignore[arg-type]
        Order(MARKET, Side.BUY, 2, "0.5", "1"),  # type: ignore[arg-type]
        Order("0x12", Side.BUY, Outcome.YES, "0.5", "1"),
        Order(MARKET, Side.BUY, Outcome.YES, "0.5", "1", nonce=2**64),
    ):
        with pytest.raises(BadArgument):
            driver.run(core.place(wrong), LOST)
    with pytest.raises(BadArgument, match="bearer token"):
        driver.run(core.split(MARKET, "1"), answer({"owner": "3", "token": "0", "markets": []}))
    assert [request for request in driver.requests if request.method != "GET"] == []
