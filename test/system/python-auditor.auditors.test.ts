/** The auditor of docs/auditing.md on a real history with its chain: everything holds, and what is tampered with is found at its very place. */
import assert from 'node:assert/strict';
import type { Event } from '../../engine/records/events.js';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { ONE, assertAnchored, caughtUp, settled, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { alice, bob, cancelHeaders, carol, exchangeStack, lower, type ExchangeStack } from '../harness/exchange.js';
import { audit, forged, rewritten, tamperedApi, type TamperedApi } from '../support/python-auditor.js';

type Lines = readonly string[];

describe('the auditor in Python', function () {
  this.timeout(180_000);
  let node: TradedChain;
  let market: DeployedMarket;
  let exchange: ExchangeStack;
  let api: TamperedApi;
  let last: number;
  let chain: string;

  before(async () => {
    node = await tradedChain();
    market = await node.createMarket({ question: 'Will it rain? "Yes", or ,"outcome":{"at": 💧' });
    await node.equip(alice, { usdc: BigInt(10 * ONE) });
    await node.equip(bob, { shares: BigInt(10 * ONE), market });
    exchange = await exchangeStack({}, [node.configured()]);
    chain = `${node.chain.chainId}=${node.url}`;
    api = await tamperedApi(exchange.url);
    await caughtUp(exchange, node);
    const order = { marketId: market.marketId, outcome: 0, price: 500_000 };
    await exchange.place(bob, { ...order, side: 1, size: 8 * ONE });
    await exchange.place(alice, { ...order, side: 0, size: 5 * ONE });
    // Carol has nothing to pay with: this fill fails on the chain.
    await exchange.place(carol, { ...order, side: 0, size: 3 * ONE });
    const resting = await exchange.place(alice, { ...order, side: 0, price: 100_000, size: ONE });
    const headers = await cancelHeaders(exchange.signing, alice, resting);
    const { position } = await exchange.request('DELETE', `/api/v1/orders/${resting.orderHash}?marketId=${market.marketId}&side=buy`, { headers });
    await settled(exchange, position);
    last = await settled(exchange, await caughtUp(exchange, node));
  });
  after(async () => {
    await api.close();
    await exchange.close();
    await node.stop();
  });

  it('finds that everything holds, and says how much it has checked', async () => {
    const { code, output } = await audit(exchange.url, chain);
    const anchors = await assertAnchored(exchange, node, last);
    assert.match(output, new RegExp(`^0 findings, \\d+ digests, 4 signatures of Order, 1 signatures of CancelOrder, ${anchors} anchors, 2 fills that ended\n$`));
    assert.ok(Number(/(\d+) digests/.exec(output)?.[1]) > last);
    assert.equal(code, 0);
  });

  const commandOf = (line: string) => (JSON.parse(line) as { command: { kind: string; trader?: string } }).command;
  const eventsOf = (line: string) => (JSON.parse(line) as { outcome: { events: Event[] } }).outcome.events;
  const first = (lines: Lines, kind: string) => lines.findIndex((line) => commandOf(line).kind === kind);
  const changed = (lines: Lines, at: number, change: Parameters<typeof rewritten>[1]) => (
    lines.map((line, i) => i === at ? rewritten(line, change) : line));
  const withEvent = (lines: Lines, type: Event['type']) => lines.findIndex((line) => eventsOf(line).some((event) => event.type === type));

  /** What is done to the history, whether its digests are computed anew, and what must be found, and where. */
  const acts: [what: string, act: (lines: Lines) => [Lines, at: number], finding: (at: number) => RegExp][] = [
    ['a digit of a command', (lines) => {
      const at = first(lines, 'PlaceOrder');
      return [changed(lines, at, ({ command }) => ({ command: command.replace('"price":500000', '"price":500001') })), at];
    }, (at) => new RegExp(`^FOUND position ${at}: the digest is `, 'm')],
    ['a digit of an outcome', (lines) => {
      const at = withEvent(lines, 'FillMatched');
      return [changed(lines, at, ({ outcome }) => ({ outcome: outcome.replace('"cost":"2500000"', '"cost":"2500001"') })), at];
    }, (at) => new RegExp(`^FOUND position ${at}: the digest is `, 'm')],
    ['an entry removed', (lines) => [lines.filter((_, i) => i !== 3), 4], () => /^FOUND position 4: it follows position 2$/m],
    ['two entries swapped', (lines) => [[...lines.slice(0, 2), lines[3]!, lines[2]!, ...lines.slice(4)], 3], () => /^FOUND position 3: it follows position 1$/m],
    ['the last entry left out', (lines) => [lines.slice(0, -1), lines.length - 2], (at) => new RegExp(`^FOUND after position ${at}: the history breaks off`, 'm')],
    ['bytes that are no entry', (lines) => [[...lines.slice(0, 5), '{}', ...lines.slice(5)], 4], () => /^FOUND after position 4: this is no entry of a history: b'\{\}'$/m],
    ['another price in a signed order, with all digests forged', (lines) => {
      const at = first(lines, 'PlaceOrder');
      return [forged(changed(lines, at, ({ command }) => ({ command: command.replace('"price":500000', '"price":500001') }))), at];
    }, (at) => new RegExp(`^FOUND position ${at}: 0x[0-9a-f]{64} is not the hash of this order\nFOUND position ${at}: the signature is not that of `, 'm')],
    ['another signature, with all digests forged', (lines) => {
      const at = first(lines, 'PlaceOrder');
      return [forged(changed(lines, at, ({ command }) => ({ command: command.replace(/"signature":"0x.{8}/, '"signature":"0x12345678') }))), at];
    }, (at) => new RegExp(`^FOUND position ${at}: the signature is not that of ${lower(bob)}$`, 'm')],
    ['somebody else\'s cancel, with all digests forged', (lines) => {
      const at = first(lines, 'CancelOrder');
      return [forged(changed(lines, at, ({ command }) => ({ command: command.replace(lower(alice), lower(bob)) }))), at];
    }, (at) => new RegExp(`^FOUND position ${at}: the signature is not that of ${lower(bob)}$`, 'm')],
    ['a cancel without a signature, with all digests forged', (lines) => {
      const at = first(lines, 'CancelOrder');
      return [forged(changed(lines, at, ({ command }) => ({ command: command.replace(/,"signature":"0x[0-9a-f]+"/, '') }))), at];
    }, (at) => new RegExp(`^FOUND position ${at}: CancelOrder has no signature$`, 'm')],
    ['another history from the start, which the anchors contradict', (lines) => (
      [forged(changed(lines, 0, ({ command }) => ({ command: command.replace(/"at":\d+/, '"at":1') }))), 0]
    ), () => /^FOUND position \d+: chain \d+ has anchored the digest [0-9a-f]{64} in transaction 0x[0-9a-f]{64}$/m],
    ['a settled fill that the history hides', (lines) => {
      const at = withEvent(lines, 'FillSettled');
      return [forged(changed(lines, at, () => ({ outcome: '{"at":1,"events":[]}' }))), at];
    }, () => /^FOUND fill 0: the history has None, chain \d+ has \('FillSettled', '0x[0-9a-f]{64}'\)$/m],
    ['a failed fill that the history calls settled', (lines) => {
      const at = withEvent(lines, 'FillFailed');
      return [forged(changed(lines, at, ({ outcome }) => ({ outcome: outcome.replace('FillFailed', 'FillSettled') }))), at];
    }, () => /^FOUND fill 1: the history has \('FillSettled', '0x[0-9a-f]{64}'\), chain \d+ has \('FillFailed', '0x[0-9a-f]{64}'\)$/m],
    ['a settled fill that is not on the chain', (lines) => {
      const at = withEvent(lines, 'FillSettled');
      return [forged(changed(lines, at, ({ outcome }) => ({ outcome: outcome.replace('"fill":0,', '"fill":77,') }))), at];
    }, () => /^FOUND fill 77: the history has \('FillSettled', '0x[0-9a-f]{64}'\), chain \d+ has None$/m],
  ];
  for (const [what, act, finding] of acts) {
    it(`finds ${what}`, async () => {
      let place = -1;
      api.show((lines) => {
        const [shown, at] = act(lines);
        assert.notDeepEqual(shown, lines);
        place = at;
        return shown;
      });
      const { code, output } = await audit(api.url, chain);
      assert.match(output, finding(place));
      assert.equal(code, 1);
    });
  }

  it('does not believe a history that passes over the anchors which contradict it, but who names their transactions', async () => {
    let transactions: readonly string[] = [];
    api.show((lines) => {
      transactions = [...new Set(lines.flatMap(eventsOf).flatMap((event) => event.type === 'FillSettled' || event.type === 'FillFailed' ? [event.txHash] : []))];
      const passedOver = transactions.map((txHash) => `,{"type":"AnchorPassedOver","v":1,"txHash":"${txHash}"}`).join('');
      const another = changed(lines, 0, ({ command }) => ({ command: command.replace(/"at":\d+/, '"at":1') }));
      return forged(changed(another, withEvent(lines, 'FillSettled'), ({ outcome }) => ({ outcome: outcome.replace(/\]\}$/, `${passedOver}]}`) })));
    });
    const believed = await audit(api.url, chain);
    assert.match(believed.output, /^FOUND position \d+: chain \d+ has anchored the digest /m);
    assert.equal(believed.code, 1);
    assert.ok(transactions.length > 0);
    assert.equal((await audit(api.url, chain, ...transactions)).code, 0);
  });

  it('does not take an answer that breaks off for a history', async () => {
    api.show((lines) => lines.slice(0, 10), true);
    const { code, output } = await audit(api.url, chain);
    assert.match(output, /not checked: ChunkedEncodingError/);
    assert.equal(code, 2);
  });

  it('finds a record that is no command, though its digest is right, and goes on', async () => {
    api.show((lines) => forged(changed(lines, 2, () => ({ command: '{"kind":"PlaceOrder","signature":"0x00"}' }))));
    const { code, output } = await audit(api.url, chain);
    assert.match(output, /^FOUND position 2: no exchange records such an entry: KeyError 'orderHash'$/m);
    assert.match(output, /^\d+ findings, \d+ digests, /m);
    assert.equal(code, 1);
  });

  it('says what it could not check', async () => {
    const { code, output } = await audit(exchange.url, `${node.chain.chainId}=http://127.0.0.1:1`);
    assert.match(output, /^not checked: ConnectionError/);
    assert.equal(code, 2);
    api.refuse(true);
    const refused = await audit(api.url, chain);
    api.refuse(false);
    assert.match(refused.output, /^not checked: HTTPError: 429 /);
    assert.equal(refused.code, 2);
    assert.deepEqual(await audit(exchange.url, chain, '5=http://127.0.0.1:1'), { code: 2, output: 'not checked: KeyError: 5\n' });
  });
});
