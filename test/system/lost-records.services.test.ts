/** A process whose log has lost records, until it has ended: it is not ready, and answers nobody from what it remembers. */
import { deepEqual, match } from 'node:assert/strict';
import { alice, bob, exchangeStack, signedBody, type ExchangeStack } from '../harness/exchange.js';
import { onDatabase } from '../support/sql.js';
import { until } from '../support/until.js';

describe('the exchange on a log that has lost records', () => {
  let exchange: ExchangeStack;
  before(async () => { exchange = await exchangeStack(); });
  after(() => exchange.close());

  it('is not ready, and refuses new orders and those that it remembers', async () => {
    await exchange.place(bob, { side: 1 });
    const { position, sent, text } = await exchange.place(alice);
    match(text, /"matches":1/);
    await onDatabase(exchange.logUrl, (client) => client.query(`
      begin; delete from log.records where position >= ${position - 1};
      update log.streams set length = least(length, ${position - 1}); commit`));
    match(await exchange.failed, /the log has lost records: its store has \d+ (commands|outcomes) and had \d+, so positions \d+ to \d+ are gone/);
    // The projections have a handle of their own, and may notice first.
    const { body } = await until('it is not ready', async () => {
      const answer = await exchange.request('GET', '/health/ready');
      return answer.status === 503 && answer;
    });
    deepEqual(body['reasons'], ['the log has lost records or contradicts itself']);
    const another = await signedBody(exchange.signing, alice, { marketId: exchange.rain.id, nonce: 90 });
    for (const order of [sent, another]) {
      const { detail } = await exchange.refused('unavailable', 'POST', '/api/v1/orders', { body: order });
      match(String(detail), /^the log has lost records or contradicts itself, and this process ends; the request was not accepted$/);
    }
  });
});
