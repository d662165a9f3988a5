/** The page in a real Chromium, over a whole exchange: what is read, how fast, how it looks to everybody, and what it survives. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { alice, bob, exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import { newCommand } from '../support/commands.js';
import { openBrowser, openWatched } from '../support/browser.js';
import { until } from '../support/until.js';

const BUILT = fileURLToPath(new URL('../../site/', import.meta.url));
const AXE = fileURLToPath(new URL('../../../node_modules/axe-core/axe.min.js', import.meta.url));
const MOST_BYTES = 150_000;
const [BUY, SELL, YES, NO] = [0, 1, 0, 1];

/** A heading that each view has once its script is there. */
const VIEWS: readonly (readonly [address: string, heading: string])[] = [
  ['#/', 'Markets'], ['#/quick', 'Quick markets'], ['#/portfolio', 'Portfolio'], ['#/history', 'History'], ['#/verify', 'Verify'],
];

/** Takes the first change of a book out of the stream. */
const LOSES_A_CHANGE = `(() => {
  const { fetch } = window;
  let isLost = false;
  window.fetch = async (url, init) => {
    const response = await fetch(url, init);
    if (!String(url).includes('/api/v1/stream')) return response;
    let rest = '';
    const losing = new TransformStream({
      transform(text, controller) {
        const events = (rest + text).split('\\n\\n');
        rest = events.pop();
        for (const event of events) {
          if (!isLost && event.includes('"type":"change"')) isLost = document.documentElement.dataset.lost = true;
          else controller.enqueue(event + '\\n\\n');
        }
      },
    });
    const body = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(losing);
    return new Response(body.pipeThrough(new TextEncoderStream()), response);
  };
})()`;

interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
  readonly dynamicImports?: readonly string[];
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

describe('page: reading', function () {
  this.timeout(120_000);
  let exchange: ExchangeStack;
  let browser: Browser;
  const origin = () => exchange.url;
  const rain = () => `#/markets/${exchange.rain.id}`;
  before(async () => {
    [exchange, browser] = await Promise.all([exchangeStack({ PORT: String(await freePort()) }), openBrowser()]);
    await exchange.place(alice, { side: BUY, outcome: YES, price: 400_000, size: 10_000_000 });
    await exchange.place(alice, { side: SELL, outcome: YES, price: 450_000, size: 5_500_000 });
    await exchange.place(alice, { side: SELL, outcome: NO, price: 610_000, size: 2_000_000 });
    await exchange.place(bob, { side: BUY, outcome: YES, price: 450_000, size: 1_000_000 });
  });
  after(async () => {
    await browser?.close();
    await exchange?.close();
  });

  const shows = (page: Page, heading: string) => page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
  const ladder = async (page: Page, outcome: string) => (await page.locator(`.ladder[data-outcome=${outcome}] tr`).allInnerTexts())
    .map((text) => text.replaceAll(/\s+/g, ' ').trim());

  it('needs less than 150 kB of compressed script and style for the first view', async () => {
    const manifest = JSON.parse(await readFile(`${BUILT}manifest.json`, 'utf8')) as Record<string, Chunk & { css?: string[] }>;
    const needed = new Set<string>();
    const take = (name: string): void => {
      const chunk = manifest[name];
      if (chunk === undefined) throw new Error(`the manifest has no ${name}`);
      if (needed.has(chunk.file)) return;
      for (const file of [chunk.file, ...chunk.css ?? []]) needed.add(file);
      chunk.imports?.forEach(take);
    };
    for (const [name, { isEntry }] of Object.entries(manifest)) if (isEntry === true) take(name);
    take('src/markets/markets.tsx');
    const sizes = await Promise.all([...needed].map(async (file) => gzipSync(await readFile(BUILT + file), { level: 9 }).length));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(needed.size >= 3 && total < MOST_BYTES, `${total} bytes in ${[...needed].join(', ')}`);
  });

  it('lists the markets with their best prices, which change as orders come', async () => {
    const { page, faults, close } = await openWatched(browser, origin());
    await page.goto(`${origin()}/`);
    const row = page.getByRole('row', { name: /Will it rain\?/ });
    await row.getByText('0.40').waitFor();
    assert.deepEqual((await row.locator('td.number').allInnerTexts()).slice(0, 4), ['0.40', '0.45', '–', '0.61']);
    await exchange.place(bob, { side: BUY, outcome: YES, price: 410_000, size: 1_000_000 });
    await row.getByText('0.41').waitFor();
    await page.getByLabel('Search').fill('sun');
    await row.waitFor({ state: 'detached' });
    assert.deepEqual(await page.locator('a.question').allInnerTexts(), ['Will the sun shine?']);
    await page.getByLabel('State').selectOption('resolved');
    await page.getByText('There is no such market.').waitFor();
    assert.match(page.url(), /#\/\?query=sun&state=resolved$/, 'the choice is in the address');
    assert.deepEqual(faults, []);
    await close();
  });

  it('shows a market: both books, trades with their settlement, rules, and how it is resolved', async () => {
    const { page, faults, close } = await openWatched(browser, origin());
    await page.goto(`${origin()}/${rain()}`);
    await shows(page, 'Will it rain?');
    await until('the books', async () => (await ladder(page, 'YES')).length > 3);
    assert.deepEqual(await ladder(page, 'YES'), ['Price Shares Total', '0.45 4.5 4.5', 'spread 0.04', '0.41 1 1', '0.40 10 11']);
    assert.deepEqual(await ladder(page, 'NO'), ['Price Shares Total', '0.61 2 2', 'spread –', 'no bids']);
    assert.match((await page.locator('.trades tbody tr').first().innerText()).replaceAll(/\s+/g, ' '), /YES 0\.45 1 matched 0x/);
    await page.getByText('Before noon.').waitFor();
    await page.locator('.chart canvas').first().waitFor();
    await exchange.place(bob, { side: BUY, outcome: YES, price: 450_000, size: 4_500_000 });
    await until('the trade', async () => (await page.locator('.trades tbody tr').count()) === 2);
    await until('the level goes', async () => (await ladder(page, 'YES'))[1] === 'no asks');
    assert.deepEqual(faults, []);
    await close();
  });

  it('says in the API\'s words that there is no such market', async () => {
    const { page, close } = await openWatched(browser, origin());
    await page.goto(`${origin()}/#/markets/0x${'12'.repeat(32)}`);
    await page.getByRole('alert').getByText(/^unknown_market: /).waitFor();
    await close();
  });

  it('shows a quick market: countdown, strike, the price as it comes, the best prices of up and down', async () => {
    const startTime = Math.floor(Date.now() / 1_000) - 60;
    const marketId = `0x${'1c'.repeat(32)}` as const;
    const price = (dollars: number, at: number) => newCommand('RecordPrice', {
      asset: 'BTC', source: 'simulated', rank: 0, price: `${dollars}00000000`, publishedAt: at, at,
    });
    await exchange.record(
      newCommand('OpenMarket', {
        marketId, contractAddress: `0x${'c1'.repeat(20)}`, expiration: startTime + 900, chainId: Number(exchange.signing.domain.chainId), marketKind: 'quick',
        quick: { asset: 'BTC', startTime }, at: Date.now(),
      }),
      price(60_000, startTime * 1_000), price(60_125, Date.now()),
    );
    // Another handle of the log has recorded it: the exchange hears of it a moment later.
    await until('the quick market', async () => (await fetch(`${origin()}/api/v1/markets/${marketId}`)).ok);
    await exchange.place(alice, { marketId, side: SELL, outcome: YES, price: 550_000, size: 3_000_000 });
    const { page, faults, close } = await openWatched(browser, origin());
    // Without a chain nobody makes quick markets, which is what the configuration says.
    await page.route('**/api/v1/config', async (route) => {
      const answer = await route.fetch();
      const text = (await answer.text()).replace('"quickOperator":null', `"quickOperator":"0x${'0b'.repeat(20)}"`);
      await route.fulfill({ response: answer, body: text });
    });
    await page.goto(`${origin()}/#/quick`);
    const panel = page.getByRole('region', { name: 'BTC' });
    await panel.getByRole('row', { name: /Up.*0\.55 × 3/ }).waitFor();
    await panel.getByText('60,125.00').waitFor();
    await exchange.record(price(59_999, Date.now()));
    await panel.getByText('59,999.00').waitFor();
    assert.match(await panel.innerText(), /Ends in\s+1[34]:\d\d/);
    assert.deepEqual(faults, []);
    await close();
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has nothing that axe finds, in ${colorScheme}, on any view`, async () => {
      const { page, faults, close } = await openWatched(browser, origin(), { colorScheme, bypassCSP: true });
      const found: string[] = [];
      for (const [address, heading] of [...VIEWS, [rain(), 'Will it rain?'] as const]) {
        await page.goto(`${origin()}/${address}`);
        await page.reload();
        await shows(page, heading);
        if (address === rain()) await page.locator('.ladder .level').first().waitFor();
        await page.addScriptTag({ path: AXE });
        const { violations } = await page.evaluate<{ violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[] }>('axe.run()');
        found.push(...violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${address} ${id}: ${target.join(' ')}: ${failureSummary}`)));
      }
      assert.deepEqual([found, faults], [[], []]);
      await close();
    });
  }

  it('fits a phone: no view scrolls sideways', async () => {
    const { page, faults, close } = await openWatched(browser, origin(), { viewport: { width: 360, height: 740 } });
    for (const [address, heading] of [...VIEWS, [rain(), 'Will it rain?'] as const]) {
      await page.goto(`${origin()}/${address}`);
      await shows(page, heading);
      if (address === rain()) await page.locator('.ladder .level').first().waitFor();
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.ok(width <= 360, `${address} is ${width} wide`);
    }
    assert.deepEqual(faults, []);
    await close();
  });

  it('can be used by the keyboard alone', async () => {
    const { page, close } = await openWatched(browser, origin());
    await page.goto(`${origin()}/`);
    await page.getByRole('row', { name: /Will it rain\?/ }).waitFor();
    const reached = new Set<string>();
    for (let presses = 0; presses < 40; presses++) {
      await page.keyboard.press('Tab');
      reached.add(await page.evaluate<string>('document.activeElement.id || document.activeElement.textContent'));
      if (await page.evaluate<boolean>('document.activeElement.textContent === "Will it rain?"')) break;
    }
    for (const name of ['Skip to the content', 'Quick markets', 'Verify', 'search', 'state', 'Will it rain?']) assert.ok(reached.has(name), `${name} is not among ${[...reached].join(', ')}`);
    await page.keyboard.press('Enter');
    await shows(page, 'Will it rain?');
    await page.locator('.ladder .level').first().focus();
    await page.keyboard.press('Enter');
    await close();
  });

  it('begins a book anew when a message of it is missing', async () => {
    const { page, faults, close } = await openWatched(browser, origin());
    await page.addInitScript(LOSES_A_CHANGE);
    await page.goto(`${origin()}/${rain()}`);
    await page.locator('.ladder .level').first().waitFor();
    await exchange.place(alice, { side: SELL, outcome: NO, price: 710_000, size: 1_000_000 });
    await page.locator('html[data-lost=true]').waitFor({ state: 'attached' });
    await exchange.place(alice, { side: SELL, outcome: NO, price: 720_000, size: 1_000_000 });
    await until('both orders', async () => (await ladder(page, 'NO')).slice(1, 3).join() === '0.72 1 4,0.71 1 3');
    assert.deepEqual(faults, []);
    await close();
  });

  it('says when it has lost the exchange, and shows right books again when that is back', async () => {
    const { page, faults, close } = await openWatched(browser, origin(), { isExpected: (error) => /Failed to load resource/.test(error) });
    await page.goto(`${origin()}/${rain()}`);
    await page.locator('[data-status=live]').waitFor();
    await page.locator('.ladder .level').first().waitFor();
    const before = await ladder(page, 'YES');
    await exchange.stop();
    await page.locator('[data-status=lost]').waitFor();
    await page.getByText(/^The connection was lost: these are the books of/).waitFor();
    assert.deepEqual(await ladder(page, 'YES'), before, 'the last books stay, and are called old');
    exchange = await exchange.restart();
    await exchange.place(alice, { side: SELL, outcome: YES, price: 470_000, size: 3_000_000 });
    await page.locator('[data-status=live]').waitFor();
    await until('the book with what came meanwhile', async () => (await ladder(page, 'YES'))[1] === '0.47 3 3');
    await page.getByText(/^The connection was lost/).waitFor({ state: 'detached' });
    assert.deepEqual(faults, []);
    await close();
  });
});
