"""Brings markets into the states in which relayed actions succeed, and writes them to the file that hooks.py reads: prepare.py FILE, with markets as lines of JSON."""
import json
import sys

from signing import Wallet, get, post, wait

RELAYER = "/api/v1/relayer"
SPLIT = 10_000_000


def resolution(market):
    return get(f"/api/v1/resolution/{market['id']}")


def relay(owner, action, body):
    post(f"{RELAYER}/{action}", body)
    owner.mined(seconds=30)


def propose(owner, market):
    relay(owner, "propose-resolution", owner.proposal(market))
    wait("the proposal is known", lambda: resolution(market).get("assertion"))


def main():
    states = dict(zip(("expired", "proposed", "single", "batch"), (json.loads(line) for line in sys.stdin), strict=True))
    owner = Wallet("owner")
    for spender in ("conditionalTokens", "oracleResolver"):
        relay(owner, "usdc-permit", owner.permit(spender))
    for name in ("single", "batch"):
        relay(owner, "ctf-split", owner.sets("ctf-split", states[name], SPLIT))
    for market in states.values():
        wait("the market expires", lambda market=market: resolution(market)["expired"])
    for name in ("single", "batch", "proposed"):
        propose(owner, states[name])
    for name in ("single", "batch", "proposed"):
        end = resolution(states[name])["assertion"]["expirationTime"]
        wait("the dispute window ends", lambda end=end: get("/api/v1/config")["serverTime"] > end)
    for name in ("single", "batch"):
        relay(owner, "settle-market", owner.settlement(states[name]))
        wait("the market is resolved", lambda name=name: resolution(states[name])["resolved"])
    open_market = next(each for each in get("/api/v1/markets")["markets"] if each["id"] not in {market["id"] for market in states.values()})
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({**states, "open": open_market}, file)


main()
