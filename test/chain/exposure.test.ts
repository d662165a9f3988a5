/** Exposure: what a trader has promised against what the chain says the trader has, at the block that the history has got to. */
import assert from 'node:assert/strict';
import { ChainUnavailable } from '../../command/chain/chain.js';
import { createExposure, type Exposure } from '../../command/chain/exposure.js';
import type { Holdings } from '../../command/chain/holdings.js';
import { createReservations } from '../../command/chain/reservations.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import type { FillMatched } from '../../engine/records/events.js';
import { RequestError } from '../../engine/records/errors.js';
import { BUY, NO, SELL, YES } from '../../engine/records/fields.js';
import type { OpenOrder } from '../../engine/run/open-orders.js';
import { newCommand } from '../support/commands.js';

const CHAIN = 31_337;
const market = `0x${'1'.repeat(64)}`;
const otherMarket = `0x${'2'.repeat(64)}`;
const foreignMarket = `0x${'f'.repeat(64)}`;
const trader = `0x${'a'.repeat(40)}`;
const other = `0x${'b'.repeat(40)}`;
const UNITS = 1_000_000n;

const rich: Holdings = { collateral: 100n * UNITS, allowance: 100n * UNITS, permitNonce: 0n, approved: true, shares: [100n * UNITS] };

/** The exposure of a chain whose blocks hold what `blocks` says; the history is at `recorded` and may catch up to `final`. */
function stack({ blocks = { 5: rich }, recorded, final = recorded ?? 5, open = [], confirmations = 0 }: {
  blocks?: Readonly<Record<number, Holdings>>; recorded?: number | undefined; final?: number; open?: OpenOrder[];
  confirmations?: number;
} = { recorded: 5 }) {
  const chain = {
    blocks: { ...blocks } as Record<number, Holdings | Error>, recorded, final, reads: [] as string[], problem: undefined as string | undefined,
    whileReading: () => { /* as is */ },
    latest: undefined as number | undefined, permitHolds: true,
  };
  const reservations = createReservations({ isHere: (marketId) => marketId !== foreignMarket, traderOf: () => trader });
  for (const order of open) if (order.chainId === CHAIN) reservations.addOrder({ ...order, trader, size: order.remaining });
  const exposure = createExposure({
    chainId: CHAIN, reservations, problem: () => chain.problem,
    recordedBlock: () => chain.recorded, confirmations, latestBlock: () => chain.latest,
    catchUp: () => {
      chain.recorded = chain.final;
      return Promise.resolve();
    },
    readHoldings: ({ block, tokens }) => {
      chain.reads.push(`${block}:${tokens.join()}`);
      chain.whileReading();
      const holdings = chain.blocks[block]!;
      return holdings instanceof Error ? Promise.reject(holdings) : Promise.resolve(tokens.length === 0 ? { ...holdings, shares: [] } : holdings);
    },
    permitHolds: () => Promise.resolve(chain.permitHolds),
    tokenOf: (marketId, outcome) => marketId === market ? BigInt(outcome + 1) : undefined,
  });
  return { chain, exposure, reservations };
}

function order(fields: Partial<PlaceOrder> = {}): PlaceOrder {
  return newCommand('PlaceOrder', {
    at: 0, orderHash: `0x${'9'.repeat(64)}`, marketId: market, trader, side: BUY, outcome: YES, price: 500_000, size: String(10n * UNITS),
    nonce: '1', expiration: '2000000000', signature: `0x${'0'.repeat(130)}`, ...fields,
  });
}

function matched(fields: Partial<FillMatched> = {}): FillMatched {
  return {
    type: 'FillMatched', v: 1, fill: 0, marketId: market, outcome: YES, price: 500_000, size: String(20n * UNITS), cost: String(10n * UNITS),
    takerSide: BUY, makerNumber: 1, takerNumber: 2, buyer: trader, seller: other, ...fields,
  };
}

async function refusal(exposure: Exposure, placed: PlaceOrder): Promise<{ code: string; amounts: unknown }> {
  const error = await exposure.hold(placed).then(() => assert.fail('the order is not refused'), (reason: unknown) => reason);
  assert.ok(error instanceof RequestError, String(error));
  const { required, available, reserved } = error.extra;
  return { code: error.code, amounts: { required, available, reserved } };
}

const short = (code: string, required: bigint, available: bigint, reserved: bigint) => ({ code, amounts: { required, available, reserved } });

describe('exposure', () => {
  it('takes a bid that the balance and the allowance just cover, and none for a unit more', async () => {
    const { exposure } = stack({ blocks: { 5: { ...rich, collateral: 5n * UNITS, allowance: 5n * UNITS } }, recorded: 5 });
    (await exposure.hold(order()))();
    assert.deepEqual(await refusal(exposure, order({ size: String(10n * UNITS + 1n) })), short('insufficient_balance', 5n * UNITS + 1n, 5n * UNITS, 0n));
  });

  it('names the allowance where the balance suffices', async () => {
    const { exposure } = stack({ blocks: { 5: { ...rich, allowance: 4n * UNITS } }, recorded: 5 });
    assert.deepEqual(await refusal(exposure, order()), short('insufficient_allowance', 5n * UNITS, 4n * UNITS, 0n));
  });

  it('counts a permit with the next nonce as the allowance, and no other', async () => {
    const { exposure } = stack({ blocks: { 5: { ...rich, allowance: 0n, permitNonce: 7n } }, recorded: 5 });
    const permit = { nonce: '7', value: String(5n * UNITS), deadline: '2000000000', v: 27 as const, r: market, s: market };
    (await exposure.hold(order({ permit })))();
    assert.deepEqual(await refusal(exposure, order({ permit: { ...permit, nonce: '6' } })), short('insufficient_allowance', 5n * UNITS, 0n, 0n));
    assert.deepEqual(await refusal(exposure, order({ permit: { ...permit, value: '1' } })), short('insufficient_allowance', 5n * UNITS, 1n, 0n));
  });

  it('does not count a permit that the stablecoin would not take', async () => {
    const { exposure, chain } = stack({ blocks: { 5: { ...rich, allowance: 1n } }, recorded: 5 });
    chain.permitHolds = false;
    const permit = { nonce: '0', value: String(5n * UNITS), deadline: '2000000000', v: 27 as const, r: market, s: market };
    assert.deepEqual(await refusal(exposure, order({ permit })), short('insufficient_allowance', 5n * UNITS, 1n, 0n));
  });

  it('sums open bids of the chain in every market, exactly, and leaves asks and other chains out', async () => {
    const bid = { chainId: CHAIN, marketId: otherMarket, outcome: NO, side: BUY, price: 333_333, remaining: 1n };
    const { exposure } = stack({
      recorded: 5, blocks: { 5: { ...rich, collateral: 6n * UNITS } },
      open: [bid, bid, bid, { ...bid, remaining: UNITS, chainId: 1 }, { ...bid, remaining: UNITS, side: SELL }],
    });
    (await exposure.hold(order({ size: String(12n * UNITS - 2n) })))();
    assert.deepEqual(await refusal(exposure, order({ size: String(12n * UNITS) })), short('insufficient_balance', 6n * UNITS, 6n * UNITS, 1n));
  });

  it('reserves for an ask only the shares of its market and outcome', async () => {
    const ask = { chainId: CHAIN, marketId: market, outcome: YES, side: SELL, price: 1, remaining: 60n * UNITS };
    const { exposure } = stack({ recorded: 5, open: [ask, { ...ask, outcome: NO }, { ...ask, marketId: otherMarket }, { ...ask, side: BUY }] });
    (await exposure.hold(order({ side: SELL, size: String(40n * UNITS) })))();
    assert.deepEqual(
      await refusal(exposure, order({ side: SELL, size: String(40n * UNITS + 1n) })),
      short('insufficient_balance', 40n * UNITS + 1n, 100n * UNITS, 60n * UNITS),
    );
  });

  it('refuses an ask without approval, and one in a market without tokens', async () => {
    const { exposure } = stack({ blocks: { 5: { ...rich, approved: false } }, recorded: 5 });
    assert.deepEqual(await refusal(exposure, order({ side: SELL })), short('insufficient_allowance', 10n * UNITS, 0n, 0n));
    assert.deepEqual(await refusal(exposure, order({ side: SELL, marketId: otherMarket })), short('insufficient_balance', 10n * UNITS, 0n, 0n));
  });

  it('counts fills from their match to their settlement or failure, on this chain only', async () => {
    const { exposure, reservations } = stack({ blocks: { 5: { ...rich, collateral: 14n * UNITS, allowance: 14n * UNITS } }, recorded: 5 });
    reservations.fold([matched(), matched({ fill: 1, marketId: foreignMarket, cost: String(90n * UNITS) })]);
    assert.deepEqual(await refusal(exposure, order()), short('insufficient_balance', 5n * UNITS, 14n * UNITS, 10n * UNITS));
    reservations.fold([{ ...matched(), type: 'FillSettled', txHash: market }]);
    (await exposure.hold(order()))();
    reservations.addFill({ ...matched(), size: 20n * UNITS, cost: 10n * UNITS });
    assert.equal((await refusal(exposure, order())).code, 'insufficient_balance');
    reservations.fold([{ ...matched(), type: 'FillFailed', txHash: market, reason: 'unknown', culprit: 'both' }]);
    (await exposure.hold(order()))();
    reservations.fold([matched({ fill: 2, buyer: other, seller: trader, size: String(95n * UNITS), takerSide: SELL })]);
    assert.deepEqual(await refusal(exposure, order({ side: SELL })), short('insufficient_balance', 10n * UNITS, 100n * UNITS, 95n * UNITS));
  });

  it('holds what two orders at the same time need together', async () => {
    const { exposure } = stack({ blocks: { 5: { ...rich, collateral: 9n * UNITS } }, recorded: 5 });
    const both = await Promise.allSettled([exposure.hold(order()), exposure.hold(order({ nonce: '2' }))]);
    assert.deepEqual(both.map(({ status }) => status), ['fulfilled', 'rejected']);
    const [first] = both;
    assert.ok(first.status === 'fulfilled');
    first.value();
    first.value();
    (await exposure.hold(order()))();
  });

  it('knows nothing of a chain that does not answer, or that is not followed any more', async () => {
    const { exposure, chain } = stack();
    chain.blocks[5] = new ChainUnavailable(CHAIN, 'down');
    assert.equal((await refusal(exposure, order())).code, 'chain_unavailable');
    chain.blocks[5] = rich;
    (await exposure.hold(order()))();
    chain.problem = 'it was reset';
    assert.equal((await refusal(exposure, order())).code, 'chain_unavailable');
  });

  it('waits while the facts of a block come in', async () => {
    const { exposure, chain } = stack({ blocks: { 5: { ...rich, collateral: 0n }, 6: rich }, recorded: 5, final: 6 });
    chain.whileReading = () => { chain.recorded = chain.reads.length === 1 ? undefined : chain.recorded; };
    (await exposure.hold(order()))();
    assert.deepEqual(chain.reads, ['5:', '6:']);
  });

  it('says at which block it looked, how far behind that is, and what to do', async () => {
    const poor = { ...rich, allowance: 0n, approved: false };
    const { exposure, chain } = stack({ blocks: { 5: poor, 95: poor }, recorded: 5, final: 95, confirmations: 3 });
    const told = async (placed: PlaceOrder) => {
      const error = await exposure.hold(placed).then(() => assert.fail(), (reason: unknown) => reason as RequestError);
      const { block, latestBlock, blocksBehind } = error.extra;
      return [error.detail, block, latestBlock, blocksBehind];
    };
    chain.latest = 98;
    assert.deepEqual(await told(order()), [
      'collateral: required 5000000, available 0, of which 0 are reserved; read at block 95, 3 behind the chain\'s latest: a deposit or an approval '
      + 'counts once 3 blocks follow its own block; wait for them and send the order again; or send a permitSignature with the order', 95, 98, 3,
    ]);
    assert.deepEqual(await told(order({ side: SELL })), [
      'shares: required 10000000, available 0, of which 0 are reserved; read at block 95, 3 behind the chain\'s latest: a deposit or an approval '
      + 'counts once 3 blocks follow its own block; wait for them and send the order again', 95, 98, 3,
    ]);
    chain.latest = undefined;
    assert.match((await told(order({ size: String(1_000n * UNITS) })))[0] as string, /^collateral: .*; read at block 95, the chain's latest$/);
    const quick = stack({ blocks: { 5: poor }, recorded: 5 });
    quick.chain.latest = 6;
    await assert.rejects(quick.exposure.hold(order()), /block 5, 1 behind the chain's latest: .* counts once its block is recorded; send/);
  });

  it('looks at the latest final block before it refuses, since deposits are not recorded in the history', async () => {
    const { exposure, chain } = stack({ blocks: { 5: { ...rich, collateral: 0n }, 8: rich }, recorded: 5, final: 8 });
    (await exposure.hold(order()))();
    assert.deepEqual(chain.reads, ['5:', '8:']);
  });

  it('reads again when the history has moved on meanwhile', async () => {
    const { exposure, chain } = stack({ blocks: { 5: rich, 6: { ...rich, collateral: 0n } }, recorded: 5 });
    chain.whileReading = () => { chain.recorded = chain.final = 6; };
    assert.equal((await refusal(exposure, order())).code, 'insufficient_balance');
    assert.deepEqual(chain.reads, ['5:', '6:', '6:']);
  });

  it('catches up with the chain first where nothing is recorded yet', async () => {
    const { exposure, chain } = stack({ recorded: undefined, final: 5 });
    (await exposure.hold(order()))();
    assert.deepEqual(chain.reads, ['5:']);
  });
});
