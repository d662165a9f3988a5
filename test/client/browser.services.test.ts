/** The client in a real browser, on a page of another origin than the exchange's: it signs by the page's wallet, trades, and keeps a book. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Wallet, id } from 'ethers';
import { exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import { openPage, type Page } from '../support/chromium.js';
import { until } from '../support/until.js';

const MODULES = fileURLToPath(new URL('../../client/src/', import.meta.url));
const ETHERS = fileURLToPath(new URL('../../../node_modules/ethers/dist/ethers.min.js', import.meta.url));
const wallet = new Wallet(id('client: browser'));

/** What the page does; `client`, `ethers` and `exchange` are addresses. */
function script(addresses: { readonly client: string; readonly ethers: string; readonly exchange: string }): string {
  return `(async () => {
    const { connect, eip1193Signer, Outcome, Side } = await import('${addresses.client}');
    const { Wallet } = await import('${addresses.ethers}');
    const wallet = new Wallet('${wallet.privateKey}');
    const ethereum = {
      async request({ method, params: [address, text] }) {
        const { domain, types: { EIP712Domain, ...types }, message } = JSON.parse(text);
        return wallet.signTypedData(domain, types, message);
      },
    };
    const exchange = connect({ url: '${addresses.exchange}', signer: eip1193Signer(ethereum, wallet.address) });
    const [market] = await exchange.read.markets({ state: 'open', query: 'rain' }).take(1);
    const placed = await exchange.place({ market, side: Side.Buy, outcome: Outcome.Yes, price: '0.4', size: '10' });
    const order = await exchange.read.order(placed.orderHash);
    let told = [];
    for await (const { type, more } of exchange.watch(['orders:' + wallet.address], { from: placed.position - 1 })) {
      told.push(type);
      if (type === 'cancelled') break;
      await exchange.cancel(placed);
    }
    for await (const book of exchange.book(market)) { told.push(book.yes.bids.length); break; }
    const unknown = { market: '0x' + '12'.repeat(32), side: Side.Buy, outcome: Outcome.Yes, price: '0.4', size: '1' };
    const refused = await exchange.place(unknown).catch(({ name, code }) => ({ name, code }));
    await tell({ question: market.question, price: String(order.price), size: String(order.remainingSize), told, refused });
  })().catch((error) => tell({ error: String(error.stack) }));`;
}

describe('client: in a browser', function () {
  this.timeout(120_000);
  let exchange: ExchangeStack;
  let modules: Server;
  let page: Page | undefined;
  before(async () => {
    exchange = await exchangeStack();
    modules = createServer((request, response) => {
      void readFile(request.url === '/ethers.js' ? ETHERS : new URL(`.${request.url}`, `file://${MODULES}`)).then((source) => {
        response.writeHead(200, { 'Content-Type': 'text/javascript', 'Access-Control-Allow-Origin': '*' }).end(source);
      }, () => { response.writeHead(404).end(); });
    });
    modules.listen(0, '127.0.0.1');
    await once(modules, 'listening');
  });
  after(async () => {
    await page?.close();
    modules.close();
    await exchange.close();
  });

  it('does what it does in Node', async () => {
    const origin = `http://127.0.0.1:${(modules.address() as AddressInfo).port}`;
    const told: unknown[] = [];
    const addresses = { client: `${origin}/client.js`, ethers: `${origin}/ethers.js`, exchange: exchange.url };
    page = await openPage(script(addresses), (what) => { told.push(what); });
    await until('the page has done everything', () => told.length > 0, 90);
    assert.deepEqual(told, [{
      question: 'Will it rain?', price: '400000', size: '10000000', told: ['accepted', 'cancelled', 0], refused: { name: 'Refusal', code: 'unknown_market' },
    }]);
  });
});
