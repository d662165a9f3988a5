/** A history is not gone on with under another chain or signing domain. */
import { rejects } from 'node:assert/strict';
import { createKeccak256 } from '../command/keccak.js';
import { createPlaceOrder } from '../command/place-order.js';
import { createSignerRecovery } from '../command/recover.js';
import { prepareDomain, type OrderDomain } from '../command/typed-data.js';
import { encodeCommand, recordId } from '../engine/codec.js';
import type { Command } from '../engine/commands.js';
import { createEngine } from '../engine/engine.js';
import { createMemoryLog } from '../engine/log/memory.js';
import { checkHistory } from '../service/history-check.js';
import { domain, marketId, signedBody, START_MS, START_S } from './command-stack.js';

describe('a history under other settings', () => {
  /** A log and an engine that have seen a market, and one order if asked. */
  async function history({ withOrder }: { withOrder: boolean }) {
    const log = createMemoryLog();
    const engine = createEngine();
    const keccak256 = await createKeccak256();
    const record = async (command: Command) => {
      const data = encodeCommand(command);
      const position = await log.append('commands', [{ id: recordId(`test:${engine.state.position}`), data }]);
      return { position, outcome: engine.step(data).outcome };
    };
    await record({
      kind: 'OpenMarket', v: 1, at: START_MS, marketId, question: 'q', description: '', category: 'general', contractAddress: `0x${'01'.repeat(20)}`,
      maker: `0x${'02'.repeat(20)}`, expiration: START_S + 10_000, chainId: domain.chainId, marketKind: 'standard',
    });
    if (withOrder) {
      const place = createPlaceOrder({
        findMarket: () => domain, domainOf: () => prepareDomain(keccak256, domain), submit: record,
        permitDigestOf: () => undefined, exposureOf: () => undefined, recovery: await createSignerRecovery(keccak256),
        findOrder: () => Promise.resolve(undefined), originalOutcome: () => Promise.reject(new Error('none')), now: () => START_MS,
      });
      await place(await signedBody());
    }
    return (under: OrderDomain) => checkHistory({ state: engine.state, log, domain: prepareDomain(keccak256, under) });
  }

  it('goes on under its own, with orders and without', async () => {
    await (await history({ withOrder: true }))(domain);
    await (await history({ withOrder: false }))(domain);
  });

  it('is refused under another chain, which its markets are not on', async () => {
    const check = await history({ withOrder: false });
    await rejects(check({ ...domain, chainId: 1 }), /CHAIN_ID is 1, but the history has markets on chain 31337: set it back/);
  });

  it('is refused under another settlement contract or domain name, which give its orders other hashes', async () => {
    const check = await history({ withOrder: true });
    const message = /SETTLEMENT_DOMAIN_NAME or SETTLEMENT_ADDRESS is not the one that the orders of the history were signed for/;
    await rejects(check({ ...domain, name: 'Another' }), message);
    await rejects(check({ ...domain, verifyingContract: `0x${'99'.repeat(20)}` }), message);
  });
});
