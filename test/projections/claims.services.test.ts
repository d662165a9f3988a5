/** What requests to the relayer, their transactions, their ends and payments on the chain make of the claims' rows, in batches of any size. */
import assert from 'node:assert/strict';
import type { Event, RelayRequested } from '../../engine/records/events.js';
import type { Claim } from '../../engine/records/fields.js';
import { claims as projection } from '../../projections/models/claims.js';
import { testDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { logOf, outcomesOf, projectTo, readTables } from '../support/projected.js';

const AT = 1_700_000_040_000;
const at = (n: number) => String(AT + 1_000 * n);
const bytes = (length: number) => (n: number) => `0x${n.toString(16).padStart(2 * length, '0')}`;
const hash = bytes(32);
const address = bytes(20);
const [ALICE, BOB] = [address(1), address(2)];
const [RAIN, SNOW] = [hash(0xaa), hash(0xab)];
const [TX, BUMPED] = [hash(0xcc), hash(0xcd)];
const UINT256_MAX = String(2n ** 256n - 1n);

const claim = (marketId: string, payout = '7'): Claim => ({ marketId, payout, winningOutcome: 0 });
const relay = (n: number, claims: Claim[], owner = ALICE): RelayRequested => (
  { type: 'RelayRequested', v: 1, requestId: hash(n), chainId: 137, action: 'batch-ctf-redemption', owner, claims });
const submitted = (of: RelayRequested, txHash: string): Event => ({ ...of, type: 'RelaySubmitted', txHash });
const ended = (of: RelayRequested, txHash: string | null, ...results: (string | null)[]): Event => (
  { ...of, type: 'RelayEnded', txHash, results: results.map((reason) => ({ succeeded: reason === null, reason })) });
const paid = (user: string, marketId: string, payout = '7'): Event => ({ type: 'PositionRedeemed', v: 1, marketId, user, payout, txHash: BUMPED });

const relayRow = (n: number, position: number, fields: object = {}) => ({
  request_id: hash(n), position: String(position), chain_id: '137', action: 'batch-ctf-redemption', owner: ALICE, status: 0, tx_hash: null,
  requested_at_ms: at(position), ended_at_ms: null, results: null, ...fields,
});
const claimRow = (n: number, position: number, index: number, fields: object = {}) => ({
  position: String(position), index, request_id: hash(n), market_id: index === 0 ? RAIN : SNOW, user_address: ALICE, payout: '7', winning_outcome: 0,
  status: 0, tx_hash: null, at_ms: at(position), ended_at_ms: null, ended_position: null, reason: null, ...fields,
});
const over = (n: number, status: number, reason: string | null = null) => ({ status, ended_at_ms: at(n), ended_position: String(n), reason });
const results = (...list: (string | null)[]) => JSON.stringify(list.map((reason) => ({ succeeded: reason === null, reason })));

const one = relay(1, [claim(RAIN)]);
const batch = relay(2, [claim(RAIN), claim(SNOW, UINT256_MAX)]);
const second = { market_id: SNOW, payout: UINT256_MAX };

const scenarios: { name: string; history: Event[][]; relays: object[]; claims: object[] }[] = [
  { name: 'a request', history: [[batch]], relays: [relayRow(2, 0)], claims: [claimRow(2, 0, 0), claimRow(2, 0, 1, second)] },
  {
    name: 'a request without claims, which is ended without a transaction',
    history: [[relay(3, [])], [ended(relay(3, []), null, 'refused: the "gas" price \\ \0')]],
    relays: [relayRow(3, 0, { status: 3, ended_at_ms: at(1), results: results('refused: the "gas" price \\ \0') })], claims: [],
  },
  {
    name: 'a transaction, and the one that replaces it',
    history: [[one], [submitted(one, TX)], [submitted(one, BUMPED)]],
    relays: [relayRow(1, 0, { status: 1, tx_hash: BUMPED })], claims: [claimRow(1, 0, 0, { status: 1, tx_hash: BUMPED })],
  },
  {
    name: 'a batch that ends with one success and one failure, in an earlier transaction than the last',
    history: [[batch], [submitted(batch, TX)], [submitted(batch, BUMPED)], [ended(batch, TX, null, 'reverted')]],
    relays: [relayRow(2, 0, { status: 3, tx_hash: TX, ended_at_ms: at(3), results: results(null, 'reverted') })],
    claims: [claimRow(2, 0, 0, { tx_hash: TX, ...over(3, 2) }), claimRow(2, 0, 1, { ...second, tx_hash: TX, ...over(3, 3, 'reverted') })],
  },
  {
    name: 'a single result, which holds for every claim; the last transaction stays where the end names none',
    history: [[batch], [submitted(batch, TX)], [ended(batch, null, 'dropped')]],
    relays: [relayRow(2, 0, { status: 3, tx_hash: TX, ended_at_ms: at(2), results: results('dropped') })],
    claims: [claimRow(2, 0, 0, { tx_hash: TX, ...over(2, 3, 'dropped') }), claimRow(2, 0, 1, { ...second, tx_hash: TX, ...over(2, 3, 'dropped') })],
  },
  {
    name: 'a claim that the chain has paid, whoever brought it, is not failed by the end of its request',
    history: [[batch], [submitted(batch, TX)], [paid(ALICE, RAIN)], [ended(batch, TX, 'reverted', 'reverted')]],
    relays: [relayRow(2, 0, { status: 3, tx_hash: TX, ended_at_ms: at(3), results: results('reverted', 'reverted') })],
    claims: [claimRow(2, 0, 0, { tx_hash: TX, ...over(2, 2) }), claimRow(2, 0, 1, { ...second, tx_hash: TX, ...over(3, 3, 'reverted') })],
  },
  {
    name: 'a claim that the chain has paid stays as it was: with a later transaction, another payment, and the end of its request',
    history: [[batch], [paid(ALICE, RAIN)], [submitted(batch, TX)], [paid(ALICE, RAIN)], [ended(batch, BUMPED, 'reverted', 'reverted')]],
    relays: [relayRow(2, 0, { status: 3, tx_hash: BUMPED, ended_at_ms: at(4), results: results('reverted', 'reverted') })],
    claims: [claimRow(2, 0, 0, over(1, 2)), claimRow(2, 0, 1, { ...second, tx_hash: BUMPED, ...over(4, 3, 'reverted') })],
  },
  {
    name: 'a payment to another user, in another market, of nothing, or before the request changes no claim',
    history: [[paid(ALICE, RAIN)], [one], [paid(BOB, RAIN)], [paid(ALICE, SNOW)], [paid(ALICE, RAIN, '0')]],
    relays: [relayRow(1, 1)], claims: [claimRow(1, 1, 0)],
  },
  {
    name: 'the same request again after its end is another one, with claims of its own',
    history: [[one], [ended(one, TX, 'reverted')], [one], [submitted(one, BUMPED)], [paid(ALICE, RAIN)]],
    relays: [relayRow(1, 2, { status: 1, tx_hash: BUMPED })],
    claims: [claimRow(1, 0, 0, { tx_hash: TX, ...over(1, 3, 'reverted') }), claimRow(1, 2, 0, { tx_hash: BUMPED, ...over(4, 2) })],
  },
  {
    name: 'two requests for the same payment are both paid by it',
    history: [[one], [relay(3, [claim(RAIN)])], [paid(ALICE, RAIN)]],
    relays: [relayRow(1, 0), relayRow(3, 1)],
    claims: [claimRow(1, 0, 0, over(2, 2)), claimRow(3, 1, 0, over(2, 2))],
  },
];

describe('projections: claims', () => {
  let url: string;
  before(async () => { ({ url } = await testDatabase()); });
  beforeEach(async () => { await runSql(url, 'drop schema if exists read_models cascade'); });

  for (const { name, history, relays, claims } of scenarios) {
    for (const size of [1, 2, 1_000]) {
      it(`${name} (batches of ${size})`, async () => {
        const outcomes = outcomesOf(AT, ...history);
        await projectTo(outcomes.length, { url, log: await logOf(outcomes), limits: { outcomes: size, events: 1_000 }, projections: [projection] });
        const rows = await readTables(url, [projection]);
        assert.deepEqual({ relays: rows['relays'], claims: rows['claims'] }, { relays, claims });
      });
    }
  }

  for (const [what, event] of [['submitted', submitted(one, TX)], ['ended', ended(one, TX, null)]] as const) {
    it(`stops at a request that is ${what} but was never made, or has ended`, async () => {
      for (const history of [[[event]], [[one], [ended(one, TX, null)], [event]]]) {
        await runSql(url, 'drop schema if exists read_models cascade');
        const outcomes = outcomesOf(AT, ...history);
        const run = projectTo(outcomes.length, { url, log: await logOf(outcomes), projections: [projection] });
        await assert.rejects(run, /request 0x0+1 to the relayer/);
      }
    });
  }
});
