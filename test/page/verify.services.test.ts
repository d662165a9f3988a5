/** The verification in a real Chromium: a true history of a whole exchange with its anchor, and a digest that was forged on the way. */
import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { ANCHORED_TOPIC } from '../../page/src/verify/anchors.js';
import { alice, bob, exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import { openBrowser, openWatched } from '../support/browser.js';

const NODE_URL = 'https://node.example/';
const CONTRACT = `0x${'7'.repeat(40)}`;

interface Entry { readonly position: number; readonly digest: string; readonly command: { readonly kind: string } }

describe('page: verify', function () {
  this.timeout(120_000);
  let exchange: ExchangeStack;
  let browser: Browser;
  let entries: readonly Entry[];
  before(async () => {
    [exchange, browser] = await Promise.all([exchangeStack(), openBrowser()]);
    await exchange.place(alice, { side: 0, outcome: 0, price: 400_000, size: 10_000_000 });
    const { position } = await exchange.place(bob, { side: 1, outcome: 0, price: 400_000, size: 1_000_000 });
    entries = (await exchange.get('/api/v1/events?limit=1000', position) as unknown as { events: Entry[] }).events;
  });
  after(async () => {
    await browser?.close();
    await exchange?.close();
  });

  /** A node of the visitor's that has one anchor. */
  const serveNode = (page: Page, { position, digest }: Pick<Entry, 'position' | 'digest'>) => page.context().route(NODE_URL, async (route) => {
    const { method } = route.request().postDataJSON() as { method: string };
    const result = { eth_chainId: '0x7a69', eth_getBlockByNumber: { number: '0x5' },
      eth_getLogs: [{ topics: [ANCHORED_TOPIC, `0x${position.toString(16).padStart(64, '0')}`], data: digest, transactionHash: CONTRACT }] }[method];
    await route.fulfill({ json: { jsonrpc: '2.0', id: 1, result }, headers: { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' } });
  });

  const open = async (isForged = false) => {
    const watched = await openWatched(browser, exchange.url, { isExpected: (fault) => fault.includes(NODE_URL) });
    if (isForged) {
      await watched.page.context().route('**/api/v1/events?from=0', async (route) => {
        const response = await route.fetch();
        const forged = entries[1]?.digest ?? '';
        await route.fulfill({ response, body: (await response.text()).replace(forged, `0x${'0'.repeat(64)}`) });
      });
    }
    return watched;
  };

  const verdictOf = async (page: Page, node = '') => {
    if (!page.url().endsWith('#/verify')) await page.goto(`${exchange.url}/#/verify`);
    await page.getByLabel('Your own node').fill(node);
    await page.getByLabel('Settlement contract').fill(CONTRACT);
    await page.getByLabel('Chain', { exact: true }).fill('31337');
    await page.getByRole('button', { name: 'Verify', exact: true }).click();
    return page.locator('[data-verdict]').getAttribute('data-verdict');
  };

  it('verifies a true history, compares the anchor, gives the result as a file, and goes on from it after a reload', async () => {
    const { page, faults, close } = await open();
    const last = entries.at(-1);
    assert.ok(last);
    await serveNode(page, last);
    await page.goto(`${exchange.url}/#/verify`);
    // A view that follows nothing of its own knows of the connection, too.
    await page.locator('[data-status=live]').waitFor();
    assert.equal(await verdictOf(page, NODE_URL), 'verified', await page.locator('main').innerText());
    assert.equal(await page.locator('[data-anchors]').innerText(), '1');
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download as JSON' }).click()]);
    assert.equal(download.suggestedFilename(), 'verification.json');
    await page.reload();
    await page.getByLabel('Begin at').waitFor();
    assert.equal(await verdictOf(page), 'verified', await page.locator('main').innerText());
    assert.match(await page.locator('[data-from]').innerText(), new RegExp(`^${entries.length} of them`));
    assert.deepEqual(faults, []);
    await close();
  });

  it('shows a forged digest as such, with the way to its record', async () => {
    const { page, close } = await open(true);
    assert.equal(await verdictOf(page), 'differs', await page.locator('main').innerText());
    assert.match(await page.getByRole('region', { name: 'Result' }).innerText(), /position 1, digest/);
    await page.getByRole('link', { name: 'position 1' }).click();
    assert.equal(await page.locator('[data-digest]').innerText(), entries[1]?.digest);
    await close();
  });

  it('shows a record, the order that it is of, and the book at its position', async () => {
    const { page, faults, close } = await open();
    const placed = entries.find(({ command }) => command.kind === 'PlaceOrder');
    await page.goto(`${exchange.url}/#/history/${placed?.position}`);
    await page.getByText(`The book at position ${placed?.position}`).waitFor();
    await page.getByRole('link', { name: /^Order 0x/ }).first().click();
    await page.getByRole('region', { name: 'Order' }).getByRole('link', { name: String(placed?.position), exact: true }).first().waitFor();
    assert.deepEqual(faults, []);
    await close();
  });
});
