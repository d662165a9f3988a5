/**
 * The lane role: signs and sends the transactions that other roles request, one lane per key and chain. Of two
 * processes with a key, one sends.
 */
import type { Log } from '../../engine/log/log.js';
import { encodeCommand, recordId } from '../../engine/run/new-record.js';
import type { SubmitRelay, SubmitSettlement } from '../../engine/records/commands.js';
import { neverFails, type Clock, type Role } from '../../engine/running-role.js';
import { reading, shortText } from '../../engine/state-table.js';
import type { ChainAccess } from '../chain/chain-access.js';
import { OPERATOR, QUICK, RELAYER } from './keys.js';
import type { Lane, LanePolicy } from './lane-options.js';
import { createLane } from './lane.js';
import type { Outbox } from './outbox.js';
import type { Attempt, HeldRequest, Purpose } from './requests.js';
import { laneState, type LaneState } from './role-state.js';

export interface LanePorts {
  /** By chain id; the settings of each have its keys. */
  readonly chains: ReadonlyMap<number, ChainAccess>;
  readonly outbox: Outbox;
  readonly log: Pick<Log, 'append'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** The command by which the history learns of a transaction, by its purpose; none where it need not know. */
  readonly submissions: Readonly<Partial<Record<Purpose, SubmissionOf>>>;
  /** What differs from the lane's own policy and is not a chain's setting; absent: nothing. */
  readonly policy?: Partial<LanePolicy>;
}

/**
 * The command for one attempt of a request with this note; `at` in Unix milliseconds. Throws for another purpose's
 * note.
 */
export type SubmissionOf = (
  note: unknown, sent: { readonly chainId: number; readonly txHash: string; readonly at: number },
) => SubmitSettlement | SubmitRelay;

export const lane: Role<LanePorts> = {
  async start(ports) {
    const running = await Promise.all(
      [...ports.chains.values()].flatMap((access) => keysOf(access).map((key) => startLane(access, key, ports))),
    );
    return {
      state: [reading(laneState, () => running.flatMap(({ state }) => state() ?? []))], failed: neverFails(),
      async stop() { await Promise.all(running.map((each) => each.stop())); },
    };
  },
};

interface NamedKey {
  readonly name: typeof OPERATOR | typeof RELAYER | typeof QUICK;
  readonly privateKey: string;
}

/** A chain's keys: the relayer's is missing where nothing is relayed, that of quick markets where there are none. */
function keysOf({
  chain: { chainId }, configured: { operatorKey, relayerKey, quickKey },
}: ChainAccess): readonly NamedKey[] {
  if (operatorKey === undefined) throw new TypeError(`the lane was given no operator's key for chain ${chainId}`);
  const optional = (name: NamedKey['name'], privateKey: string | undefined) => privateKey === undefined ? [] : [{ name, privateKey }];
  return [{ name: OPERATOR, privateKey: operatorKey }, ...optional(RELAYER, relayerKey), ...optional(QUICK, quickKey)];
}

async function startLane(
  access: ChainAccess, { name: key, privateKey }: NamedKey, { outbox, log, clock, submissions, policy }: LanePorts,
) {
  const { chain, rpc, report, configured: { pollMs, maxFeePerGas } } = access;
  const stopping = new AbortController();
  let started: Lane | undefined;
  await access.begin(async () => {
    started ??= await createLane({
      chain, rpc, report, key, privateKey, outbox, now: () => Math.round(clock.monotonic()),
      signal: AbortSignal.any([stopping.signal, access.signal]),
      policy: { ...policy, pollMs, ...maxFeePerGas === undefined ? {} : { maxFeePerGas } },
      announce: (attempt, request) => (
        announce(attempt, request, { chainId: chain.chainId, log, submissions, now: () => clock.now() })),
    });
  });
  return {
    state(): LaneState | undefined {
      if (started === undefined) return undefined;
      const { address, holds, problem } = started.status();
      return {
        chainId: chain.chainId, key, address, standby: !holds && problem === undefined, problem: shortText(problem),
      };
    },
    async stop() {
      stopping.abort();
      await started?.done;
    },
  };
}

/** Records a transaction before it is broadcast, so that the history expects its result on the chain. */
async function announce(
  { txHash }: Attempt, { purpose, note }: HeldRequest,
  { chainId, log, submissions, now }: Pick<LanePorts, 'log' | 'submissions'> & {
    readonly chainId: number; readonly now: () => number;
  },
): Promise<void> {
  const command = submissions[purpose]?.(note, { chainId, txHash, at: now() });
  if (command === undefined) return;
  // Appended without the orders' queue, like facts of the chain: a flood of orders must not delay settlement.
  await log.append('commands', [{ id: recordId(`${purpose}:${chainId}:${txHash}`), data: encodeCommand(command) }]);
}
