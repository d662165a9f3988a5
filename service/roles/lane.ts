/** The lane role: signs and sends what other roles ask for, one lane per key of a chain. Of two processes with one key one works. */
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

/** The name of the key that settles. */
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

/** Tells the history of an attempt before it is broadcast, so that whatever comes of it on the chain is expected. */
async function announce(
  { txHash }: Attempt, { purpose, note }: HeldRequest, { chainId, log, now }: { chainId: number; log: Log; now: () => number },
): Promise<void> {
  if (purpose !== 'settlement') return;
  const command = submissionOf(note, { chainId, txHash, at: now() });
  // Past the orders' queue, like facts: a flood of orders must not hold up what is on its way to the chain.
  await log.append('commands', [{ id: recordId(`settlement:${chainId}:${txHash}`), data: encodeCommand(command) }]);
}

/** What `/metrics` shows. */
export function laneFigures(lanes: () => readonly LaneHealth[]): readonly Figure[] {
  const figure = (name: string, help: string, value: (lane: LaneHealth) => number): Figure => (
    { name, help, read: () => lanes().map((each) => ({ labels: { chain: each.chainId, key: each.key }, value: value(each) })) });
  return [
    figure('exchange_lane_holds', '1 while this process sends with the key', ({ standby }) => standby ? 0 : 1),
    figure('exchange_lane_troubled', '1 when something keeps the lane from going on', ({ trouble }) => trouble === null ? 0 : 1),
  ];
}

function monotonic(): number {
  return Math.round(performance.now());
}
