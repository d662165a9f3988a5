/** The lane role: signs and sends the transactions that other roles request, one lane per key and chain. Of two processes with a key, one sends. */
import { createLane } from '../../command/lane/lane.js';
import type { Lane } from '../../command/lane/lane-options.js';
import { createOutbox } from '../../command/lane/outbox.js';
import type { Attempt, HeldRequest } from '../../command/lane/requests.js';
import { relaySubmissionOf } from '../../command/relayer/note.js';
import { submissionOf } from '../../command/settlement/submission.js';
import type { Log } from '../../engine/log/log.js';
import { encodeCommand, recordId } from '../../engine/records/codec.js';
import { reading, shortText } from '../../engine/state-table.js';
import type { ChainAccess } from '../chains/chain-access.js';
import { neverFails } from '../process/failure.js';
import { laneState, type LaneState } from './lane-state.js';
import type { Role } from './role.js';
import type { SharedParts } from '../process/shared-parts.js';

/** The name of the key that signs settlement transactions. */
export const OPERATOR = 'operator';
/** The name of the key that signs relayed transactions. */
export const RELAYER = 'relayer';
/** The name of the key that creates and resolves quick markets. */
export const QUICK = 'quick';

export const lane: Role = {
  async start(parts) {
    const running = await Promise.all([...parts.chains.values()].flatMap((access) => keysOf(access).map((key) => startLane(access, key, parts))));
    return {
      routes: [], state: [reading(laneState, () => running.flatMap(({ state }) => state() ?? []))], failed: neverFails,
      async stop() { await Promise.all(running.map((each) => each.stop())); },
    };
  },
};

interface NamedKey {
  readonly name: typeof OPERATOR | typeof RELAYER | typeof QUICK;
  readonly privateKey: string;
}

/** A chain's keys: the relayer's is missing where nothing is relayed, that of quick markets where there are none. */
function keysOf({ chain: { chainId }, configured: { operatorKey, relayerKey, quickKey } }: ChainAccess): readonly NamedKey[] {
  if (operatorKey === undefined) throw new TypeError(`the lane was given no operator's key for chain ${chainId}`);
  const optional = (name: NamedKey['name'], privateKey: string | undefined) => privateKey === undefined ? [] : [{ name, privateKey }];
  return [{ name: OPERATOR, privateKey: operatorKey }, ...optional(RELAYER, relayerKey), ...optional(QUICK, quickKey)];
}

async function startLane(access: ChainAccess, { name: key, privateKey }: NamedKey, { urls, log, now, machine: { clocks } }: SharedParts) {
  const { chain, rpc, report, configured: { pollMs, maxFeePerGas } } = access;
  const stopping = new AbortController();
  let started: Lane | undefined;
  await access.begin(async () => {
    started ??= await createLane({
      chain, rpc, report, key, privateKey, outbox: createOutbox({ url: urls.outbox }), now: () => Math.round(clocks.monotonic()),
      signal: AbortSignal.any([stopping.signal, access.signal]), policy: { pollMs, ...maxFeePerGas === undefined ? {} : { maxFeePerGas } },
      announce: (attempt, request) => announce(attempt, request, { chainId: chain.chainId, log, now }),
    });
  });
  return {
    state(): LaneState | undefined {
      if (started === undefined) return undefined;
      const { address, holds, trouble } = started.status();
      return { chainId: chain.chainId, key, address, standby: !holds && trouble === undefined, trouble: shortText(trouble) };
    },
    async stop() {
      stopping.abort();
      await started?.done;
    },
  };
}

/** Records a transaction before it is broadcast, so that the history expects its result on the chain. */
async function announce(
  { txHash }: Attempt, { purpose, note }: HeldRequest, { chainId, log, now }: { chainId: number; log: Log; now: () => number },
): Promise<void> {
  const command = purpose === 'settlement'
    ? submissionOf(note, { chainId, txHash, at: now() })
    : purpose === 'relay' ? relaySubmissionOf(note, { chainId, txHash, at: now() }) : undefined;
  if (command === undefined) return;
  // Appended without the orders' queue, like facts of the chain: a flood of orders must not delay settlement.
  await log.append('commands', [{ id: recordId(`${purpose}:${chainId}:${txHash}`), data: encodeCommand(command) }]);
}
