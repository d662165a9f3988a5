/** The engine against the slow and obvious one: the same events, texts and digests over random histories and short scripts. */
import { equal, throws } from 'node:assert/strict';
import fc from 'fast-check';
import { formatDigest } from '../../engine/records/codec.js';
import { encodeCommand } from '../../engine/run/new-record.js';
import type { Command } from '../../engine/records/commands.js';
import { MarketOpenedV1, eventSchemas, type EventType } from '../../engine/records/events.js';
import { createEngine } from '../../engine/run/engine.js';
import { commandScripts } from '../support/command-scripts.js';
import { createLockstep, createRealEngine, compareHistories, everything, type ComparedEngine } from '../reference/compared-engines.js';
import { createRandomCommands, crowd, pile, type Profile, type RandomCommands } from '../support/random-commands.js';
import { createChainCommands } from '../support/random-facts.js';
import { createPriceCommands, createControlCommands, withOrderControl } from '../support/random-requests.js';
import { createReferenceEngine } from '../reference/engine.js';

/**
 * What earlier versions of the engine gave after 10,000 commands: without chains the first one, with chains the one before roles, with prices
 * the first one that knew them. OpenMarket had the first or the second version then.
 */
const histories: readonly (readonly [(seed: number, profile: Profile) => RandomCommands, number, Profile, 1 | 2, string])[] = [
  [createRandomCommands, 1, crowd, 1, '0x06a6f63c4dc53b5c0ca245f3ca6970ab8802c26c88feff6c7d095ee77231ecf8'],
  [createRandomCommands, 2, pile, 1, '0xbbfbbe0219a5e3a29dde4c5033bd2368d137d44c407f0c2dfebbc683fe6a0c68'],
  [createChainCommands, 1, crowd, 1, '0x659c7752d0ca87a83f3c3f3fc9b24f61a0999366762c6fc2f0fa603d81497eed'],
  [createChainCommands, 2, pile, 1, '0xfaefb56d989dd84160acd337276cb5fff8864b3d571ac407e47760d37b1f28f3'],
  [createPriceCommands, 1, crowd, 2, '0xff86fc881f9b67f55534ec9f0cf0a054908f2d5e6ce7707c1ae17283fe875932'],
  [createPriceCommands, 2, pile, 2, '0xf95c73e30bb0042302edd929d29b1e4e43d1dee482255422f748c62d9b83880b'],
];

/** The command as it was recorded before there was a third version of OpenMarket, or a second one. */
function asRecordedThen(command: Command, v: 1 | 2): Buffer {
  if (command.kind === 'PlaceOrder') return Buffer.from(JSON.stringify({ ...command, v: 1 }));
  if (command.kind === 'FailFill') return Buffer.from(JSON.stringify({ ...command, v: 1, countDefault: undefined }));
  if (command.kind !== 'OpenMarket') return encodeCommand(command);
  return Buffer.from(JSON.stringify({ ...command, v, ifOver: undefined }));
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

function schemaOf({ type, v }: { readonly type: EventType; readonly v: number }): Schema {
  return (type === 'MarketOpened' && v === 1 ? MarketOpenedV1 : eventSchemas[type]) as Schema;
}

/** The value with the keys of its objects in the order of the schema. */
function inOrder(value: unknown, { properties, items, anyOf }: Schema): unknown {
  if (anyOf !== undefined) return value === null ? null : inOrder(value, anyOf[0] ?? {});
  if (items !== undefined) return (value as unknown[]).map((item) => inOrder(item, items));
  if (properties === undefined) return value;
  const object = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.entries(properties).map(([key, schema]) => [key, inOrder(object[key], schema)]));
}

describe('the engine and the reference engine', () => {
  it('agree over a crowd that chains tell of, with a relayer and prices', () => {
    compareHistories(createControlCommands(1, crowd), { commands: 10_000, expected: everything });
  });

  it('agree over commands that pile up orders to the limits of work', () => {
    compareHistories(withOrderControl(createRandomCommands(4, pile), 4, 1_500), { commands: 8_000, expected: ['match_limit', 'settlement_failed', 'FillMatched'] });
  });

  it('agree over a crowd without chains', () => { compareHistories(createRandomCommands(1, crowd), { commands: 5_000 }); });

  it('agree over every short script', () => {
    fc.assert(fc.property(commandScripts, (commands) => {
      const step = createLockstep(createReferenceEngine(), createRealEngine());
      commands.forEach((command) => step(command));
    }), { numRuns: 100 });
  });

  it('keep the digests of histories that earlier versions recorded, without chains, with them, and with prices', () => {
    for (const [createCommands, seed, profile, version, digest] of histories) {
      const generator = createCommands(seed, profile);
      const engine = createEngine();
      for (let i = 0; i < 10_000; i++) generator.learn(engine.step(asRecordedThen(generator.next(), version)).outcome);
      equal(formatDigest(engine.digest), digest);
    }
  });

  it('write each event with the keys of its schema, all of them, in their order', () => {
    const generator = createControlCommands(2, crowd);
    const engine = createEngine();
    const seen = new Set<string>();
    for (let i = 0; i < 10_000; i++) {
      const { outcome, text } = engine.step(encodeCommand(generator.next()));
      generator.learn(outcome);
      const { at, events } = JSON.parse(text) as { at: number; events: readonly { readonly type: EventType; readonly v: number }[] };
      equal(JSON.stringify({ at, events: events.map((event) => inOrder(event, schemaOf(event))) }), text);
      for (const { type } of events) seen.add(type);
    }
    equal(seen.size > 30, true, [...seen].join());
  });

  it('are found to differ by a single event or digest', () => {
    const reference = createReferenceEngine();
    const forgetful: ComparedEngine = {
      step(command, data) {
        const answer = reference.step(command, data);
        return command.kind === 'AdvanceClock' ? { ...answer, outcome: { ...answer.outcome, events: [] } } : answer;
      },
    };
    const generator = createRandomCommands(1, crowd);
    const step = createLockstep(createReferenceEngine(), forgetful);
    throws(() => {
      for (let i = 0; i < 10_000; i++) generator.learn(step(generator.next()).outcome);
    }, /differ at position \d+\n\{"kind":"AdvanceClock"/);
  });
});
