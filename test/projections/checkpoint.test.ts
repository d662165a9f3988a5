/** How a batch moves the checkpoints: one row for all projections that are equally far, and rows of their own for those that are not. */
import assert from 'node:assert/strict';
import { stepTo, type Checkpoint, type Checkpoints } from '../../projections/checkpoint.js';

const at = (position: number, isLevel = false, writer = '7'): Checkpoint => ({ version: isLevel ? 3 : 1, position, writer, isLevel });
const level = (position: number): Checkpoint => ({ version: 0, position, writer: '7', isLevel: false });
const all = (checkpoints: Record<string, Checkpoint>): Checkpoints => new Map(Object.entries(checkpoints));
const told = (checkpoints: Checkpoints) => Object.fromEntries([...checkpoints].map(([name, { position, writer, isLevel }]) => (
  [name, [position, writer, isLevel]])));

describe('projections: checkpoints', () => {
  it('of projections that are equally far are one row', () => {
    const { moves, after } = stepTo(12, ['a', 'b'], all({ '*': level(9), 'a': at(9, true), 'b': at(9, true) }));
    assert.deepEqual(moves, [{ name: '*', version: 0, position: 9, writer: '7', isLevel: false, from: 9, to: 12 }]);
    assert.deepEqual(told(after('8')), { '*': [12, '8', false], 'a': [12, '8', true], 'b': [12, '8', true] });
  });

  it('of new projections become that row with the first batch', () => {
    const { moves, after } = stepTo(5, ['a', 'b'], all({ '*': level(0), 'a': at(0), 'b': at(3, false, '6') }));
    assert.deepEqual(moves.map(({ name, writer, from, to }) => [name, writer, from, to]), [['*', '7', 0, 5], ['a', '7', 0, null], ['b', '6', 3, null]]);
    assert.deepEqual(told(after('8')), { '*': [5, '8', false], 'a': [5, '8', true], 'b': [5, '8', true] });
  });

  it('of a projection that is behind is its own until it has passed the others', () => {
    const behind = all({ '*': level(9), 'a': at(9, true), 'b': at(2) });
    const caughtUp = stepTo(9, ['b'], behind);
    assert.deepEqual(caughtUp.moves.map(({ name, from, to }) => [name, from, to]), [['b', 2, 9]]);
    assert.deepEqual(told(caughtUp.after('8')), { '*': [9, '7', false], 'a': [9, '7', true], 'b': [9, '8', false] });
    const passed = stepTo(11, ['a', 'b'], caughtUp.after('8'));
    assert.deepEqual(passed.moves.map(({ name, writer, from, to }) => [name, writer, from, to]), [['*', '7', 9, 11], ['b', '8', 9, null]]);
    assert.deepEqual(told(passed.after('9')), { '*': [11, '9', false], 'a': [11, '9', true], 'b': [11, '9', true] });
  });

  it('of a projection that this worker does not fold stays where it is, and of one that is ahead, too', () => {
    const { moves, after } = stepTo(12, ['a'], all({ '*': level(9), 'a': at(9, true), 'b': at(9, true), 'c': at(20) }));
    assert.deepEqual(moves.map(({ name, version, writer, from, to }) => [name, version, writer, from, to]), [['*', 0, '7', 9, 12], ['b', 3, undefined, null, 9]]);
    assert.deepEqual(told(after('8')), { '*': [12, '8', false], 'a': [12, '8', true], 'b': [9, '8', false], 'c': [20, '7', false] });
  });
});
