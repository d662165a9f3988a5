/**
 * Makes the pictures of the page for the README, in docs/pictures: two wallets trade on a running development stack,
 * then Chromium looks at it. `node tools/run.mjs test/page/pictures URL DATA_DIR MINUTES`; the stack is a new
 * `npm start`, and the trades are spread over so many minutes, so that there are candles.
 */
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Wallet } from 'ethers';
import type { Page } from 'playwright-core';
import { connect, Outcome, Side, type Client } from '../../client/src/client.js';
import type { Market } from '../../client/src/answers.js';
import { openBrowser } from '../support/browser.js';
import { until } from '../support/until.js';

const [url = 'http://127.0.0.1:8080', dataDir = '.data', minutes = '0'] = process.argv.slice(2);
const FOLDER = 'docs/pictures';
const MOST_BYTES = 200_000;
const [LEVELS, TRADES] = [12, 20];

/** Numbers from 0 to 1 that are the same in every run. */
let seed = 7;
const chance = (): number => (seed = seed * 16_807 % 2_147_483_647) / 2_147_483_647;
const whole = (most: number): bigint => BigInt(1 + Math.floor(chance() * most)) * 1_000_000n;

const token = (await readFile(join(dataDir, 'token'), 'utf8')).trim();
const client = (): Client => connect({ url, signer: Wallet.createRandom(), token });
const [maker, taker] = [client(), client()];
const markets = await maker.read.markets({ state: 'open', sort: 'newest' }).take(4);
await Promise.all([maker, taker].map(async (each) => {
  await each.funds();
  await each.relay.permit();
  await each.relay.permit({ spender: 'conditionalTokens' });
  await each.relay.approve();
}));
for (const market of markets) await offer(market);
for (let count = 0; count < TRADES; count++) {
  for (const market of markets) await trade(market);
  await sleep(Number(minutes) * 60_000 / TRADES);
}
await takePictures();

async function offer(market: Market): Promise<void> {
  await Promise.all([maker.relay.split(market, '900'), taker.relay.split(market, '300')]);
  const middle = 300_000n + BigInt(Math.floor(chance() * 40)) * 10_000n;
  for (let level = 1n; level <= LEVELS; level++) {
    await quote(market, { outcome: Outcome.Yes, middle, level });
    await quote(market, { outcome: Outcome.No, middle: 1_000_000n - middle, level });
  }
}

/** The taker takes a part of the best level of one side. */
async function trade(market: Market): Promise<void> {
  const { bids, asks } = await bookOf(taker, market);
  const side = chance() < 0.5 ? Side.Buy : Side.Sell;
  const best = side === Side.Buy ? asks[0] : bids[0];
  if (best !== undefined) await taker.place({ market, side, outcome: Outcome.Yes, price: best.price, size: whole(6) });
}

interface Quoted {
  readonly outcome: Outcome;
  readonly middle: bigint;
  readonly level: bigint;
}

async function quote(market: Market, { outcome, middle, level }: Quoted): Promise<void> {
  await maker.place({ market, side: Side.Buy, outcome, price: middle - level * 10_000n, size: whole(40) });
  await maker.place({ market, side: Side.Sell, outcome, price: middle + level * 10_000n, size: whole(40) });
}

async function bookOf(reader: Client, market: Market) {
  for await (const { yes } of reader.book(market)) return yes;
  throw new Error('a book begins with its snapshot');
}

async function takePictures(): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const browser = await openBrowser();
  try {
    const viewport = { width: 1280, height: 800 };
    const context = await browser.newContext({ viewport, colorScheme: 'light', locale: 'en-GB' });
    const page = await context.newPage();
    await take(page, { name: 'markets', address: '#/', seen: 'td.number.up' });
    const traded = markets.at(-1)?.id ?? '';
    await take(page, { name: 'market', address: `#/markets/${traded}`, seen: '.chart [aria-label*="price is 0"]' });
    await take(page, { name: 'quick-markets', address: '#/quick', seen: '.figure.up, .figure.down' });
  } finally {
    await browser.close();
  }
}

interface Wanted {
  readonly name: string;
  readonly address: string;
  /** What is there when the view is complete. */
  readonly seen: string;
}

async function take(page: Page, { name, address, seen }: Wanted): Promise<void> {
  await page.goto(`${url}/${address}`);
  await page.locator(seen).first().waitFor({ timeout: 900_000 });
  await until('the fonts', () => page.evaluate<boolean>('document.fonts.status === "loaded"'));
  const path = `${FOLDER}/${name}.png`;
  await page.screenshot({ path, animations: 'disabled' });
  const { size } = await stat(path);
  if (size > MOST_BYTES) throw new Error(`${path} has ${size} bytes, at most ${MOST_BYTES}`);
  console.log(`${path}: ${size} bytes`);
}
