/** A random history with fills and chains' facts, as the fill feed reads it: outcomes at their positions, and their records. */
import { encodeCommand, encodeOutcome, recordId } from '../../engine/records/codec.js';
import { createEngine } from '../../engine/run/engine.js';
import type { NewRecord } from '../../engine/log/log.js';
import type { PlacedOutcome } from '../../command/feed/sequence.js';
import { crowd, type RandomCommands } from './random-commands.js';
import { createChainCommands } from './random-facts.js';

export interface FeedHistory {
  readonly outcomes: readonly PlacedOutcome[];
  /** Of the outcomes, in the same order. */
  readonly records: readonly NewRecord[];
  /** Of the commands, in the same order. */
  readonly commands: readonly NewRecord[];
}

/** The first `length` outcomes; by default of traders in few markets on several chains. */
export function feedHistory(
  seed: number, length: number, source: RandomCommands = createChainCommands(seed, { ...crowd, markets: 9 }),
): FeedHistory {
  const engine = createEngine();
  const outcomes: PlacedOutcome[] = [];
  const records: NewRecord[] = [];
  const commands: NewRecord[] = [];
  for (let i = 0; i < length; i++) {
    const data = encodeCommand(source.next());
    const { position, outcome, text, digest } = engine.step(data);
    source.learn(outcome);
    commands.push({ id: recordId(`command:${position}:test`), data });
    outcomes.push({ position, digest, ...outcome });
    records.push({ id: recordId(`outcome:${position}:test`), data: encodeOutcome(text, digest) });
  }
  return { outcomes, records, commands };
}
