"""Signatures against a vector that another library has made: the key of every development chain, one order."""

from __future__ import annotations

from driving import CONFIG

from prediction_exchange.signing import sign, signer_of

KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
DOMAIN = {
    "name": "Prediction Exchange Settlement",
    "version": "1",
    "chainId": 31_337,
    "verifyingContract": "0x5fbdb2315678afecb367f032d93f642f64180aa3",
}
ORDER = {
    "marketId": "0x" + "4d" * 32,
    "trader": "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    "side": 0,
    "outcome": 0,
    "price": 620_000,
    "size": 25_000_000,
    "nonce": 1_790_000_000_000_000_001,
    "expiration": 4_000_000_000,
    "makerFeeRecipient": "0x" + "00" * 20,
}
DIGEST = "0xc9107d9bd4947225e949801312c3a4bcee405f0329681b4d5c5006a57172e2d9"
SIGNATURE = (
    "0x6bdd3dbf3ff9f88fbc63755db7460001dbd3bb2e6bf1e6a5eec82f0b971d7b6c"
    "37243405dc7fc8f18ae347124f096d7662f16f09360183f9bd705db4245f1d811c"
)


def test_an_order_has_the_digest_and_the_signature_of_the_vector() -> None:
    types = CONFIG["chains"][0]["signedActions"]["order"]["types"]
    signed = sign(signer_of(KEY), DOMAIN, types, ORDER)
    assert (signed.digest, signed.text) == (DIGEST, SIGNATURE)
    assert signed.vrs == {"v": 28, "r": SIGNATURE[:66], "s": "0x" + SIGNATURE[66:130]}
