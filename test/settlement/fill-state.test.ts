/** The transitions of a fill, row by row, and what cannot happen. */
import { deepEqual, equal, throws } from 'node:assert/strict';
import {
  TRANSITIONS, firstBatch, isOver, next, triggerOf, type FillState, type FillTrigger, type FillProgress,
} from '../../command/settlement/fill-state.js';
import type { RequestStatus } from '../../command/lane/requests.js';
import { QUEUE_RULES } from '../../command/settlement/rules.js';
import { ended, mined } from './settling-scene.js';

const STATES: readonly FillState[] = ['waiting', 'requested', 'returned', 'doubtful'];
const RULES = { pauseMs: 1_000, maxPauseMs: 5_000 };
const fill = (state: FillState, changed: Partial<FillProgress> = {}): FillProgress => (
  { state, sinceMs: 10, dueMs: 20, batchLimit: 9, tries: 2, ...changed });
const after = (state: FillState, trigger: FillTrigger, batchSize = 8) => next(fill(state), trigger, { nowMs: 100, batchSize, rules: RULES });

describe('settlement: the states of a fill', () => {
  const rows: [FillState, FillTrigger, FillProgress][] = [
    ['waiting', 'asked', { state: 'requested', sinceMs: 10, dueMs: 0, batchLimit: 9, tries: 2 }],
    ['returned', 'asked', { state: 'requested', sinceMs: 10, dueMs: 0, batchLimit: 9, tries: 2 }],
    ['waiting', 'order missing', { state: 'returned', sinceMs: 100, dueMs: 4_100, batchLimit: 1, tries: 3 }],
    ['returned', 'order missing', { state: 'returned', sinceMs: 100, dueMs: 4_100, batchLimit: 1, tries: 3 }],
    ['waiting', 'found with the lane', { state: 'requested', sinceMs: 10, dueMs: 0, batchLimit: 9, tries: 2 }],
    ['returned', 'found with the lane', { state: 'requested', sinceMs: 10, dueMs: 0, batchLimit: 9, tries: 2 }],
    ['doubtful', 'found with the lane', { state: 'requested', sinceMs: 10, dueMs: 0, batchLimit: 9, tries: 0 }],
    ['requested', 'unknown to the lane', { state: 'returned', sinceMs: 100, dueMs: 0, batchLimit: 9, tries: 2 }],
    ['requested', 'refused', { state: 'returned', sinceMs: 100, dueMs: 0, batchLimit: 4, tries: 0 }],
    ['requested', 'nonce lost', { state: 'returned', sinceMs: 100, dueMs: 0, batchLimit: 9, tries: 2 }],
    ['requested', 'reverted', { state: 'returned', sinceMs: 100, dueMs: 0, batchLimit: 4, tries: 0 }],
    ['requested', 'left out', { state: 'returned', sinceMs: 100, dueMs: 0, batchLimit: 4, tries: 0 }],
    ['requested', 'all left out', { state: 'returned', sinceMs: 100, dueMs: 0, batchLimit: 9, tries: 2 }],
    ['requested', 'settled by another', { state: 'doubtful', sinceMs: 100, dueMs: 1_100, batchLimit: 9, tries: 1 }],
    ['doubtful', 'settled by another', { state: 'doubtful', sinceMs: 10, dueMs: 4_100, batchLimit: 9, tries: 3 }],
    ['doubtful', 'not settled after all', { state: 'returned', sinceMs: 10, dueMs: 0, batchLimit: 9, tries: 0 }],
  ];
  for (const [state, trigger, expected] of rows) it(`${state}: ${trigger}`, () => { deepEqual(after(state, trigger), expected); });

  it('are all in the table, and nothing else can happen', () => {
    const known = new Set(rows.map(([state, trigger]) => `${state}: ${trigger}`));
    deepEqual([...known].sort(), TRANSITIONS.flatMap(({ from, trigger }) => from.map((state) => `${state}: ${trigger}`)).sort());
    for (const { trigger } of TRANSITIONS) {
      for (const state of STATES.filter((each) => !known.has(`${each}: ${trigger}`))) {
        throws(() => after(state, trigger), { message: `a fill that is ${state} cannot be ${trigger}` });
      }
    }
  });

  it('of one that comes back alone: it is tried again with growing pauses, up to a longest one', () => {
    for (const trigger of ['refused', 'reverted', 'left out'] as const) {
      deepEqual(after('requested', trigger, 1), { state: 'returned', sinceMs: 100, dueMs: 4_100, batchLimit: 1, tries: 3 }, trigger);
    }
    equal(next(fill('requested', { tries: 40 }), 'reverted', { nowMs: 0, batchSize: 1, rules: RULES }).dueMs, 5_000);
    equal(after('requested', 'reverted', 3).batchLimit, 1);
  });
});

describe('settlement: what a request\'s status says', () => {
  const statuses: [RequestStatus, { over: boolean; trigger: FillTrigger }][] = [
    [{ kind: 'refused', reason: '' }, { over: true, trigger: 'refused' }],
    [ended({ kind: 'lost' }), { over: true, trigger: 'nonce lost' }],
    [ended(mined(5, false)), { over: true, trigger: 'reverted' }],
    [ended(mined(6, false)), { over: false, trigger: 'reverted' }],
    [ended(mined(5)), { over: true, trigger: 'all left out' }],
  ];
  for (const [status, { over, trigger }] of statuses) {
    it(`${JSON.stringify(status)}`, () => {
      deepEqual({ over: isOver(status, 6), trigger: triggerOf(status, { fills: 3, left: 3 }) }, { over, trigger });
    });
  }

  it('of a request under way: it is not over; of a successful one: a fill that was alone, or not the only one left, was left out', () => {
    deepEqual([isOver({ kind: 'waiting' }, 6), isOver({ kind: 'sent' }, 6)], [false, false]);
    deepEqual([[1, 1], [3, 2]].map(([fills = 0, left = 0]) => triggerOf(ended(mined(5)), { fills, left })), ['left out', 'left out']);
  });
});

describe('settlement: the first batch', () => {
  const timing = { nowMs: 1_000, askedMs: 900, rules: { ...QUEUE_RULES, maxFills: 3 } };
  const came = (sinceMs: number, changed: Partial<FillProgress> = {}) => fill('waiting', { sinceMs, batchLimit: undefined, ...changed });
  const cases: [string, readonly FillProgress[], { size: number; fromMs: number }][] = [
    ['there is none', [], { size: 0, fromMs: Infinity }],
    ['it may still grow, 250 ms long', [came(800), came(950)], { size: 2, fromMs: 1_050 }],
    ['not longer than until 250 ms after the last batch', [came(990)], { size: 1, fromMs: 1_150 }],
    ['it is full', [came(990), came(990), came(990), came(990)], { size: 3, fromMs: -Infinity }],
    ['it is just full', [came(990), came(990), came(990)], { size: 3, fromMs: -Infinity }],
    ['the next fill goes in smaller batches', [came(990), came(990, { batchLimit: 1 })], { size: 1, fromMs: -Infinity }],
    ['the first fill goes alone', [came(990, { batchLimit: 1 }), came(990)], { size: 1, fromMs: -Infinity }],
    ['the first fill has come back', [came(990, { state: 'returned' }), came(990)], { size: 2, fromMs: -Infinity }],
    ['a limit above the present one', [came(990, { batchLimit: 25 }), came(990)], { size: 2, fromMs: 1_150 }],
  ];
  for (const [name, fills, { size, fromMs }] of cases) {
    it(name, () => {
      const first = firstBatch(fills, timing);
      deepEqual({ size: first.batch.length, fromMs: first.fromMs }, { size, fromMs });
    });
  }
});
