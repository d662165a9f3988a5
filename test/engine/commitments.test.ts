/** What a trader has promised on a chain: open orders and unsettled fills. */
import { deepEqual } from 'node:assert/strict';
import { createEngine } from '../../engine/run/engine.js';
import { NO, YES, BUY, SELL } from '../../engine/records/fields.js';
import { viewOf } from '../../engine/run/view.js';
import {
  accepted, address, buy, bytes32, cancel, cancelled, fail, failed, filled, open, opened, play, rested, sell, settle, settled,
  type Line,
} from '../support/scenario.js';

const M: Line = [open('M'), opened('M')];
const P: Line = [open('P', { chainId: 2 }), opened('P')];
const [marketId, there] = [bytes32('M'), bytes32('P')];

describe('a trader\'s commitments', () => {
  function of(trader: string, lines: readonly Line[], chainId = 1) {
    const engine = createEngine();
    play({ step: (_command, data) => engine.step(data) }, lines);
    return [...viewOf(engine).commitments({ trader: address(trader), chainId })];
  }

  const trades: Line[] = [
    M, P, [buy('far', 'ben', 2, 500_000, { market: 'P' }), accepted('far'), rested('far', 2)],
    [sell('ask', 'anna', 10, 600_000, { outcome: NO }), accepted('ask'), rested('ask', 10)],
    [buy('bid', 'ben', 4, 650_000, { outcome: NO }), accepted('bid'), filled(0, 'bid', 'ask', 4, 3)],
    [buy('more', 'ben', 8, 600_000, { outcome: NO }), accepted('more'), filled(1, 'more', 'ask', 6, 4), rested('more', 2)],
  ];

  it('are none of a stranger\'s', () => { deepEqual(of('zoe', trades), []); });

  it('are the open orders with what remains of them, then the unsettled fills, of one chain', () => {
    deepEqual(of('ben', trades), [
      { orderHash: bytes32('more'), marketId, side: BUY, outcome: NO, size: 2n, cost: 2n },
      { fill: 0, orderHash: bytes32('bid'), marketId, side: BUY, outcome: NO, size: 4n, cost: 3n },
      { fill: 1, orderHash: bytes32('more'), marketId, side: BUY, outcome: NO, size: 6n, cost: 4n },
    ]);
    deepEqual(of('ben', trades, 2), [{ orderHash: bytes32('far'), marketId: there, side: BUY, outcome: YES, size: 2n, cost: 1n }]);
    deepEqual(of('anna', trades).map(({ fill, side, size }) => [fill, side, size]), [[0, SELL, 4n], [1, SELL, 6n]]);
  });

  it('end with the settlement, with the failure, with the cancel', () => {
    const ends: Line[] = [
      [settle(0), settled(0)],
      [fail(1, 'unknown', 'both'), failed(1), cancelled('more', 'settlement_failed', 8, 2), cancelled('ask', 'settlement_failed', 6, 0)],
    ];
    deepEqual([of('ben', [...trades, ...ends]), of('anna', [...trades, ...ends])], [[], []]);
    const gone: Line[] = [[cancel('more'), cancelled('more', 'user', 2)]];
    deepEqual(of('ben', [...trades, ...gone]).map(({ fill }) => fill), [0, 1]);
  });

  it('are not those of an order that no longer lives, though it was not swept yet', () => {
    const short: Line[] = [M, [buy('bid', 'ben', 4, 650_000, { expiration: 60 }), accepted('bid'), rested('bid', 4)]];
    const later: Line[] = [[open('N', { at: 50_000 }), opened('N')]];
    deepEqual([of('ben', short).length, of('ben', [...short, ...later]).length], [1, 0]);
  });
});
