/** The tip that a lane offers: what most nodes suggest, not what one of them says. */
import { deepEqual, equal } from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RpcError } from '../../command/chain/chain.js';
import { createRpc } from '../../command/chain/rpc.js';
import { lookAt, type LaneRpc } from '../../command/lane/chain-view.js';

const GWEI = 1_000_000_000;
const hex = (value: number) => `0x${value.toString(16)}`;

/** A chain at block 5 whose first node suggests `first`, and all nodes `each`. */
function rpcOf(first: string | undefined, each?: readonly unknown[]): LaneRpc {
  const answers: Record<string, unknown> = {
    eth_getBlockByNumber: { number: '0x5', baseFeePerGas: '0x7', gasLimit: '0x1c9c380' }, eth_getTransactionCount: '0x0', eth_maxPriorityFeePerGas: first,
  };
  return {
    chainId: 5,
    request<T>(method: string) {
      const answer = answers[method];
      return answer === undefined ? Promise.reject(new RpcError(method, -32_601, 'no such method', undefined)) : Promise.resolve(answer as T);
    },
    ...each === undefined ? {} : { each: <T>() => Promise.resolve(each as readonly T[]) },
  };
}

const looking = { address: `0x${'11'.repeat(20)}`, openTransactions: [], confirmations: 2, isDoubtful: () => false };
const tipOf = async (rpc: LaneRpc) => Number((await lookAt(rpc, looking)).priorityFeePerGas);

describe('lane: the tip', () => {
  const cases: readonly (readonly [string, LaneRpc, number])[] = [
    ['the median of three, whatever one says', rpcOf(hex(500 * GWEI), [hex(500 * GWEI), hex(2 * GWEI), hex(1 * GWEI)]), 2 * GWEI],
    ['the lower one of two', rpcOf(hex(500 * GWEI), [hex(500 * GWEI), hex(2 * GWEI)]), 2 * GWEI],
    ['the lower one of the two in the middle', rpcOf('0x1', ['0x1', '0x9', '0x3', '0x5']), 3],
    ['of one node, its own', rpcOf('0x9', ['0x9']), 9],
    ['without what is no number, or is beyond all reason', rpcOf('0x1', [null, '0x', 'much', 7, hex(2 ** 60), '0x4']), 4],
    ['by numbers, not by their texts', rpcOf('0x1', ['0x9', '0x10', '0x2']), 9],
    ['the first healthy node\'s, when none has told it in time', rpcOf('0x6', []), 6],
    ['the only node\'s', rpcOf('0x6'), 6],
    ['nothing, when nodes do not know the question', rpcOf(undefined, []), 0],
  ];
  for (const [what, rpc, tip] of cases) it(`is ${what}`, async () => { equal(await tipOf(rpc), tip); });

  describe('with nodes of which one does not answer', () => {
    const servers: Server[] = [];
    after(() => { for (const server of servers) server.close().closeAllConnections(); });

    /** A node that answers every request with this, its chain id but for; undefined: never. */
    async function node(tip: string | undefined): Promise<string> {
      const server = createServer((request, response) => {
        const pieces: Buffer[] = [];
        request.on('data', (piece: Buffer) => { pieces.push(piece); });
        request.on('end', () => {
          const { id, method } = JSON.parse(Buffer.concat(pieces).toString()) as { id: number; method: string };
          if (method === 'eth_chainId') response.end(JSON.stringify({ jsonrpc: '2.0', id, result: '0x5' }));
          else if (tip !== undefined) response.end(JSON.stringify({ jsonrpc: '2.0', id, result: tip }));
        });
      });
      servers.push(server);
      await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    }

    it('is asked of the others, who are not kept waiting', async () => {
      const urls = await Promise.all([node('0x3'), node(undefined), node('0x2')]);
      const rpc = createRpc({ chainId: 5, urls, now: () => Math.round(performance.now()), report: () => undefined });
      deepEqual([...await rpc.each<string>('eth_maxPriorityFeePerGas', [], 500)].sort(), ['0x2', '0x3']);
    });
  });
});
