/** The lane role: signs and sends the transactions that other roles request, one lane per key and chain. Of two processes with a key, one sends. */
import { createLane } from '../../command/lane/lane.js';
import type { Lane, LanePolicy } from '../../command/lane/lane-options.js';
import type { Outbox } from '../../command/lane/outbox.js';
import type { Attempt, HeldRequest } from '../../command/lane/requests.js';
import { relaySubmissionOf } from '../../command/relayer/note.js';
import { submissionOf } from '../../command/settlement/submission.js';
import type { Log } from '../../engine/log/log.js';
import { encodeCommand, recordId } from '../../engine/records/codec.js';
import type { ChainAccess } from '../chains/chain-access.js';
import { textOf } from '../chains/indexer-health.js';
import type { Figure } from '../status/metrics.js';
import type { LaneHealth } from '../status/readiness.js';
import { neverFails } from '../process/failure.js';
import type { Clock, Role } from './role.js';

/** The name of the key that signs settlement transactions. */
export const OPERATOR = 'operator';
/** The name of the key that signs relayed transactions. */
export const RELAYER = 'relayer';
/** The name of the key that creates and resolves quick markets. */
export const QUICK = 'quick';

export interface LanePorts {
  /** By chain id; the settings of each have its keys. */
  readonly chains: ReadonlyMap<number, ChainAccess>;
  readonly outbox: Outbox;
  readonly log: Pick<Log, 'append'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** What differs from the lane's own policy and is not a chain's setting; absent: nothing. */
  readonly policy?: Partial<LanePolicy>;
}

export const lane: Role<LanePorts> = {
  async start(ports) {
    const running = await Promise.all([...ports.chains.values()].flatMap((access) => keysOf(access).map((key) => startLane(access, key, ports))));
    const lanes = () => running.flatMap(({ health }) => health() ?? []);
    return {
      routes: [], figures: laneFigures(lanes), failed: neverFails,
      health: () => ({ reasons: [], lanes: lanes() }),
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

async function startLane(access: ChainAccess, { name: key, privateKey }: NamedKey, { outbox, log, clock, policy }: LanePorts) {
  const { chain, rpc, report, configured: { pollMs, maxFeePerGas } } = access;
  const stopping = new AbortController();
  let started: Lane | undefined;
  await access.begin(async () => {
    started ??= await createLane({
      chain, rpc, report, key, privateKey, outbox, now: () => Math.round(clock.monotonic()),
      signal: AbortSignal.any([stopping.signal, access.signal]),
      policy: { ...policy, pollMs, ...maxFeePerGas === undefined ? {} : { maxFeePerGas } },
      announce: (attempt, request) => announce(attempt, request, { chainId: chain.chainId, log, now: () => clock.now() }),
    });
  });
  return {
    health(): LaneHealth | undefined {
      if (started === undefined) return undefined;
      const { address, holds, trouble } = started.status();
      return { chainId: chain.chainId, key, address, standby: !holds && trouble === undefined, trouble: textOf(trouble) };
    },
    async stop() {
      stopping.abort();
      await started?.done;
    },
  };
}

/** Records a transaction before it is broadcast, so that the history expects its result on the chain. */
async function announce(
  { txHash }: Attempt, { purpose, note }: HeldRequest, { chainId, log, now }: { chainId: number; log: Pick<Log, 'append'>; now: () => number },
): Promise<void> {
  const command = purpose === 'settlement'
    ? submissionOf(note, { chainId, txHash, at: now() })
    : purpose === 'relay' ? relaySubmissionOf(note, { chainId, txHash, at: now() }) : undefined;
  if (command === undefined) return;
  // Appended without the orders' queue, like facts of the chain: a flood of orders must not delay settlement.
  await log.append('commands', [{ id: recordId(`${purpose}:${chainId}:${txHash}`), data: encodeCommand(command) }]);
}

/** The metrics of the lanes. */
export function laneFigures(lanes: () => readonly LaneHealth[]): readonly Figure[] {
  const figure = (name: string, help: string, value: (lane: LaneHealth) => number): Figure => (
    { name, help, read: () => lanes().map((each) => ({ labels: { chain: each.chainId, key: each.key }, value: value(each) })) });
  return [
    figure('exchange_lane_holds', '1 while this process sends with the key', ({ standby }) => standby ? 0 : 1),
    figure('exchange_lane_troubled', '1 when something blocks the lane', ({ trouble }) => trouble === null ? 0 : 1),
  ];
}
