"""Signs requests with funded test wallets, by what /api/v1/config says and nothing else; .ci/contract says how it is used."""
import os
import time

import requests
from eth_account import Account
from eth_account.messages import encode_typed_data

URL = os.environ["CONTRACT_URL"]
TOKEN = os.environ["CONTRACT_TOKEN"]
ZERO_ADDRESS = "0x" + "0" * 40
ZERO_WORD = "0x" + "0" * 64
UINT64_MAX = 2**64 - 1
UINT256_MAX = 2**256 - 1


class Refused(Exception):
    """The exchange has refused a request of a preparation."""


def get(path):
    answer = requests.get(URL + path, timeout=30)
    if answer.status_code != 200:
        raise Refused(f"GET {path}: {answer.status_code} {answer.text}")
    return answer.json()


def post(path, body):
    answer = requests.post(URL + path, json=body, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)
    if answer.status_code != 200:
        raise Refused(f"POST {path}: {answer.status_code} {answer.text}")
    return answer.json()


def wait(what, is_so, seconds=60):
    """Asks until it is so; raises when it is not within the time."""
    end = time.monotonic() + seconds
    while not (found := is_so()):
        if time.monotonic() > end:
            raise Refused(f"{what}: not within {seconds} s")
        time.sleep(0.2)
    return found


class Wallet:
    """A wallet with test money, whose key follows from its name."""

    def __init__(self, name):
        self.account = Account.from_key((name.encode() * 32)[:32])
        self.address = self.account.address
        self.chain = get("/api/v1/config")["chains"][0]
        self.contracts = self.chain["contracts"]
        self.last = 0
        # What was signed last for the relayer: the kind of its nonce, the market, and the nonce.
        self.signed = None
        post("/api/v1/dev/funds", {"address": self.address})

    def later(self):
        """A number that rises: a nonce of an order, or seconds of a deadline, the next half an hour ahead."""
        self.last = max(self.last + 1, int(time.time()) + 1_800)
        return self.last

    def signature(self, action, message):
        """The signature of a message, in its parts and as a whole."""
        told = self.chain["signedActions"][action]
        types = {told["primaryType"]: told["types"][told["primaryType"]]}
        signed = self.account.sign_message(encode_typed_data(told["domain"], types, message))
        return {"v": signed.v, "r": f"0x{signed.r:064x}", "s": f"0x{signed.s:064x}"}, "0x" + bytes(signed.signature).hex()

    # Orders

    def order(self, market, given):
        """The order as generated, of this wallet in this market, and its signature."""
        order = {
            **{name: int(given[name]) for name in ("side", "outcome", "price", "size")}, "marketId": market, "trader": self.address,
            "nonce": self.later(), "expiration": int(time.time()) + 3_600, "makerFeeRecipient": ZERO_ADDRESS,
        }
        # A pattern of digits has no upper bound: a size that is too large is sent, but no signature can be of it.
        return order, self.signature("order", {**order, "size": min(order["size"], UINT64_MAX)})[1]

    def place(self, market, **fields):
        order, signature = self.order(market, {"side": 0, "outcome": 0, "price": 1, "size": 1_000_000, **fields})
        return post("/api/v1/orders", {"order": order, "signature": signature})["orderHash"]

    def asked(self, action, message):
        """A request about this wallet's orders, with its deadline and its signature."""
        signed = {**message, "trader": self.address, "deadline": self.later()}
        return {**signed, "signature": self.signature(action, signed)[1]}

    # Relayed actions

    def nonces(self, market=None):
        query = "" if market is None else f"&market={market}"
        return get(f"/api/v1/users/{self.address}/nonces?chain_id={self.chain['chainId']}{query}")

    def due(self, kind, market):
        nonces = self.nonces(market)
        return int(nonces[kind] if kind in nonces else nonces["markets"][0][kind])

    def relayed(self, action, message, market=None):
        """The fields that the wallet has signed, beside the message's own."""
        kind = self.chain["signedActions"][action]["nonce"]["kind"]
        self.signed = kind, market, self.due(kind, market)
        deadline = self.later()
        parts, _ = self.signature(action, {**message, "nonce": self.signed[2], "deadline": deadline})
        return {"deadline": str(deadline), **parts}

    def mined(self, seconds=3):
        """Waits until the nonce that was signed last is used. It never is where the chain was as asked for before."""
        kind, market, nonce = self.signed
        end = time.monotonic() + seconds
        while self.due(kind, market) <= nonce and time.monotonic() < end:
            time.sleep(0.05)

    def approval(self, approved=True):
        fields = {"owner": self.address, "operator": self.contracts["settlement"], "approved": approved}
        return {"chainId": self.chain["chainId"], **fields, **self.relayed("ctf-approval", fields)}

    def permit(self, spender, value=UINT256_MAX):
        fields = {"owner": self.address, "spender": self.contracts[spender], "value": value}
        return {"chainId": self.chain["chainId"], **fields, "value": str(value), **self.relayed("usdc-permit", fields)}

    def sets(self, action, market, amount):
        fields = {
            "owner": self.address, "collateralToken": self.contracts["collateral"], "conditionId": market["id"], "amount": amount,
        }
        return {"chainId": self.chain["chainId"], **fields, "amount": str(amount), **self.relayed(action, fields)}

    def redemption(self, market):
        fields = {
            "collateralToken": self.contracts["collateral"], "parentCollectionId": ZERO_WORD, "conditionId": market["id"], "indexSets": [1, 2],
        }
        signed = self.relayed("ctf-redemption", {"owner": self.address, **fields}, market["id"])
        return {**fields, "indexSets": ["1", "2"], **signed, "marketAddress": market["contractAddress"]}

    def proposal(self, market, outcome=True):
        bond = int(self.nonces(market["id"])["markets"][0]["bond"])
        fields = {"market": market["contractAddress"], "proposer": self.address, "outcome": outcome, "bond": bond}
        signed = self.relayed("propose-resolution", fields, market["id"])
        return {
            "chainId": self.chain["chainId"], "marketAddress": market["contractAddress"], "proposer": self.address, "outcome": outcome, **signed,
        }

    def settlement(self, market, winner=0):
        fields = {"market": market["contractAddress"], "settler": self.address, "winningOutcome": winner}
        signed = self.relayed("settle-market", fields, market["id"])
        return {
            "chainId": self.chain["chainId"], "marketAddress": market["contractAddress"], "settler": self.address, "winningOutcome": winner, **signed,
        }
