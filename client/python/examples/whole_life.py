"""
A market from its opening to the payout, by two wallets without gas: the seller splits stablecoin into shares, the buyer
buys some of YES, the market expires, YES is proposed and settled, and both are paid.

    SELLER_KEY=0x… BUYER_KEY=0x… TOKEN=pex_… python whole_life.py http://127.0.0.1:8080 MARKET_ID
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from prediction_exchange import Exchange, Gap, Order, Outcome, Patience, Refusal, Relayed, Side, whole

SPLIT, BOUGHT, PRICE = "10", "4", "0.62"
#: What the wait for the chain's clock is told by: it goes in blocks, and so behind the exchange's.
NOT_YET = ("MarketNotExpired", "DisputeWindowOpen")
#: It goes on through restarts of the exchange.
PATIENT = Patience(resend_for=120.0)


def say(what: str) -> None:
    """Tells a step."""
    print(what, flush=True)


def when_due(action: Callable[[], Relayed]) -> Relayed:
    """Carries out what the chain may not take yet."""
    while True:
        try:
            return action()
        except Refusal as error:
            if not any(reason in str(error) for reason in NOT_YET):
                raise
        time.sleep(0.5)


def trade(market_id: str, seller: Exchange, buyer: Exchange) -> None:
    """Both wallets get what they need, and trade; returns when the chain has settled the trade."""
    seller.permit(SPLIT, spender="conditionalTokens")
    seller.split(market_id, SPLIT)
    seller.approve()
    say(f"the seller has {SPLIT} YES and {SPLIT} NO")
    stream = buyer.watch([f"trades:{market_id}"], start=-1)
    ask = seller.place(Order(market_id, Side.SELL, Outcome.YES, PRICE, SPLIT))
    say(f"the seller asks {PRICE}: {ask['orderHash']}")
    # The permit goes with the order, so the buyer needs no approval before.
    bid = buyer.place(Order(market_id, Side.BUY, Outcome.YES, PRICE, BOUGHT, permit="10"))
    say(f"the buyer has bought {BOUGHT} with {bid['matches']} match")
    for message in stream:
        if (
            not isinstance(message, Gap)
            and message["type"] == "settlement"
            and message["settlementStatus"] != "pending"
        ):
            say(f"the fill is {message['settlementStatus']}")
            break


def resolve(market_id: str, proposer: Exchange) -> None:
    """Waits for the market's end, proposes YES, waits for the dispute window, and settles."""
    while not proposer.resolution(market_id)["expired"]:
        time.sleep(0.5)
    say("the market has expired")
    when_due(lambda: proposer.propose(market_id, Outcome.YES))
    say("YES is proposed")
    when_due(lambda: proposer.settle(market_id, Outcome.YES))
    while not proposer.resolution(market_id)["resolved"]:
        time.sleep(0.5)
    say("YES has won")


def main() -> None:
    """Goes through the life of the market that the command line names."""
    _, url, market_id = sys.argv
    token = os.environ["TOKEN"]
    with (
        Exchange(url, signer=os.environ["SELLER_KEY"], token=token, patience=PATIENT) as seller,
        Exchange(url, signer=os.environ["BUYER_KEY"], token=token, patience=PATIENT) as buyer,
    ):
        # On a development stack; elsewhere wallets bring their own.
        say(f"the seller has {whole(seller.funds()['collateral'])}, the buyer {whole(buyer.funds()['collateral'])}")
        trade(market_id, seller, buyer)
        resolve(market_id, seller)
        seller.redeem(market_id)
        # Of several markets in one transaction.
        buyer.redeem_many([market_id])
        for name, wallet in (("seller", seller), ("buyer", buyer)):
            payout = None
            while payout is None:
                payout = next((each["payout"] for each in wallet.payouts() if each["marketId"] == market_id), None)
                time.sleep(0.2)
            say(f"the {name} is paid {whole(payout)}")


if __name__ == "__main__":
    main()
