/** The lane role: signs and sends the transactions that other roles request, one lane per key and chain. Of two processes with a key, one sends. */
import { createLane } from '../../command/lane/lane.js';
import type { Lane } from '../../command/lane/lane-options.js';
import { createOutbox } from '../../command/lane/outbox.js';
import type { Attempt, HeldRequest } from '../../command/lane/requests.js';
import { submissionOf } from '../../command/settlement/submission.js';
import type { Log } from '../../engine/log/log.js';
import { encodeCommand, recordId } from '../../engine/records/codec.js';
import type { ChainAccess } from '../chains/chain-access.js';
import { textOf } from '../chains/indexer-health.js';
import type { Figure } from '../metrics.js';
import type { LaneHealth } from '../process/readiness.js';
import { neverFails } from '../process/failure.js';
import type { Role } from './role.js';
import type { SharedParts } from '../process/shared-parts.js';

/** The name of the key that signs settlement transactions. */
export const OPERATOR = 'operator';

export const lane: Role = {
  name: 'lane',
  reads: 'requests in the outbox; the chains',
  writes: 'signed transactions to the outbox and the chains; SubmitSettlement commands',
  async start(parts) {
    const running = await Promise.all([...parts.chains.values()].map((access) => startLane(access, parts)));
    const lanes = () => running.flatMap(({ health }) => health() ?? []);
    return {
      routes: [], figures: laneFigures(lanes), failed: neverFails,
      health: () => ({ reasons: [], lanes: lanes() }),
      async stop() { await Promise.all(running.map((each) => each.stop())); },
    };
  },
};

async function startLane(access: ChainAccess, { urls, log, now }: SharedParts) {
  const { chain, rpc, report, configured: { operatorKey, pollMs, maxFeePerGas } } = access;
  const stopping = new AbortController();
  let started: Lane | undefined;
  await access.begin(async () => {
    started ??= await createLane({
      chain, rpc, report, key: OPERATOR, privateKey: operatorKey, outbox: createOutbox({ url: urls.outbox }), now: monotonic,
      signal: AbortSignal.any([stopping.signal, access.signal]), policy: { pollMs, ...maxFeePerGas === undefined ? {} : { maxFeePerGas } },
      announce: (attempt, request) => announce(attempt, request, { chainId: chain.chainId, log, now }),
    });
  });
  return {
    health(): LaneHealth | undefined {
      if (started === undefined) return undefined;
      const { address, holds, trouble } = started.status();
      return { chainId: chain.chainId, key: OPERATOR, address, standby: !holds && trouble === undefined, trouble: textOf(trouble) };
    },
    async stop() {
      stopping.abort();
      await started?.done;
    },
  };
}

/** Records a settlement transaction before it is broadcast, so that the history expects its result on the chain. */
async function announce(
  { txHash }: Attempt, { purpose, note }: HeldRequest, { chainId, log, now }: { chainId: number; log: Log; now: () => number },
): Promise<void> {
  if (purpose !== 'settlement') return;
  const command = submissionOf(note, { chainId, txHash, at: now() });
  // Appended without the orders' queue, like facts of the chain: a flood of orders must not delay settlement.
  await log.append('commands', [{ id: recordId(`settlement:${chainId}:${txHash}`), data: encodeCommand(command) }]);
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

function monotonic(): number {
  return Math.round(performance.now());
}
