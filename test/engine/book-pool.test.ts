/** The order pool: slots, hashes, columns, snapshots, and the index under growth and removal. */
import assert from 'node:assert/strict';
import { deserialize, serialize } from 'node:v8';
import fc from 'fast-check';
import { HashIndex } from '../../engine/book/hash-index.js';
import { OrderPool, type OrderPoolDump } from '../../engine/book/order-pool.js';
import { formatUint64, highWord, lowWord, parseUint64, readUint64, uint64 } from '../../engine/records/integers.js';
import { NO, SELL } from '../../engine/records/fields.js';
import { randomHash, seeded } from '../bench/book-operations.js';

const hash = (n: number) => `0x${n.toString(16).padStart(64, '0')}`;

describe('order pool', () => {
  it('keeps every value of a slot apart', () => {
    const pool = new OrderPool();
    pool.allocate(hash(1));
    const slot = pool.allocate(`0x${'fedcba98'.repeat(8)}`);
    pool.allocate(hash(2));
    pool.describe(slot, { book: 2 ** 32 - 1, side: SELL, outcome: NO, price: 999_999, number: Number.MAX_SAFE_INTEGER });
    pool.setRemaining(slot, 2 ** 32 - 1, 2 ** 32 - 2);
    const values = (of: number) => ({
      hash: pool.hashOf(of), price: pool.price(of), side: pool.side(of), outcome: pool.outcome(of), book: pool.book(of),
      number: pool.number(of), remaining: pool.remaining(of), resting: pool.resting(of), next: pool.next(of),
    });
    const zero = { price: 0, side: 0, outcome: 0, book: 0, number: 0, remaining: 0n, resting: false, next: -1 };
    assert.deepEqual([0, 1, 2].map(values), [
      { ...zero, hash: hash(1) },
      {
        hash: `0x${'fedcba98'.repeat(8)}`, price: 999_999, side: SELL, outcome: NO, book: 2 ** 32 - 1,
        number: Number.MAX_SAFE_INTEGER, remaining: 2n ** 64n - 2n, resting: false, next: -1,
      },
      { ...zero, hash: hash(2) },
    ]);
    pool.free(slot);
    assert.equal(pool.allocate(hash(3)), slot);
    assert.deepEqual(values(slot), { ...zero, hash: hash(3) });
  });

  it('distinguishes hashes that differ in one digit only, at any place', () => {
    const pool = new OrderPool();
    const hashes = Array.from({ length: 64 }, (_, digit) => `0x${'a'.repeat(digit)}b${'a'.repeat(63 - digit)}`);
    const slots = hashes.map((each) => pool.allocate(each));
    assert.deepEqual(hashes.map((each) => pool.find(each)), slots);
    assert.equal(pool.find(`0x${'a'.repeat(64)}`), -1);
  });

  it('distinguishes hashes whose index hashes are the same', () => {
    // The index hashes the first and last words only: these differ in between.
    const pool = new OrderPool();
    const hashes = Array.from({ length: 50 }, (_, i) => `0x${'0'.repeat(30)}${i.toString(16).padStart(4, '0')}${'0'.repeat(30)}`);
    const slots = hashes.map((each) => pool.allocate(each));
    for (let i = 0; i < 50; i += 2) pool.free(slots[i]!);
    assert.deepEqual(hashes.map((each) => pool.find(each)), slots.map((slot, i) => i % 2 === 0 ? -1 : slot));
  });

  it('refuses malformed hashes, hashes in use, and slots that are free', () => {
    const pool = new OrderPool();
    const slot = pool.allocate(hash(1));
    const otherDigits = ['A', 'g', '\u0130', '\u0661'].map((digit) => hash(10).replace('a', digit));
    const otherForms = ['', '0x', hash(1).slice(2), `${hash(1)}0`, hash(1).slice(0, -1), hash(1).replace('0x', '0X')];
    for (const text of [...otherDigits, ...otherForms]) {
      assert.throws(() => pool.find(text), RangeError, text);
      assert.throws(() => pool.allocate(text), RangeError, text);
    }
    assert.throws(() => pool.allocate(hash(1)), /has a slot already/);
    pool.free(slot);
    assert.throws(() => { pool.free(slot); }, /is free/);
    assert.equal(pool.size, 0);
  });

  it('columns hold what their kind holds, next to each other, and start at zero', () => {
    const pool = new OrderPool();
    const columns = [Uint8Array, Float64Array, Uint32Array, Int32Array].map((kind) => pool.column(kind));
    const slots = Array.from({ length: 10_000 }, (_, i) => pool.allocate(hash(i)));
    for (const slot of slots) {
      [slot & 255, slot + 0.5, 2 ** 32 - 1 - slot, -slot].forEach((value, i) => { columns[i]!.set(slot, value); });
    }
    for (const slot of slots) {
      assert.deepEqual(columns.map((column) => column.get(slot)), [slot & 255, slot + 0.5, 2 ** 32 - 1 - slot, 0 - slot]);
    }
    pool.free(5);
    pool.allocate(hash(20_000));
    assert.deepEqual(columns.map((column) => column.get(5)), [0, 0, 0, 0]);
    assert.throws(() => pool.column(Uint8Array), /declared before/);
  });

  it('comes back from a snapshot with the same values and hands out the same slots', () => {
    const random = seeded(3);
    const pool = new OrderPool();
    const column = pool.column(Float64Array);
    const slots = Array.from({ length: 9_000 }, () => pool.allocate(randomHash(random)));
    for (const slot of slots) column.set(slot, slot * 1.5);
    for (let i = 0; i < 9_000; i += 3) pool.free(slots[(i * 7) % 9_000]!);
    const restored = OrderPool.restore(deserialize(serialize(pool.dump())) as OrderPoolDump);
    const again = restored.column(Float64Array);
    assert.deepEqual(restored.dump(), pool.dump());
    assert.equal(restored.size, pool.size);
    for (let i = 0; i < 5_000; i++) {
      const text = randomHash(random);
      const slot = pool.allocate(text);
      assert.equal(restored.allocate(text), slot);
      column.set(slot, i);
      again.set(slot, i);
    }
    assert.deepEqual(restored.dump(), pool.dump());
    for (const slot of slots.filter((each) => each % 50 === 0)) assert.equal(restored.find(pool.hashOf(slot)), slot);
  });
});

describe('hash index', () => {
  /** The slots that the index has under a hash, in ascending order. */
  const slotsOf = (index: HashIndex, value: number) => {
    const slots = [];
    for (let slot = index.first(value); slot >= 0; slot = index.after(value, slot)) slots.push(slot);
    return slots.sort((a, b) => a - b);
  };

  it('does what a map does, with hashes that crowd, wrap and repeat (property)', () => {
    // One segment, few places: every removal has neighbours to shift.
    const hashes = [0, 1, 2, 3, 7, 8, 14, 15, 16, 31, 1023, 0xff_ffff, 0xff_fff0, -1, -2];
    fc.assert(fc.property(fc.array(fc.tuple(fc.nat(39), fc.constantFrom(...hashes)), { maxLength: 300 }), (commands) => {
      const index = new HashIndex();
      const model = new Map<number, number>();
      for (const [slot, value] of commands) {
        const present = model.get(slot);
        if (present === undefined) {
          index.insert(value, slot);
          model.set(slot, value);
        } else {
          index.remove(present, slot);
          model.delete(slot);
        }
        assert.equal(index.size, model.size);
        for (const each of hashes) {
          const expected = [...model].filter(([, of]) => of === each).map(([present]) => present);
          assert.deepEqual(slotsOf(index, each), expected.sort((a, b) => a - b));
        }
      }
    }), { numRuns: 200 });
  });

  it('that is made of entries has them, and goes on as one into which they were inserted (property)', () => {
    const value = fc.oneof(fc.constantFrom(0, 1, -1, 0xff_ffff), fc.integer());
    fc.assert(fc.property(fc.array(value, { maxLength: 400 }), fc.array(value, { maxLength: 40 }), (made, added) => {
      const index = HashIndex.of(Int32Array.from(made), Int32Array.from(made.keys()));
      const all = [...made, ...added];
      added.forEach((each, n) => { index.insert(each, made.length + n); });
      for (let slot = 0; slot < all.length; slot += 3) index.remove(all[slot]!, slot);
      assert.equal(index.size, all.length - Math.ceil(all.length / 3));
      for (const each of new Set(all)) {
        assert.deepEqual(slotsOf(index, each), [...all.keys()].filter((slot) => all[slot] === each && slot % 3 !== 0));
      }
    }), { numRuns: 300 });
  });

  it('grows and shrinks by a hundred thousand entries, and refuses to remove what is not there', () => {
    const random = seeded(5);
    const index = new HashIndex();
    const hashes = Array.from({ length: 100_000 }, () => Math.floor(random() * 2 ** 32) | 0);
    hashes.forEach((value, slot) => { index.insert(value, slot); });
    for (let slot = 0; slot < hashes.length; slot += 2) index.remove(hashes[slot]!, slot);
    hashes.forEach((value, slot) => { assert.equal(slotsOf(index, value).includes(slot), slot % 2 === 1); });
    assert.equal(index.size, 50_000);
    assert.throws(() => { index.remove(hashes[0]!, 0); }, RangeError);
    assert.equal(index.size, 50_000);
  });
});

describe('uint64', () => {
  const value = fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.bigInt({ min: 0n, max: 2n ** 32n }),
    fc.constantFrom(0n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 10n ** 15n - 1n, 10n ** 15n, 2n ** 64n - 1n),
  );

  it('text, halves and bigint are the same number (property)', () => {
    const words = new Uint32Array(2);
    fc.assert(fc.property(value, (a) => {
      readUint64(a.toString(), words);
      assert.deepEqual([...words], [highWord(a), lowWord(a)]);
      assert.equal(formatUint64(words[0]!, words[1]!), a.toString());
      assert.equal(uint64(words[0]!, words[1]!), a);
      assert.equal(parseUint64(a.toString()), a);
    }), { numRuns: 2_000 });
  });

  it('refuses what is not an integer of 0 to 2^64-1 in canonical digits', () => {
    const words = new Uint32Array(2);
    const tooLarge = ['18446744073709551616', '99999999999999999999', '1'.repeat(21)];
    for (const text of ['', '-1', '+1', '01', '1.0', '1e3', ' 1', '1 ', '0x1', '\u0661', ...tooLarge]) {
      assert.throws(() => parseUint64(text), RangeError, text);
      assert.throws(() => { readUint64(text, words); }, RangeError, text);
    }
  });
});
