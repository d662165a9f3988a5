/** An audit compares each resolution of a quick market on the chain with the strike, the end price and the decision that the history had by then. */
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from '../../engine/records/commands.js';
import { recordId } from '../../engine/run/new-record.js';
import { audit } from '../../tools/audit/audit.js';
import type { AuditReport } from '../../tools/audit/report.js';
import {
  CHAIN_ID, conditionResolved, emptyHistory, linesOfHistory, market, nodeOf, quickMarketCreated, quickMarketResolved, redecided, sourceOf,
  transaction, type AuditedHistory, type Emitted, type HistoryRecord,
} from '../support/audited-history.js';
import { newCommand } from '../support/commands.js';
import { START_MS } from '../support/random-commands.js';

const startTime = Math.ceil(START_MS / 1_000) + 60;
const endTime = startTime + 900;
const TX = transaction(50);
/** The prices were published within a second: the chain has the second's beginning. */
const STRIKE = { price: '6000000000000', publishedAt: startTime * 1_000 + 1_999 };
const END = { price: '6000000000001', publishedAt: endTime * 1_000 + 14_500 };
const terms = {
  startPrice: 6_000_000_000_000n, startPublishTime: startTime + 1, endPrice: 6_000_000_000_001n, endPublishTime: endTime + 14, winningOutcome: 0,
};

function price(history: AuditedHistory, { price: text, publishedAt }: typeof STRIKE): void {
  const command = newCommand('RecordPrice', { at: publishedAt, asset: 'BTC', source: 'simulated', rank: 0, price: text, publishedAt });
  history.add(command, recordId(`RecordPrice:BTC:simulated:${publishedAt}`));
}

/** A history with a quick market, decided as YES unless told otherwise, and a block with these events. */
async function resolvedBy(events: readonly Emitted[], prices: readonly (typeof STRIKE)[] = [STRIKE, END]): Promise<AuditedHistory> {
  const history = await emptyHistory();
  history.block(...quickMarketCreated(0, { startTime, endTime }));
  for (const each of prices) price(history, each);
  history.block(...events);
  return history;
}

type Audited = Pick<AuditedHistory, 'chainEvents' | 'blocks'> & { readonly records: readonly HistoryRecord[] };

async function audited({ records, chainEvents, blocks }: Audited): Promise<AuditReport> {
  const rpcs = new Map([[CHAIN_ID, nodeOf(chainEvents, blocks)]]);
  return await audit({ source: sourceOf(linesOfHistory(records)), threads: 0, rpcs, patienceMs: 0 });
}

const countOf = ({ checks }: AuditReport) => checks.filter(({ name }) => name === 'quickResolutions').map(({ status, count }) => [status, count]);
const positionOf = ({ records }: AuditedHistory, kind: Command['kind']) =>
  records.findIndex(({ command }) => (JSON.parse(command.toString()) as Command).kind === kind);

describe('an audit of quick markets', () => {
  it('passes and counts those that the chain resolved as the history decided', async () => {
    const report = await audited(await resolvedBy(quickMarketResolved(0, terms, TX)));
    deepEqual([report.difference, countOf(report)], [null, [['passed', 1]]]);
  });

  it('passes where the history ends between the resolution and what the quick resolver says of it', async () => {
    const history = await resolvedBy(quickMarketResolved(0, terms, TX));
    const report = await audited({ ...history, records: history.records.slice(0, -1) });
    deepEqual([report.difference, countOf(report)], [null, [['passed', 1]]]);
  });

  it('knows from a checkpoint what was decided before it', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'exchange-audit-'));
    const checkpoint = { path: join(directory, 'checkpoint') };
    try {
      for (const [change, expected] of [[{}, undefined], [{ endPrice: terms.endPrice + 1n }, 'quickResolutions']] as const) {
        await rm(directory, { recursive: true, force: true });
        await mkdir(directory);
        const { records, chainEvents, blocks } = await resolvedBy(quickMarketResolved(0, { ...terms, ...change }, TX));
        const rpcs = new Map([[CHAIN_ID, nodeOf(chainEvents, blocks)]]);
        const upTo = (length: number) => audit(
          { source: sourceOf(linesOfHistory(records.slice(0, length))), threads: 0, rpcs, patienceMs: 0, checkpoint });
        equal((await upTo(records.length - 2)).passed, true);
        const { resumedAt, difference } = await upTo(records.length);
        deepEqual([resumedAt, difference?.check], [records.length - 2, expected]);
      }
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  it('passes for a market that the administrator halved', async () => {
    const report = await audited(await resolvedBy([conditionResolved(0, [1, 1], TX)], []));
    deepEqual([report.difference, countOf(report)], [null, [['passed', 0]]]);
  });

  const wrong: readonly (readonly [string, Partial<typeof terms>])[] = [
    ['another price at the start', { startPrice: terms.startPrice - 1n }], ['a start price that is higher than the end price, and NO', { startPrice: terms.endPrice + 1n, winningOutcome: 1 }],
    ['another time at the start', { startPublishTime: startTime }], ['another price at the end', { endPrice: terms.endPrice + 1n }],
    ['another time at the end', { endPublishTime: endTime + 15 }], ['the other outcome', { winningOutcome: 1 }], ['a negative price', { startPrice: -1n }],
  ];
  for (const [what, change] of wrong) {
    it(`finds ${what}`, async () => {
      const history = await resolvedBy(quickMarketResolved(0, { ...terms, ...change }, TX));
      const { passed, difference } = await audited(history);
      equal(passed, false);
      deepEqual([difference?.check, difference?.place], ['quickResolutions', {
        position: positionOf(history, 'ResolveMarket'), chainId: CHAIN_ID, block: 2, logIndex: 0, txHash: TX,
      }]);
      match(difference!.what, new RegExp(`^the quick market ${market(0)} was resolved by other prices, or to another outcome, than the history decided`));
    });
  }

  for (const [what, prices] of [['nothing is known of its prices', []], ['only its strike is known', [STRIKE]]] as const) {
    it(`finds a market that was resolved while ${what}`, async () => {
      const { difference } = await audited(await resolvedBy(quickMarketResolved(0, terms, TX), prices));
      equal(difference?.check, 'quickResolutions');
      match(difference.what, /was resolved before the history had decided it/);
    });
  }

  it('finds a market that was decided after the chain had resolved it: the decision of then counts', async () => {
    const history = await resolvedBy(quickMarketResolved(0, terms, TX), [STRIKE]);
    price(history, END);
    equal((await audited(history)).difference?.check, 'quickResolutions');
  });

  it('finds a resolution without the quick resolver\'s prices, and one that only the quick resolver knows', async () => {
    const [paid, told] = quickMarketResolved(0, terms, TX);
    const silent = await audited(await resolvedBy([paid!]));
    deepEqual([silent.difference?.check, silent.difference?.place.logIndex], ['quickResolutions', 0]);
    match(silent.difference!.what, /was resolved without the prices/);
    const unpaid = await audited(await resolvedBy([told!]));
    deepEqual([unpaid.difference?.check, unpaid.difference?.place.txHash], ['quickResolutions', TX]);
  });

  it('does not mind markets that the history does not have', async () => {
    const report = await audited(await resolvedBy(quickMarketResolved(7, terms, TX)));
    deepEqual([report.difference, countOf(report)], [null, [['passed', 0]]]);
  });

  it('finds a resolution, and a halving, that names no event of the chain', async () => {
    const history = await resolvedBy([]);
    const about = { at: END.publishedAt, marketId: market(0) };
    for (const end of [newCommand('ResolveMarket', { ...about, winningOutcome: 1 }), newCommand('HalveMarket', about)]) {
      const command = Buffer.from(JSON.stringify(end));
      const forged = redecided([...history.records, { id: history.records.at(-1)!.id, command }]);
      ok(/"MarketResolved"|"MarketHalved"/.test(forged.at(-1)!.outcome), forged.at(-1)!.outcome);
      const { difference } = await audited({ ...history, records: forged });
      deepEqual([difference?.check, difference?.place], ['chainFacts', { position: history.records.length, chainId: CHAIN_ID }]);
    }
  });
});
