/** Bodies at random for each endpoint: never anything but a known refusal, and never two transactions for one request. */
import assert from 'node:assert/strict';
import { RequestError } from '../../engine/records/errors.js';
import type { RelayAction } from '../../engine/records/fields.js';
import { RELAY_ACTIONS } from '../../command/relayer/bodies.js';
import { extent, SEED } from '../support/extent.js';
import { createRandom } from '../support/random-commands.js';
import { open, relayScene, won, validBody, type RelayScene, type Json } from '../support/relay-scene.js';

/** For each endpoint. */
const BODIES = extent({ push: 300, long: 5_000 });

type Random = () => number;

const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)]!;

/** Values that break something. */
const ODD: readonly unknown[] = [
  null, undefined, true, false, 0, 1, -1, 1.5, 27, 28, 29, 1e30, '', '0', '1', '27', '-1', '0x', 'null', [], {}, [[]], ['1'], ['1', '2'], [1, 2], ['1', '1'], ['3'],
  `0x${'0'.repeat(40)}`, `0x${'0'.repeat(64)}`, `0x${'f'.repeat(64)}`, `0x${'F'.repeat(40)}`, `0X${'1'.repeat(64)}`, '9'.repeat(78), '9'.repeat(5_000), '\u0000', '💥',
  won.marketId, won.address, open.marketId, open.address, { toString: 'x' }, { __proto__: { chainId: 137 } }, ['__proto__'], Array.from({ length: 30 }, () => ({})),
];

function spoilt(random: Random, body: Json): Json {
  const places = [body, ...(Array.isArray(body['redemptions']) ? body['redemptions'] as Json[] : [])];
  for (let changes = Math.floor(random() * 4); changes > 0; changes--) {
    const place = pick(random, places);
    const name = pick(random, [...Object.keys(place), '__proto__', 'constructor', 'extra']);
    if (random() < 0.2) Reflect.deleteProperty(place, name);
    else Object.defineProperty(place, name, { value: pick(random, ODD), enumerable: true, configurable: true, writable: true });
  }
  return body;
}

/** Bytes that are hardly JSON. */
function garbled(random: Random, text: string): string {
  const at = Math.floor(random() * text.length);
  return random() < 0.5 ? text.slice(0, at) : `${text.slice(0, at)}${pick(random, ['}', '"', '\\', ',', '{', '1', '\u0007'])}${text.slice(at)}`;
}

describe(`relayer: bodies at random (SEED=${SEED})`, () => {
  let scene: RelayScene;

  before(async () => { scene = await relayScene(); });

  async function fateOf(action: RelayAction, text: string): Promise<string> {
    try {
      await scene.ask(action, text);
      return 'taken';
    } catch (error) {
      assert.ok(error instanceof RequestError, `${text}: ${error instanceof Error ? error.stack : String(error)}`);
      assert.ok(!error.isUnavailable && error.code !== 'internal', `${text}: ${error.message}`);
      return error.code;
    }
  }

  for (const action of RELAY_ACTIONS) {
    it(`${action}: ${BODIES} of them`, async () => {
      scene.reset();
      const numbers = createRandom(SEED);
      const random = () => numbers() / 2 ** 32;
      const fates = new Map<string, number>();
      // Signed once: a signature takes longer than all that the relayer does with a body.
      const valid = new Map([4n, 5n, 6n].map((counter) => [counter, validBody(action, scene, { counter })]));
      for (let i = 0; i < BODIES; i++) {
        const text = JSON.stringify(spoilt(random, structuredClone(valid.get(pick(random, [4n, 5n, 5n, 5n, 6n]))!)));
        const fate = await fateOf(action, random() < 0.1 ? garbled(random, text) : text);
        fates.set(fate, (fates.get(fate) ?? 0) + 1);
      }
      const requests = scene.sent.map(({ note }) => note.requestId);
      assert.equal(new Set(requests).size, requests.length);
      // The same valid body comes again and again: it is one request.
      assert.ok(requests.length <= 1, `${requests.length} transactions`);
      for (const code of ['taken', 'relay_invalid_body', 'relay_wrong_signer']) assert.ok((fates.get(code) ?? 0) > 0, `${code}: ${JSON.stringify([...fates])}`);
    });
  }
});
