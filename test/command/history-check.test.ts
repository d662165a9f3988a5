/** The service refuses to continue a history under another chain or signing domain. */
import { rejects } from 'node:assert/strict';
import { createKeccak256, prepareDomain, type OrderDomain } from '../../command/signing/typed-data.js';
import { createOrderPlacing, createPlaceOrder } from '../../command/orders/place-order.js';
import { createSignerRecovery } from '../../command/signing/recover.js';
import { encodeCommand, recordId } from '../../engine/run/new-record.js';
import type { Command } from '../../engine/records/commands.js';
import { createEngine } from '../../engine/run/engine.js';
import { viewOf } from '../../engine/run/view.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { checkHistory } from '../../command/signing/history-check.js';
import { domain, marketId, signedBody, START_MS, START_S } from '../harness/order-world.js';
import { newCommand } from '../support/commands.js';

describe('a history under other settings', () => {
  /** A log and an engine that have seen a market, and one order if asked. */
  async function history({ withOrder, onChain }: { withOrder: boolean; onChain: boolean | 'without markets' }) {
    const log = createMemoryLog();
    const engine = createEngine();
    const keccak256 = await createKeccak256();
    const record = async (command: Command) => {
      const data = encodeCommand(command);
      const position = await log.append('commands', [{ id: recordId(`test:${viewOf(engine).position}`), data }]);
      return { position, outcome: engine.step(data).outcome };
    };
    const tokens = { yes: `0x${'0a'.repeat(32)}`, no: `0x${'0b'.repeat(32)}` };
    const { chainId } = domain;
    if (onChain !== false) await record(newCommand('AdvanceChain', { at: START_MS, chainId, block: 1, blockHash: `0x${'0c'.repeat(32)}` }));
    if (onChain !== 'without markets') await record(newCommand('OpenMarket', {
      at: START_MS, marketId, question: 'q', contractAddress: `0x${'01'.repeat(20)}`, maker: `0x${'02'.repeat(20)}`,
      expiration: START_S + 10_000, chainId: domain.chainId, ...onChain ? { tokens } : {},
    }));
    if (withOrder) {
      const place = createPlaceOrder(createOrderPlacing({
        view: { market: () => domain, order: () => undefined, refusalOf: () => undefined, refusalByBook: () => undefined,
          time: 0, suspendedUntil: () => 0, openOrderCount: () => 0 },
        caughtUp: () => Promise.resolve(),
        maxOpenOrders: 1, minSizeOf: () => 1, domainOf: () => prepareDomain(keccak256, domain), submit: record,
        permitDigestOf: () => undefined, exposureOf: () => undefined, recovery: await createSignerRecovery(keccak256),
        findOrder: () => Promise.resolve(undefined), originalOutcome: () => Promise.reject(new Error('none')), now: () => START_MS,
      }));
      await place(await signedBody());
    }
    const prepared = (under: readonly OrderDomain[]) => under.map((each) => prepareDomain(keccak256, each));
    return (settles: boolean, ...under: OrderDomain[]) => checkHistory({ view: viewOf(engine), log, domains: prepared(under), settles });
  }

  const other = { ...domain, chainId: 1, verifyingContract: `0x${'11'.repeat(20)}` };

  it('continues under its own settings, with orders and without, whatever other chains there are', async () => {
    for (const withOrder of [true, false]) {
      const check = await history({ withOrder, onChain: true });
      await check(true, domain);
      await check(true, other, domain);
      await (await history({ withOrder, onChain: false }))(false, domain);
    }
  });

  it('is refused when the settings no longer name a chain that its markets are on', async () => {
    const check = await history({ withOrder: false, onChain: true });
    const message = /^ForeignHistory: the history has markets on chain 31337, but the settings \(CHAINS, CHAIN_ID\) name only 1, 2: set it back, or/;
    await rejects(check(true, other, { ...other, chainId: 2 }), message);
  });

  it('is refused under another settlement contract or domain name, which give its orders other hashes', async () => {
    const check = await history({ withOrder: true, onChain: true });
    const message = /the orders of the history were signed for another name or settlement contract on chain 31337 than "/;
    await rejects(check(true, other, { ...domain, name: 'Another' }), message);
    await rejects(check(true, { ...domain, verifyingContract: `0x${'99'.repeat(20)}` }), message);
  });

  it('is refused when it settled on a chain and is not to any more, and the other way round', async () => {
    const settled = await history({ withOrder: false, onChain: true });
    await rejects(settled(false, domain), /CHAINS is none, but the history settles on chain 31337: set it back/);
    const unsettled = await history({ withOrder: false, onChain: false });
    await rejects(unsettled(true, domain),
      new RegExp(`CHAINS names a chain to settle on, but market ${marketId} of the history was opened without a chain \\(CHAINS=none\\): set it`));
    const quiet = await history({ withOrder: false, onChain: 'without markets' });
    await quiet(true, domain);
    await rejects(quiet(false, domain), /CHAINS is none, but the history settles on chain 31337: set it back/);
  });
});
