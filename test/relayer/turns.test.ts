/** Turns at the relayer: token by token, owner by owner. */
import { deepEqual, equal } from 'node:assert/strict';
import { createTurns, type Turn } from '../../command/relayer/turns.js';

/** A queue whose places have names: `a1` is of token a, owner 1. */
function queue() {
  const turns = createTurns();
  const places = new Map<string, Turn[]>();
  const due = new Set<Turn>();
  return {
    join(...names: readonly string[]): void {
      for (const name of names) places.set(name, [...places.get(name) ?? [], turns.join({ token: name.slice(0, 1), owner: name.slice(1) })]);
    },
    leave: (name: string) => { places.get(name)!.pop()!.leave(); },
    /** Who is let in, while there is anybody. */
    all(): string[] {
      const order: string[] = [];
      while (turns.next()) {
        const [name] = [...places].find(([, each]) => each.some((turn) => turn.isDue() && !due.has(turn))) ?? ['nobody'];
        for (const turn of places.get(name) ?? []) if (turn.isDue()) due.add(turn);
        order.push(name);
      }
      return order;
    },
  };
}

describe('relayer: turns', () => {
  it('tokens take turns, and so do the owners of a token', () => {
    const { join, all } = queue();
    join('a1', 'a1', 'a1', 'a2', 'b1', 'a2', 'c1', 'b1');
    deepEqual(all(), ['a1', 'b1', 'c1', 'a2', 'b1', 'a1', 'a2', 'a1']);
  });

  it('who comes after hundreds of another token is next but one', () => {
    const { join, all } = queue();
    join(...Array.from({ length: 250 }, (_, i) => `a${i}`), 'b1');
    equal(all().indexOf('b1'), 1);
  });

  it('one owner of a token does not keep the others of that token waiting', () => {
    const { join, all } = queue();
    join(...Array.from({ length: 50 }, () => 'a1'), 'a2');
    equal(all().indexOf('a2'), 1);
  });

  it('who leaves is passed over, and nobody loses a turn by it', () => {
    const { join, leave, all } = queue();
    join('a1', 'a1', 'b1', 'c1', 'c2');
    for (const name of ['b1', 'c1', 'a1']) leave(name);
    deepEqual(all(), ['a1', 'c2']);
    join('b1');
    deepEqual(all(), ['b1'], 'an empty queue begins again');
  });

  it('leaving when it is one\'s turn changes nothing', () => {
    const turns = createTurns();
    const [first, second] = [turns.join({ token: 'a', owner: '1' }), turns.join({ token: 'a', owner: '1' })];
    turns.next();
    first.leave();
    deepEqual([first.isDue(), second.isDue(), turns.next(), second.isDue(), turns.next()], [true, false, true, true, false]);
  });
});
