"""Audits a prediction exchange from the outside: python audit.py API [CHAIN_ID=RPC_URL]... [TRANSACTION]...
Recomputes every digest of its history, checks every signature, and compares what the chains have anchored, settled and failed with it, but for
TRANSACTIONs that are known to be false. See docs/auditing.md. Code 0: everything holds; 1: something does not; 2: it could not be checked."""
import collections
import hashlib
import json
import re
import sys

import requests
from coincurve import PublicKey
from Crypto.Hash import keccak

ENTRY = re.compile(rb'\{"position":(\d+),"id":"[0-9a-f-]{36}","command":(\{.*\}),"outcome":(\{"at":\d+,"events":\[.*\]\}),"digest":"0x([0-9a-f]{64})"\}')
HASH = re.compile('0x[0-9a-fA-F]{64}')
ORDER = ('Order', 'bytes32 marketId,address trader,uint8 side,uint8 outcome,uint64 price,uint64 size,uint64 nonce,uint64 expiration,address makerFeeRecipient')
SIGNED = {
    'PlaceOrder': ORDER,
    'CancelOrder': ('CancelOrder', 'bytes32 orderHash,address trader,uint64 deadline'),
    'CancelOrders': ('CancelOrders', 'bytes32[] orderHashes,address trader,uint64 deadline'),
    'CancelAll': ('CancelAll', 'address trader,bytes32 marketId,uint64 deadline'),
    'CancelAfter': ('CancelAfter', 'address trader,uint32 seconds,uint64 deadline'),
    'ReduceOrder': ('ReduceOrder', 'bytes32 orderHash,address trader,uint64 size,uint64 deadline'),
}
ENDED = ('FillSettled(uint64,bytes32,bytes32,uint64,uint64,uint256)', 'FillFailed(uint64,bytes32,bytes32,uint8,uint8)')

checked = collections.Counter(findings=0)
http = requests.Session()
http.hooks['response'] = lambda answer, **_: answer.raise_for_status()


def found(place, what):
    checked['findings'] += 1
    print(f'FOUND {place}: {what}', flush=True)


def keccak256(data):
    return keccak.new(digest_bits=256, data=data).digest()


def word(value):  # 32 bytes, as the contract ABI encodes whole numbers, addresses and bytes32; a list is the hash of its words
    if isinstance(value, list):
        return keccak256(b''.join(map(word, value)))
    return (int(value, 16) if str(value).startswith('0x') else int(value)).to_bytes(32, 'big')


def separator(domain):  # EIP-712, as the next function
    texts = b'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)', domain['name'].encode(), domain['version'].encode()
    return keccak256(b''.join([*map(keccak256, texts), word(domain['chainId']), word(domain['verifyingContract'])]))


def signed_digest(domain, type_name, members, message):
    words = [keccak256(f'{type_name}({members})'.encode()), *(word(message.get(member.split()[1], 0)) for member in members.split(','))]
    return keccak256(b'\x19\x01' + domain + keccak256(b''.join(words)))


def signer(digest, signature):
    key = PublicKey.from_signature_and_message(bytes.fromhex(signature[2:130]) + bytes([int(signature[130:], 16) - 27]), digest, hasher=None)
    return '0x' + keccak256(key.format(compressed=False)[1:])[12:].hex()


def check_signature(place, command, domains):  # several domains when the market is unknown: any of them may be meant
    kind = SIGNED[command['kind']]
    digests = [signed_digest(domain, *kind, command) for domain in domains]
    if kind == ORDER and word(command['orderHash']) not in digests:
        found(place, f'{command["orderHash"]} is not the hash of this order')
    try:
        is_signed = command['trader'] in [signer(digest, command['signature']) for digest in digests]
    except Exception:  # no key can have made it
        is_signed = False
    if not is_signed:
        found(place, f'the signature is not that of {command["trader"]}')
    checked[f'signatures of {kind[0]}'] += 1


def rpc(url, method, *params):
    answer = http.post(url, json={'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': params}, timeout=60).json()
    if 'error' in answer:
        raise ValueError(f'{method} at {url}: {answer["error"]}')
    return answer['result']


def logs(url, chain, *events):  # yields (event, its first indexed value, its data, block, transaction)
    newest, topics = int(rpc(url, 'eth_blockNumber'), 16), ['0x' + keccak256(event.encode()).hex() for event in events]
    for first in range(0, newest + 1, 5_000):
        blocks = {'fromBlock': hex(first), 'toBlock': hex(min(newest, first + 4_999))}
        for log in rpc(url, 'eth_getLogs', {'address': chain['contracts']['settlement'], 'topics': [topics], **blocks}):
            yield events[topics.index(log['topics'][0])], int(log['topics'][1], 16), log['data'], int(log['blockNumber'], 16), log['transactionHash']


def entries(lines, newest):  # yields (position, digest, command, outcome), every digest recomputed
    digest, position = bytes(32), -1
    for line in filter(None, lines):
        entry = ENTRY.fullmatch(line)
        if entry is None:
            return found(f'after position {position}', f'this is no entry of a history: {line[:80]!r}')
        previous, position = position, int(entry[1])
        if position != previous + 1:
            found(f'position {position}', f'it follows position {previous}')
        computed = hashlib.sha256(digest + len(entry[2]).to_bytes(4, 'big') + entry[2] + entry[3]).digest()
        digest = bytes.fromhex(entry[4].decode())  # the recorded one, so that one changed entry is one finding
        if computed != digest:
            found(f'position {position}', f'the digest is {digest.hex()}, but the entry and the digest before it give {computed.hex()}')
        checked['digests'] += 1
        yield position, digest, entry[2], entry[3]
    if position != newest:
        found(f'after position {position}', f'the history breaks off: its newest position is {newest}')


def main(api, *named):
    config = http.get(f'{api}/api/v1/config', timeout=60).json()
    chains = {chain['chainId']: chain for chain in config['chains']}
    domains = {number: separator(chain['orderDomain']) for number, chain in chains.items()}
    urls = {number: chain['rpcUrl'] for number, chain in chains.items() if chain['contracts']['settlement']}
    urls.update((int(number), url) for number, url in (node.split('=', 1) for node in named if not HASH.fullmatch(node)))
    anchors = [(number, *log) for number, url in urls.items() for log in logs(url, chains[number], 'HistoryAnchored(uint64,bytes32)')]
    wanted, digests = {position for _, _, position, *_ in anchors}, {}  # what is anchored by now is in the history that is read next
    chains_of, ended, cursors = {}, collections.defaultdict(dict), collections.defaultdict(lambda: -1)
    passed_over = {transaction.lower() for transaction in named if HASH.fullmatch(transaction)}
    answer = http.get(f'{api}/api/v1/events', headers={'Accept': 'application/x-ndjson'}, stream=True, timeout=60)
    for position, digest, command, outcome in entries(answer.iter_lines(1 << 20), int(answer.headers['X-Log-Position'])):
        if position in wanted:
            digests[position] = digest
        try:
            command = json.loads(command)
            if 'signature' in command:
                of = [command['chainId']] if 'chainId' in command else chains_of.get(command.get('marketId'), domains)
                check_signature(f'position {position}', command, [domains[number] for number in of])
            elif command['kind'] == 'PlaceOrder' or command['kind'] in SIGNED and 'fact' not in command and config['cancelAuth'] == 'required':
                found(f'position {position}', f'{command["kind"]} has no signature')
            for event in json.loads(outcome)['events']:
                if event['type'] == 'MarketOpened':
                    chains_of[event['marketId']] = [event['chainId']]
                elif event['type'] in ('FillSettled', 'FillFailed'):
                    ended[chains_of[event['marketId']][0]][event['fill']] = event['type'], event['txHash']
                elif event['type'] == 'ChainAdvanced':
                    cursors[event['chainId']] = event['block']
        except (LookupError, TypeError, ValueError) as error:
            found(f'position {position}', f'no exchange records such an entry: {type(error).__name__} {error}')
    checked['anchors'] = len(anchors)
    for number, _, position, data, _, transaction in anchors:
        if transaction not in passed_over and digests.get(position) != bytes.fromhex(data[2:66]):
            found(f'position {position}', f'chain {number} has anchored the digest {data[2:66]} in transaction {transaction}')
    for number, url, recorded in [(number, url, ended[number]) for number, url in urls.items()]:
        on_chain = {fill: (event.split('(')[0], transaction) for event, fill, _, block, transaction in logs(url, chains[number], *ENDED)
                    if fill in recorded or block <= cursors[number]}  # later ones the history cannot have yet
        checked['fills that ended'] += len(on_chain)
        for fill in sorted(recorded.keys() | on_chain.keys()):
            if recorded.get(fill) != on_chain.get(fill) and on_chain.get(fill, (None, None))[1] not in passed_over:
                found(f'fill {fill}', f'the history has {recorded.get(fill)}, chain {number} has {on_chain.get(fill)}')
    print(', '.join(f'{count} {what}' for what, count in checked.items()))
    return 1 if checked['findings'] else 0


try:
    sys.exit(main(*sys.argv[1:]))
except (OSError, LookupError, TypeError, ValueError) as error:
    print(*[__doc__][len(sys.argv) - 1:], f'not checked: {type(error).__name__}: {error}', sep='\n', file=sys.stderr)
    sys.exit(1 if checked['findings'] else 2)
