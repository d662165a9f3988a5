/** An audit finds every way of tampering with a history or its chain, and names the very place; an untouched history passes. */
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { ChainUnavailable, type Rpc } from '../../command/chain/chain.js';
import { readEvent } from '../../command/indexer/chain-events.js';
import type { Fact } from '../../command/indexer/facts.js';
import type { Command, FailFill, OpenMarket, PlaceOrder } from '../../engine/records/commands.js';
import type { FillMatched } from '../../engine/records/events.js';
import { audit } from '../../tools/audit/audit.js';
import { Differs, type Difference } from '../../tools/audit/difference.js';
import { createReplay } from '../../tools/audit/replay.js';
import type { AuditReport } from '../../tools/audit/report.js';
import {
  CHAIN_ID, anchored, blockHash, contracts, fillSettled, linesOfHistory, nodeOf, rawEvent, redecided, redigested, sourceOf, tradedHistory, traders,
  transaction, type AuditedHistory, type HistoryRecord,
} from '../support/audited-history.js';
import { newCommand } from '../support/commands.js';
import { createRandom } from '../support/random-commands.js';

/** How many bytes are changed, one at a time: more, where somebody looks for longer. */
const TAMPERED_BYTES = Number(process.env['AUDIT_TAMPERED_BYTES'] ?? 200);

let history: AuditedHistory;
before(async () => { history = await tradedHistory(); });

/** The audit of these records, with signatures on a thread and the chain on a node. */
async function audited(
  records: readonly HistoryRecord[], { events = history.chainEvents, blocks = history.blocks, threads = 1 } = {},
): Promise<AuditReport> {
  return await audit({ source: sourceOf(linesOfHistory(records)), threads, rpcs: new Map([[CHAIN_ID, nodeOf(events, blocks)]]), patienceMs: 0 });
}

async function differenceIn(records: readonly HistoryRecord[], chain?: Parameters<typeof audited>[1]): Promise<Difference> {
  const { difference, passed } = await audited(records, chain);
  ok(difference !== null, 'nothing was found');
  equal(passed, false);
  return difference;
}

/** The first difference that a replay alone finds. */
async function replayed(lines: readonly Buffer[]): Promise<Difference | undefined> {
  const replay = createReplay(() => ({
    signatures: undefined, store: undefined, cancelsAreSigned: true, ids: { add: () => undefined }, passedOverAnchors: new Set(),
    chainOf: () => undefined,
  }));
  try {
    await replay.take(lines);
    return undefined;
  } catch (error) {
    if (error instanceof Differs) return error.difference;
    throw error;
  }
}

const commandAt = (position: number): Command => JSON.parse(history.records[position]!.command.toString()) as Command;
const positionsOf = (kind: Command['kind']) => history.records.flatMap((_, position) => commandAt(position).kind === kind ? [position] : []);
const without = (command: Command, ...fields: string[]) => Object.fromEntries(Object.entries(command).filter(([name]) => !fields.includes(name)));
const rewritten = (position: number, change: (command: Command) => object): HistoryRecord[] => history.records.map((record, at) =>
  at === position ? { ...record, command: Buffer.from(JSON.stringify(change(commandAt(at)))) } : record);

describe('an audit of an untouched history', () => {
  it('passes, and counts every check', async () => {
    const { passed, checks, difference, records, digest } = await audited(history.records);
    deepEqual(difference, null);
    deepEqual({ passed, records, digest }, { passed: true, records: history.records.length, digest: history.records.at(-1)!.digest });
    const counts = Object.fromEntries(checks.map(({ name, status, count }) => [name, [status, count]]));
    deepEqual(counts, {
      records: ['passed', 27], commands: ['passed', 27], ids: ['passed', 20], outcomes: ['passed', 27], events: ['passed', counts['events']?.[1]], digests: ['passed', 27],
      orderSignatures: ['passed', 10], cancelSignatures: ['passed', 1], anchors: ['passed', 3], settledFills: ['passed', 4], failedFills: ['passed', 1],
      quickResolutions: ['passed', 0], chainFacts: ['passed', 2], endedRelays: ['passed', 0], syncedPositions: ['passed', 0], readModels: ['not made', 0],
    });
  });

  it('names what was not checked', async () => {
    const { passed, checks } = await audit({ source: sourceOf(linesOfHistory(history.records)), threads: 0 });
    equal(passed, true);
    deepEqual(checks.filter(({ status }) => status === 'not made').map(({ name, reason }) => [name, reason]), [
      ['orderSignatures', '--no-signatures'], ['cancelSignatures', '--no-signatures'],
      ...['anchors', 'settledFills', 'failedFills', 'quickResolutions', 'chainFacts', 'endedRelays'].map((name) => [name, `no --rpc for chain ${CHAIN_ID}`]),
      ['readModels', 'no --database'],
    ]);
  });

  it('passes while the chain has gone on, and says how far', async () => {
    const beyond = rawEvent(fillSettled(history, 4, transaction(9)), history.blocks + 2, 0);
    const { passed, notes } = await audited(history.records, { events: [...history.chainEvents, beyond], blocks: history.blocks + 3 });
    equal(passed, true);
    match(notes.join('\n'), /3 final blocks with 1 events of the contracts come after it/);
  });
});

describe('an audit of a history that was tampered with', () => {
  it('finds any changed byte of any command, outcome or digest, at its position', async () => {
    const random = createRandom(20_261_122);
    for (let n = 0; n < TAMPERED_BYTES; n++) {
      const lines = linesOfHistory(history.records);
      const position = random() % lines.length;
      const line = Buffer.from(lines[position]!);
      const start = line.indexOf('"command":') + '"command":'.length;
      const place = start + random() % (line.length - start);
      line[place] = line[place]! ^ (1 + random() % 255);
      lines[position] = line;
      const difference = await replayed(lines);
      equal(difference?.place.position, position, `byte ${place} of position ${position}: ${line.toString()}`);
    }
  });

  it('finds a removed, an added and a swapped record, also with positions and digests written anew', async () => {
    const { records } = history;
    const lines = linesOfHistory(records);
    for (const at of [1, 5, 12, 20]) {
      for (const [what, edited] of [
        ['removed', [...lines.slice(0, at), ...lines.slice(at + 1)]], ['added', [...lines.slice(0, at), lines[at]!, ...lines.slice(at)]],
        ['swapped', [...lines.slice(0, at), lines[at + 1]!, lines[at]!, ...lines.slice(at + 2)]],
      ] as const) {
        const difference = await replayed(edited);
        deepEqual([difference?.check, difference?.place.position], ['records', what === 'added' ? at + 1 : at], what);
      }
      const renumbered = await replayed(linesOfHistory([...records.slice(0, at), ...records.slice(at + 1)]));
      ok(renumbered !== undefined && renumbered.place.position! >= at);
      equal(renumbered.place.position, at, 'a record that is gone, with its position given to the next');
    }
  });

  it('finds a fill that the engine would not make, by its number, whatever the digests say', async () => {
    const at = history.records.findIndex(({ outcome }) => outcome.includes('"fill":1,'));
    const forged = history.records.map((record, position) => {
      if (position !== at) return record;
      const outcome = JSON.parse(record.outcome) as { events: FillMatched[] };
      return { ...record, outcome: JSON.stringify({ ...outcome, events: outcome.events.map((event) => event.type === 'FillMatched' ? { ...event, price: 400_000 } : event) }) };
    });
    const { check, place, means } = await differenceIn(redigested(forged));
    deepEqual([check, place], ['outcomes', { position: at, fill: 1 }]);
    match(means, /did not follow its rules/);
    const undigested = await differenceIn(forged);
    deepEqual([undigested.check, undigested.place.position], ['outcomes', at]);
    match(undigested.means, /altered after it was recorded/);
  });

  it('finds a forged signature of an order and of a cancel, in a history that is whole in itself', async () => {
    const order = positionsOf('PlaceOrder')[4]!;
    const cancel = positionsOf('CancelOrder')[0]!;
    const { key } = traders[2]!;
    const other = key.sign(blockHash(77)).serialized;
    for (const [position, check] of [[order, 'orderSignatures'], [cancel, 'cancelSignatures']] as const) {
      const difference = await differenceIn(redecided(rewritten(position, (command) => ({ ...command, signature: other }))));
      deepEqual([difference.check, difference.place], [check, { position }]);
    }
    const resized = await differenceIn(redecided(rewritten(order, (command) => ({ ...command, size: '999999' }))));
    deepEqual([resized.check, resized.place], ['orderSignatures', { position: order }]);
    match(resized.what, /hash is not the hash of its fields/);
  });

  it('finds a cancel whose signature was removed', async () => {
    const position = positionsOf('CancelOrder')[0]!;
    const unsigned = redecided(rewritten(position, (command) => without(command, 'trader', 'signature', 'deadline')));
    const { check, place } = await differenceIn(unsigned);
    deepEqual([check, place], ['cancelSignatures', { position }]);
  });

  it('finds an altered id where the id follows from the command', async () => {
    const position = positionsOf('SubmitSettlement')[1]!;
    const records = history.records.map((record, at) => at === position ? { ...record, id: history.records[0]!.id } : record);
    const { check, place } = await differenceIn(records);
    deepEqual([check, place], ['ids', { position }]);
  });

  it('finds any changed digit of any id, that of a fact by its block', async () => {
    for (const [position, { id }] of history.records.entries()) {
      const isFact = 'fact' in commandAt(position);
      const places = Array.from(id, (_, place) => place).filter((place) => id[place] !== '-' && (!isFact || place % 9 === 0));
      for (const place of places) {
        const altered = `${id.slice(0, place)}${((parseInt(id[place]!, 16) + 1) % 16).toString(16)}${id.slice(place + 1)}`;
        const records = history.records.map((record, at) => at === position ? { ...record, id: altered } : record);
        const difference = isFact ? await differenceIn(records, { threads: 0 }) : await replayed(linesOfHistory(records));
        deepEqual([difference?.check, difference?.place.position], ['ids', position], altered);
      }
    }
  });

  it('finds a history that was rewritten as a whole, by the first anchor behind the change', async () => {
    const position = positionsOf('PlaceOrder')[6]!;
    const price = (JSON.parse(history.records[position]!.command.toString()) as PlaceOrder).price;
    equal(price, 100_000);
    const gone = redecided(rewritten(positionsOf('RecordPrice')[0]!, (command) => ({ ...command, price: '5900000000000' })));
    const { check, place } = await differenceIn(gone);
    const anchor = positionsOf('SubmitSettlement')[1]!;
    deepEqual([check, place], ['anchors', { position: anchor, chainId: CHAIN_ID, block: 3, logIndex: 1, txHash: transaction(2) }]);
  });
});

describe('an audit of a history that its chain contradicts', () => {
  const placeOf = (fill: number, block: number, logIndex: number, txHash: string) => ({ fill, chainId: CHAIN_ID, block, logIndex, txHash });

  it('finds a fill on the chain that is not in the history', async () => {
    const settle = positionsOf('SettleFill')[3]!;
    const without = redecided(history.records.filter((_, position) => position !== settle));
    const { check, place, what } = await differenceIn(without, { threads: 0 });
    deepEqual([check, place], ['settledFills', { position: positionsOf('AdvanceChain').at(-1)! - 1, ...placeOf(4, 4, 1, transaction(3)) }]);
    match(what, /the history does not have it/);
  });

  it('finds such a fill also where the records after the one that was removed differ without it', async () => {
    const [settle = 0] = positionsOf('SettleFill');
    const records = redigested(history.records.filter((_, position) => position !== settle));
    equal((await replayed(linesOfHistory(records)))?.check, 'outcomes');
    const { check, place } = await differenceIn(records, { threads: 0 });
    // The first record after it that says that the history has all events of the block, one position earlier now.
    const position = positionsOf('AdvanceChain').find((each) => each > settle)! - 1;
    deepEqual([check, place], ['settledFills', { position, ...placeOf(0, 2, 0, transaction(1)) }]);
  });

  it('tells a difference that is known, though the chain does not answer', async () => {
    const order = positionsOf('PlaceOrder')[8]!;
    const resized = redigested(rewritten(order, (command) => ({ ...command, size: '999999' })));
    let asked = 0;
    const node = nodeOf(history.chainEvents, history.blocks);
    const dying: Rpc = {
      chainId: CHAIN_ID,
      request: (method, params) => ++asked > 1 ? Promise.reject(new ChainUnavailable(CHAIN_ID, 'it is away')) : node.request(method, params),
    };
    const { difference } = await audit({ source: sourceOf(linesOfHistory(resized)), threads: 0, rpcs: new Map([[CHAIN_ID, dying]]), patienceMs: 0 });
    deepEqual([difference?.check, difference?.place.position, asked > 1], ['outcomes', order, true]);
  });

  it('finds a fill that the chain settled under a number that was never matched', async () => {
    const foreign = { ...fillSettled(history, 4, transaction(8)), args: { ...fillSettled(history, 4, transaction(8)).args, seq: 99 } };
    const longer = await tradedHistory();
    longer.block(foreign);
    const { check, place } = await differenceIn(longer.records, { threads: 0, events: longer.chainEvents, blocks: longer.blocks });
    deepEqual([check, place], ['settledFills', { position: longer.records.length - 2, ...placeOf(99, 5, 0, transaction(8)) }]);
  });

  it('finds a fill that the history calls settled and the chain lacks, or failed where it calls it settled', async () => {
    const position = positionsOf('SettleFill')[1]!;
    const events = history.chainEvents.filter(({ block, logIndex }) => !(block === 2 && logIndex === 1));
    const lacking = await differenceIn(history.records, { threads: 0, events });
    deepEqual([lacking.check, lacking.place], ['settledFills', { position, ...placeOf(1, 2, 1, transaction(1)) }]);
    const failed = positionsOf('FailFill')[0]!;
    const flipped = redecided(rewritten(failed, (command) => {
      const { at, fill, txHash, fact } = command as FailFill & Pick<Fact['command'], 'fact'>;
      return newCommand('SettleFill', { at, fill, txHash, fact });
    }));
    const otherwise = await differenceIn(flipped, { threads: 0 });
    deepEqual([otherwise.check, otherwise.place.fill, otherwise.place.position], ['failedFills', 2, failed]);
  });

  it('finds a default that the history does not count, and passes those of the version that counted none', async () => {
    const failed = positionsOf('FailFill')[0]!;
    const forgiven = await differenceIn(redecided(rewritten(failed, (command) => ({ ...command, countDefault: false }))), { threads: 0 });
    deepEqual([forgiven.check, forgiven.place.position], ['failedFills', failed]);
    const earlier = redecided(rewritten(failed, (command) => ({ ...without(command, 'countDefault'), v: 1 })));
    const events = history.chainEvents.filter((raw) => readEvent(contracts, raw)?.name !== 'HistoryAnchored');
    deepEqual((await audited(earlier, { threads: 0, events })).difference, null);
  });

  it('finds a fill that was settled at another price than it was matched at', async () => {
    const events = history.chainEvents.map((raw) => raw.block === 4 && raw.logIndex === 0
      ? rawEvent({ ...fillSettled(history, 3, transaction(3)), args: { ...fillSettled(history, 3, transaction(3)).args, price: 1 } }, 4, 0)
      : raw);
    const { check, place } = await differenceIn(history.records, { threads: 0, events });
    deepEqual([check, place.fill], ['settledFills', 3]);
  });

  it('finds a settlement without a fact, and a block of another chain', async () => {
    const position = positionsOf('SettleFill')[0]!;
    const untold = redecided(rewritten(position, (command) => without(command, 'fact')));
    const told = await differenceIn(untold, { threads: 0 });
    deepEqual([told.check, told.place], ['settledFills', { position, fill: 0, chainId: CHAIN_ID, txHash: transaction(1) }]);
    const last = positionsOf('AdvanceChain').at(-1)!;
    const elsewhere = redecided(history.records.map((record, at) => at === last
      ? { ...record, command: Buffer.from(JSON.stringify({ ...commandAt(at), blockHash: blockHash(99) })) }
      : record));
    equal((await differenceIn(elsewhere, { threads: 0 })).check, 'ids', 'the id names the block');
  });

  it('finds shares, markets and winners that name no event of the chain', async () => {
    const at = 1_800_000_000_000;
    const untold: Command[] = [
      newCommand('RecordTransfer', {
        at, chainId: CHAIN_ID, from: `0x${'0'.repeat(40)}`, to: traders[0]!.address, txHash: transaction(9),
        items: [{ token: `0x${'a'.padStart(64, '0')}`, amount: '1000000' }],
      }),
      newCommand('ResolveMarket', { at, marketId: (commandAt(0) as OpenMarket).marketId, winningOutcome: 0 }),
    ];
    for (const command of untold) {
      const longer = await tradedHistory();
      const { position } = longer.add(command);
      const { check, place } = await differenceIn(longer.records, { threads: 0 });
      deepEqual([check, place], ['chainFacts', { position, chainId: CHAIN_ID }]);
    }
  });

  it('finds that records were cut from the end, when one of them is anchored', async () => {
    const end = positionsOf('SubmitSettlement').at(-1)! - 1;
    const records = history.records.slice(0, end);
    const cut = { ...sourceOf(linesOfHistory(records)), newLength: () => Promise.resolve(records.length) };
    const rpcs = new Map([[CHAIN_ID, nodeOf(history.chainEvents, history.blocks)]]);
    const { passed, difference } = await audit({ source: cut, threads: 0, rpcs, patienceMs: 0 });
    deepEqual([passed, difference?.check, difference?.place.chainId, difference?.found], [false, 'anchors', CHAIN_ID, end - 1]);
    ok(difference!.place.position! >= end);
    match(difference!.means, /removed from the end/);
  });

  it('finds an anchor behind the audited end that contradicts the history before it', async () => {
    const anchor = { ...anchored(history, 5, transaction(7)), args: { position: 5, digest: blockHash(5) } };
    const events = [...history.chainEvents, rawEvent(anchor, history.blocks + 1, 0)];
    const { check, place } = await differenceIn(history.records, { threads: 0, events, blocks: history.blocks + 1 });
    deepEqual([check, place.position, place.txHash], ['anchors', 5, transaction(7)]);
  });
});
