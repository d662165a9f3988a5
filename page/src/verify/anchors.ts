/** The digests that the settlement contract has anchored, read from a node of the visitor's own by JSON-RPC. */
import type { Ask } from './history-lines.js';

export interface AnchorSource {
  readonly nodeUrl: string;
  readonly chainId: number;
  readonly contract: string;
}

export interface ChainAnchor {
  readonly position: number;
  readonly digest: string;
  readonly txHash: string;
}

/** Keccak-256 of `HistoryAnchored(uint64,bytes32)`. */
export const ANCHORED_TOPIC = '0xab622586697c66063b3c6e6db01a14ba73ddb9fcb600da7fe3d71b270e90bc4a';

const MOST_ANSWER_CHARACTERS = 64_000_000;

/** Every anchor of the contract up to the chain's last final block. Throws Error with what the node did wrong. */
export async function readAnchors(ask: Ask, { nodeUrl, chainId, contract }: AnchorSource, signal: AbortSignal): Promise<ChainAnchor[]> {
  const call = callerOf(ask, nodeUrl, signal);
  const served = await call('eth_chainId', []);
  if (Number(served) !== chainId) throw new Error(`the node serves chain ${Number(served)}, not ${chainId}`);
  const final = await call('eth_getBlockByNumber', ['finalized', false]) as { number?: string } | null;
  const last = Number(final?.number ?? NaN);
  if (!Number.isSafeInteger(last)) throw new Error('the node does not tell its last final block');
  return anchorsWithin(call, contract, 0, last);
}

type Call = (method: string, params: readonly unknown[]) => Promise<unknown>;

/** A node that refuses a range, as too long or with too many results, is asked for its halves. */
async function anchorsWithin(call: Call, contract: string, from: number, to: number): Promise<ChainAnchor[]> {
  let logs: unknown;
  try {
    logs = await call('eth_getLogs', [{
      address: contract, topics: [ANCHORED_TOPIC], fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}`,
    }]);
  } catch (error) {
    if (!(error instanceof NodeRefusal) || from === to) throw error;
    const middle = Math.floor((from + to) / 2);
    const before = await anchorsWithin(call, contract, from, middle);
    return [...before, ...await anchorsWithin(call, contract, middle + 1, to)];
  }
  if (!Array.isArray(logs)) throw new Error('the node\'s answer to eth_getLogs is no list');
  return logs.map(anchorOf);
}

function anchorOf(log: unknown): ChainAnchor {
  const { topics, data, transactionHash } = log as { topics?: readonly unknown[]; data?: unknown; transactionHash?: unknown };
  const position = Number(topics?.[1] ?? NaN);
  if (!Number.isSafeInteger(position) || topics?.[0] !== ANCHORED_TOPIC || !/^0x[0-9a-f]{64}$/i.test(String(data))) {
    throw new Error('the node tells of an event that is no anchor');
  }
  return { position, digest: String(data).toLowerCase(), txHash: String(transactionHash) };
}

/** The node has answered with an error. */
class NodeRefusal extends Error {}

function callerOf(ask: Ask, url: string, signal: AbortSignal): Call {
  return async (method, params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await ask(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal, credentials: 'omit' });
    const text = await response.text();
    if (text.length > MOST_ANSWER_CHARACTERS) throw new Error(`the node's answer to ${method} is too long`);
    let answer: { result?: unknown; error?: { message?: unknown } } | null;
    try {
      answer = JSON.parse(text) as typeof answer;
    } catch {
      throw new Error(`the node answered ${method} with status ${response.status} and no JSON`);
    }
    if (answer?.error !== undefined) throw new NodeRefusal(`the node refuses ${method}: ${String(answer.error.message)}`);
    if (answer?.result === undefined) throw new Error(`the node's answer to ${method} has no result`);
    return answer.result;
  };
}
