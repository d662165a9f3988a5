/** The programs of traders who relay: they send what they signed, perhaps twice at once, and the same again where they have no answer, or later. */
import { createRandom } from '../../support/random-commands.js';
import { RequestError } from '../../../engine/records/errors.js';
import type { Relayed } from '../../../command/relayer/relayer.js';
import { relayEndpoints } from '../../../command/relayer/endpoints.js';
import { ask, type AskResult } from '../story/line.js';
import type { Exchange, ProcessName } from '../world/exchange.js';
import type { WorldParts } from '../world/parts.js';
import type { SignedRelay } from './messages.js';

export interface RelayClientWatch {
  /** It is going to be sent. */
  asked(request: SignedRelay): void;
  answered(request: SignedRelay, answer: Relayed): void;
  /** A try ended without an answer: `recorded` tells whether the history may have the request. */
  unanswered(request: SignedRelay, recorded: 'no' | 'perhaps'): void;
}

const BACKS: readonly ProcessName[] = ['back-0', 'back-1'];
const TRIES = 8;
const LOST = 6;
const ANYBODY = { id: 1, name: 'anybody', scopes: ['relay'] };

export interface SendPlan {
  /** How often it is sent at once. */
  readonly times: number;
  /** After such a silence it is sent once more. Undefined: never. */
  readonly againAfterMs: number | undefined;
}

export function createRelayClients(parts: WorldParts, exchange: Exchange, watch: RelayClientWatch) {
  const { time, trace, strikes } = parts;
  let underWay = 0;

  async function heardOf({ id, action, body }: SignedRelay, name: ProcessName): Promise<AskResult<Relayed>> {
    const heard = await ask(parts, exchange.running.get(name), { endpoint: relayEndpoints[action], rawBody: body, token: ANYBODY });
    if (typeof heard === 'string' || !time.once(LOST)) return heard instanceof RequestError || typeof heard === 'string' ? heard : readAnswer(heard.body);
    strikes.struck('relay answer lost', id.slice(0, 10));
    return 'no answer';
  }

  async function untilKnown(request: SignedRelay, seed: number): Promise<void> {
    const random = createRandom(seed);
    const short = request.id.slice(0, 10);
    for (let tries = 0; tries < TRIES; tries++) {
      if (tries > 0) strikes.struck('relay request sent again', short);
      const heard = await heardOf(request, BACKS[random() % 2] ?? 'back-0');
      trace.note(`${request.action} ${short}: ${textOf(heard)}`);
      if (typeof heard === 'object' && !(heard instanceof RequestError)) return watch.answered(request, heard);
      const isRefused = heard instanceof RequestError && !heard.isUnavailable;
      watch.unanswered(request, isRefused || heard === 'not reached' ? 'no' : 'perhaps');
      if (isRefused) {
        strikes.struck('relay request refused', heard.code);
        return;
      }
      await time.sleep(300 + 2_000 * time.random());
    }
  }

  async function carry(request: SignedRelay, seed: number, { times, againAfterMs }: SendPlan): Promise<void> {
    underWay += 1;
    watch.asked(request);
    if (times > 1) strikes.struck('relay request sent twice', request.id.slice(0, 10));
    await Promise.all(Array.from({ length: times }, (_, i) => untilKnown(request, seed + i)));
    if (againAfterMs !== undefined) {
      await time.sleep(againAfterMs);
      strikes.struck('relay request repeated', request.id.slice(0, 10));
      await untilKnown(request, seed + times);
    }
    underWay -= 1;
  }

  return {
    /** How many requests have not ended. */
    underWay: () => underWay,
    relay(request: SignedRelay, seed: number, asking: SendPlan): void { void carry(request, seed, asking); },
  };
}

/** A request that needs no transaction is answered with none. */
function readAnswer(body: string): Relayed {
  const { tx_hash: txHash } = JSON.parse(body) as { tx_hash: string };
  return { txHash, status: txHash === '' ? 'done' : 'pending' };
}

function textOf(heard: AskResult<Relayed>): string {
  if (typeof heard === 'string') return heard;
  return heard instanceof RequestError ? `${heard.code}: ${heard.message}` : `${heard.status} ${heard.txHash.slice(0, 10)}`;
}
