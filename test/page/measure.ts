/**
 * Measures the page of a running development stack in Chromium: how soon the first view is there, and what a book of 20
 * changes per second takes of a core. `node tools/run.mjs test/page/measure URL`; the stack is `npm start`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Wallet } from 'ethers';
import type { Browser, Page } from 'playwright-core';
import { connect, Outcome, Side, type Client, type Hex } from '../../client/src/client.js';
import { openBrowser } from '../support/browser.js';
import { until } from '../support/until.js';

const [CHANGES_PER_S, MEASURED_S, VIEWS] = [20, 20, 5];
const [url = 'http://127.0.0.1:8080'] = process.argv.slice(2);

const browser = await openBrowser();
try {
  const client = connect({ url, signer: Wallet.createRandom() });
  const [market] = await client.read.markets({ state: 'open', sort: 'expiration' }).take(1);
  if (market === undefined) throw new Error(`there is no open market at ${url}`);
  console.log(`first view, a new browser context each: ${(await firstViews(browser)).map((ms) => `${ms} ms`).join(', ')}`);
  console.log(await ofACore(browser, client, market.id));
} finally {
  await browser.close();
}

/** From the request for the document to the first row of the list, as the page itself sees it. */
async function firstViews(browser: Browser): Promise<number[]> {
  const taken: number[] = [];
  for (let view = 0; view < VIEWS; view++) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    await page.addInitScript(`new MutationObserver((_, seen) => {
      if (document.querySelector('a.question') === null) return;
      seen.disconnect();
      requestAnimationFrame(() => { window.seenMs = performance.now(); });
    }).observe(document, { childList: true, subtree: true });`);
    await page.goto(`${url}/`);
    await page.locator('a.question').first().waitFor();
    taken.push(Math.round(await until('the first row', () => page.evaluate<number | undefined>('window.seenMs'))));
    await context.close();
  }
  return taken;
}

/** Orders come and go, each of which changes the book, while the page shows the market. */
async function ofACore(browser: Browser, client: Client, market: Hex): Promise<string> {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
  for (let level = 1n; level <= 15n; level++) {
    await client.place({ market, side: Side.Buy, outcome: Outcome.Yes, price: 300_000n - level * 5_000n, size: '20' });
    await client.place({ market, side: Side.Sell, outcome: Outcome.Yes, price: 310_000n + level * 5_000n, size: '20' });
  }
  await page.goto(`${url}/#/markets/${market}`);
  await page.locator('.ladder .level').first().waitFor();
  await page.locator('.chart canvas').first().waitFor();
  await sleep(2_000);
  const idle = await taskSeconds(page, () => sleep(5_000)) / 5;
  let changes = 0;
  const busy = await taskSeconds(page, async () => {
    const until = performance.now() + MEASURED_S * 1_000;
    for (let due = performance.now(); performance.now() < until; due += 1_000 / CHANGES_PER_S) {
      await sleep(Math.max(0, due - performance.now()));
      const price = 300_000n - BigInt(changes % 14 + 1) * 5_000n;
      await client.place({ market, side: Side.Buy, outcome: Outcome.Yes, price, size: BigInt(changes % 7 + 1) * 1_000_000n });
      changes++;
    }
  }) / MEASURED_S;
  await page.context().close();
  const part = (value: number): string => `${(value * 100).toFixed(1)} %`;
  return `a book of ${(changes / MEASURED_S).toFixed(1)} changes per second: ${part(busy)} of a core in the page's main thread, ${part(idle)} without changes`;
}

/** How long the page's main thread worked meanwhile, as Chromium counts it. */
async function taskSeconds(page: Page, meanwhile: () => Promise<unknown>): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const now = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
  };
  const before = await now();
  await meanwhile();
  const after = await now();
  await session.detach();
  return after - before;
}
