/** The browser's verifier over an exchange and a node that lie: each lie ends in a named difference or an error, never in `verified`. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { encodeCommand } from '../../engine/run/new-record.js';
import { createEngine } from '../../engine/run/engine.js';
import { ANCHORED_TOPIC, type AnchorSource } from '../../page/src/verify/anchors.js';
import type { VerifierCheckpoint } from '../../page/src/verify/checkpoint.js';
import type { Ask } from '../../page/src/verify/history-lines.js';
import { createVerifier, type Verification } from '../../page/src/verify/verifier.js';
import { newCommand } from '../support/commands.js';

const T0 = 1_700_000_000_000;
const bytes32 = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`;
const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;

interface Line { readonly text: string; readonly digest: string }

/** The lines of a small history: a market, orders that fill each other, a question beyond ASCII, an order that is refused. */
function history(): Line[] {
  const engine = createEngine();
  const market = newCommand('OpenMarket', {
    at: T0, marketId: bytes32(1),
    question: 'Wird es “morgen” regnen? 🌧', contractAddress: address(9), maker: address(0), expiration: 2_000_000_000,
    chainId: 31_337,
  });
  const orders = Array.from({ length: 40 }, (_, n) => newCommand('PlaceOrder', {
    at: T0 + n, orderHash: bytes32(100 + n), marketId: bytes32(n % 9 === 8 ? 2 : 1), trader: address(1 + n % 3),
    side: n % 2 === 0 ? 0 : 1, outcome: 0, price: 500_000,
    size: '1000000', nonce: String(n),
    expiration: String(T0 / 1_000 + 900), signature: `0x${'5a'.repeat(65)}`,
  }));
  return [market, ...orders].map((command, position) => {
    const data = encodeCommand(command);
    const { text, digest } = engine.step(data);
    return { text: `{"position":${position},"id":"00000000-0000-8000-8000-000000000000","command":${data.toString()},"outcome":${text},"digest":"${digest}"}`, digest };
  });
}

const LINES = history();
const NEWEST = LINES.length - 1;
const source: AnchorSource = { nodeUrl: 'https://node.example', chainId: 31_337, contract: address(7) };

interface Lie {
  readonly texts?: readonly string[];
  readonly header?: string | null;
  readonly type?: string;
  readonly status?: number;
  readonly body?: ReadableStream<Uint8Array>;
  readonly anchors?: AnchorSource;
  readonly node?: Readonly<Record<string, unknown>>;
}

const NODE = { eth_chainId: '0x7a69', eth_getBlockByNumber: { number: '0x10' }, eth_getLogs: [] as unknown[] };
const anchor = (position: number, digest: string) => ({ topics: [ANCHORED_TOPIC, bytes32(position)], data: digest, transactionHash: bytes32(77) });

const askOf = ({ texts = LINES.map(({ text }) => text), header = String(NEWEST), type = 'application/x-ndjson', status = 200, body, node = NODE }: Lie): Ask => (url, init) => {
  if (url === source.nodeUrl) {
    const { method } = JSON.parse(String(init.body)) as { method: string };
    return Promise.resolve(Response.json({ jsonrpc: '2.0', id: 1, result: node[method] }));
  }
  const from = Number(new URL(url, 'https://exchange.example').searchParams.get('from'));
  // In pieces that end anywhere, also within a character.
  const bytes = Buffer.from(texts.slice(from).map((text) => `${text}\n\n`).join(''));
  const pieces = Array.from({ length: Math.ceil(bytes.length / 997) }, (_, i) => bytes.subarray(i * 997, (i + 1) * 997));
  return Promise.resolve(new Response(body ?? ReadableStream.from(pieces), { status, headers: { 'content-type': type, ...header === null ? {} : { 'x-log-position': header } } }));
};

async function verify(lie: Lie): Promise<Verification> {
  const verifier = await createVerifier({ ask: askOf(lie), now: () => 0, anchors: lie.anchors, progress: () => undefined });
  return verifier.run(new AbortController().signal);
}

const changed = (position: number, change: (text: string) => string): string[] => LINES.map(({ text }, i) => i === position ? change(text) : text);

async function differs(lie: Lie, position: number, field: string): Promise<void> {
  const { verdict, difference, error } = await verify(lie);
  assert.deepEqual([verdict, difference?.position, difference?.field, error], ['differs', position, field, undefined]);
}

async function fails(lie: Lie, expected: RegExp): Promise<void> {
  const { verdict, error } = await verify(lie);
  assert.equal(verdict, 'failed');
  assert.match(error ?? '', expected);
}

describe('page: verifier', () => {
  it('verifies a true history, with digests as Node makes them, and compares its anchors', async () => {
    const digest = LINES.at(-1)?.digest ?? '';
    const found = await verify({ anchors: source, node: { ...NODE, eth_getLogs: [anchor(3, LINES[3]?.digest ?? ''), anchor(NEWEST, digest)] } });
    assert.deepEqual([found.verdict, found.records, found.digest, found.anchors], ['verified', LINES.length, digest, 2]);
  });

  it('says that anchors were skipped without a node', async () => {
    assert.match(String((await verify({})).anchors), /^skipped/);
  });

  it('names the topic of anchors as the contract does', async () => {
    const { keccak } = await import('hash-wasm');
    assert.equal(ANCHORED_TOPIC, `0x${await keccak('HistoryAnchored(uint64,bytes32)', 256)}`);
  });

  it('names what was forged', async () => {
    await differs({ texts: changed(7, (text) => text.replace(/"digest":"0x./, (given) => given.slice(0, -1) + (given.endsWith('0') ? '1' : '0'))) }, 7, 'digest');
    await differs({ texts: changed(7, (text) => text.replace('"events":[', '"events":[{"type":"Forged"},')) }, 7, 'outcome');
    await differs({ texts: changed(7, (text) => text.replace('"kind":"PlaceOrder"', '"kind":"PlaceBet"')) }, 7, 'command');
    // A command that has the same outcome.
    await differs({ texts: changed(7, (text) => text.replace('0x5a', '0x5b')) }, 7, 'digest');
  });

  it('names a record that is out of order, missing or repeated', async () => {
    const texts = LINES.map(({ text }) => text);
    await differs({ texts: texts.toSpliced(4, 2, texts[5] ?? '', texts[4] ?? '') }, 4, 'position');
    await differs({ texts: texts.toSpliced(4, 1) }, 4, 'position');
    await differs({ texts: texts.toSpliced(4, 0, texts[3] ?? '') }, 4, 'position');
  });

  it('does not take a truncated history, or one that goes on, for the whole', async () => {
    const texts = LINES.map(({ text }) => text);
    await fails({ texts: texts.slice(0, -1) }, /breaks off/);
    await fails({ texts: [...texts.slice(0, -1), texts.at(-1)?.slice(0, 50) ?? ''] }, /no entry of a history/);
    await fails({ header: String(NEWEST - 1) }, /more than it has announced/);
    await fails({ header: null }, /X-Log-Position/);
    await differs({
      texts: texts.slice(0, 9), header: '8', anchors: source, node: { ...NODE, eth_getLogs: [anchor(NEWEST, LINES.at(-1)?.digest ?? '')] },
    }, NEWEST, 'anchor');
  });

  it('refuses what is no history', async () => {
    await fails({ type: 'text/html' }, /content type is text\/html/);
    await fails({ status: 503 }, /status 503/);
    await fails({ texts: ['{}'] }, /no entry of a history/);
    let pulls = 0;
    const endless = new ReadableStream<Uint8Array>({ pull: (controller) => { pulls += 1; controller.enqueue(new Uint8Array(100_000).fill(97)); } });
    await fails({ body: endless }, /a line has more than/);
    assert.ok(pulls < 30, 'the rest is not read');
  });

  it('names an anchor of another history, and a node that is none', async () => {
    const other = createHash('sha256').update('another history').digest('hex');
    await differs({ anchors: source, node: { ...NODE, eth_getLogs: [anchor(5, `0x${other}`)] } }, 5, 'anchor');
    await fails({ anchors: source, node: { ...NODE, eth_chainId: '0x1' } }, /serves chain 1, not 31337/);
    await fails({ anchors: source, node: { ...NODE, eth_getLogs: 'none' } }, /is no list/);
    await fails({ anchors: source, node: { ...NODE, eth_getLogs: [{ topics: [] }] } }, /no anchor/);
  });

  it('goes on where it was stopped', async () => {
    const stop = new AbortController();
    const verifier = await createVerifier({ ask: askOf({}), now: () => 0, anchors: undefined, progress: () => { stop.abort(); } });
    const stopped = await verifier.run(stop.signal);
    assert.equal(stopped.verdict, 'stopped');
    assert.ok(stopped.records < LINES.length);
    const whole = await verifier.run(new AbortController().signal);
    assert.deepEqual([whole.verdict, whole.records], ['verified', LINES.length]);
  });

  describe('from a checkpoint', () => {
    let kept: VerifierCheckpoint;
    const parts = (lie: Lie) => ({ ask: askOf(lie), now: () => 0, anchors: lie.anchors, progress: () => undefined });
    const goOn = async (lie: Lie, from = kept): Promise<Verification> => (await createVerifier(parts(lie), from)).run(new AbortController().signal);
    before(async () => {
      const first = LINES.slice(0, 20).map(({ text }) => text);
      const keep = (checkpoint: VerifierCheckpoint): Promise<void> => {
        kept = structuredClone(checkpoint);
        return Promise.resolve();
      };
      const verifier = await createVerifier({ ...parts({ texts: first, header: '19' }), keep });
      assert.equal((await verifier.run(new AbortController().signal)).verdict, 'verified');
    });

    it('decides what comes after it, and ends as a run from the start does', async () => {
      const whole = await verify({});
      assert.deepEqual([kept.records, kept.digest], [20, LINES[19]?.digest]);
      const { verdict, from, records, digest } = await goOn({});
      assert.deepEqual([verdict, from, records, digest], ['verified', 20, whole.records, whole.digest]);
      assert.deepEqual((await goOn({ texts: LINES.slice(0, 20).map(({ text }) => text), header: '19' })).verdict, 'verified', 'nothing is new');
      const anchors = { anchors: source, node: { ...NODE, eth_getLogs: [anchor(3, bytes32(3)), anchor(NEWEST, whole.digest)] } };
      assert.equal((await goOn(anchors)).anchors, 1, 'what is anchored before it is not compared');
    });

    it('names what was forged after it, and a history before it that is another one now', async () => {
      const named = async (lie: Lie) => {
        const { verdict, difference } = await goOn(lie);
        return [verdict, difference?.position, difference?.field];
      };
      assert.deepEqual(await named({ texts: changed(25, (text) => text.replace('0x5a', '0x5b')) }), ['differs', 25, 'digest']);
      assert.deepEqual(await named({ texts: changed(19, (text) => text.replace(/"digest":"0x../, '"digest":"0xzz')) }), ['differs', 19, 'digest']);
      assert.deepEqual(await named({ texts: LINES.slice(0, 9).map(({ text }) => text), header: '8' }), ['differs', 19, 'digest']);
      assert.deepEqual(await named({ texts: LINES.toSpliced(19, 1).map(({ text }) => text) }), ['differs', 19, 'digest']);
    });

    it('begins at the start where the checkpoint is of other rules, or damaged', async () => {
      const [head = '', ...rest] = kept.parts;
      const damaged: Partial<VerifierCheckpoint>[] = [
        { layout: 'another' }, { parts: [] }, { parts: rest }, { records: 7 }, { parts: [String(head).replace(/"rules":\d+/, '"rules":0'), ...rest] },
      ];
      for (const change of damaged) {
        const { verdict, from } = await goOn({}, { ...kept, ...change });
        assert.deepEqual([verdict, from], ['verified', 0], JSON.stringify(Object.keys(change)));
      }
    });
  });

  it('keeps to a difference that it has found', async () => {
    const verifier = await createVerifier({ ask: askOf({ texts: changed(7, (text) => text.replace('0x5a', '0x5b')) }), now: () => 0, anchors: undefined, progress: () => undefined });
    for (let run = 0; run < 2; run++) assert.equal((await verifier.run(new AbortController().signal)).difference?.position, 7);
  });
});
