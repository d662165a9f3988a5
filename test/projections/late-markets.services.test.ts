/** A quick market that was recorded after its end: the read models have its shares, its prices and its payment as of any other. */
import assert from 'node:assert/strict';
import { encodeCommand } from '../../engine/run/new-record.js';
import type { Command } from '../../engine/records/commands.js';
import { createEngine } from '../../engine/run/engine.js';
import { position } from '../../query/positions.js';
import { activeQuickMarket, quickMarketHistory } from '../../query/quick-markets.js';
import { resolution } from '../../query/resolution.js';
import { newCommand } from '../support/commands.js';
import { logOf, projectTo } from '../support/projected.js';
import { address, bytes32, readModels, type ReadModels } from '../support/read-models.js';

const START = 1_700_000_100;
const END = START + 900;
const AT = (END + 7_200) * 1_000;
const USER = address(7);
const ZERO = `0x${'0'.repeat(40)}`;
const head = { at: AT };

const opened: Command = newCommand('OpenMarket', {
  at: AT, marketId: bytes32(1), question: 'Up?', maker: address(99), contractAddress: address(1_001), expiration: END, chainId: 31_337,
  marketKind: 'quick', tokens: { yes: bytes32(11), no: bytes32(12) }, quick: { asset: 'BTC', startTime: START },
});
const priceAt = (time: number, price: string): Command => newCommand('RecordPrice', {
  ...head, asset: 'BTC', source: 'pyth', rank: 0, price, publishedAt: time * 1_000,
});
const mint: Command = newCommand('RecordTransfer', {
  ...head, chainId: 31_337, from: ZERO, to: USER, txHash: bytes32(90),
  items: [{ token: bytes32(11), amount: '5' }, { token: bytes32(12), amount: '5' }],
});
const resolve: Command = newCommand('ResolveMarket', { ...head, marketId: bytes32(1), winningOutcome: 1 });

describe('projections: a quick market that was recorded after its end', () => {
  let models: ReadModels;
  beforeEach(async () => { models = await readModels(); });
  afterEach(() => models.close());

  async function read(...commands: Command[]) {
    const engine = createEngine();
    const outcomes = commands.map((command) => engine.step(encodeCommand(command)).outcome);
    await projectTo(outcomes.length, { url: models.url, log: await logOf(outcomes), limits: { outcomes: 1_000, events: 1_000 } });
    const { db } = models;
    const bodyOf = async (answer: Promise<{ body: string }>) => JSON.parse((await answer).body) as Record<string, unknown>;
    const nowS = AT / 1_000;
    return {
      active: await bodyOf(activeQuickMarket(db, { asset: 'BTC', nowS })), history: await bodyOf(quickMarketHistory(db, { asset: 'BTC', nowS })),
      markets: (await models.run('select closed, resolved, yes_token::text from markets')).rows, resolution: await bodyOf(resolution(db, { marketId: bytes32(1), nowS })),
      position: await bodyOf(position(db, { market: { marketId: bytes32(1) }, user: USER })),
    };
  }
  const past = (fields: object) => ({ asset: 'BTC', history: [{
    id: 0, marketId: bytes32(1), asset: 'BTC', intervalMinutes: 15, startPrice: null, startTime: START, endTime: END, resolved: false, priceSource: '',
    createdAt: AT / 1_000, chainId: 31_337, contractAddress: address(1_001), priceMissed: false, endPrice: null, outcome: null, payment: 'none', ...fields,
  }] });

  it('is over and not active, and waits for its prices', async () => {
    const shown = await read(opened, mint);
    assert.deepEqual(shown.active, { active: false, asset: 'BTC', quickMarket: null, bestAskPrice: 0 });
    assert.deepEqual(shown.history, past({}));
    assert.deepEqual(shown.resolution, { marketId: bytes32(1), expired: true, resolved: false });
    assert.deepEqual(shown.markets, [{ closed: true, resolved: false, yes_token: String(BigInt(bytes32(11))) }]);
    assert.deepEqual(shown.position, { yesShares: 5, noShares: 5, yesCost: 3, noCost: 2, totalInvested: 5 });
  });

  it('is decided and paid like any other', async () => {
    const shown = await read(opened, mint, priceAt(START, '101'), priceAt(END, '100'), resolve);
    assert.deepEqual(shown.history, past({ startPrice: 101, priceSource: 'pyth', endPrice: 100, outcome: 1, resolved: true, payment: 'no' }));
    assert.deepEqual(shown.resolution, { marketId: bytes32(1), expired: true, resolved: true, winningOutcome: 1 });
  });

  it('shows that its prices were missed, and the half that is paid then', async () => {
    const missed: Command = newCommand('AdvanceClock', { ...head });
    assert.deepEqual((await read(opened, missed, missed, newCommand('HalveMarket', { ...head, marketId: bytes32(1) }))).history,
      past({ priceMissed: true, resolved: true, payment: 'half' }));
  });
});
