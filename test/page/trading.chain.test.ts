/** The page in a real Chromium: a market from its creation to the payout, traded by two wallets that know nothing but the page. */
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { Wallet, id } from 'ethers';
import type { Browser, Page } from 'playwright-core';
import { openBrowser, openWatched, type WatchedPage } from '../support/browser.js';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { announceWallet, tradingStack, type AnnouncedTestWallet, type TradingStack } from '../support/trading-page.js';
import { until } from '../support/until.js';

const AXE = fileURLToPath(new URL('../../../node_modules/axe-core/axe.min.js', import.meta.url));
const HOUR_S = 3_600;
const WINDOW_S = 7_200;
const QUESTION = 'Will the page do it?';
const DISPUTED = 'Will somebody dispute it?';
const OTHER = 'Will the page do it twice?';
/** What Chromium writes while nobody answers, and of answers that are refusals. */
const LOST = /Failed to load resource: (?:net::ERR_|the server responded with a status of (?:4|503))/;

describe('page: trading', function () {
  this.timeout(180_000);
  const ann = new Wallet(id('page: ann'));
  let stack: TradingStack;
  let browser: Browser;
  let [first, second]: WatchedPage[] = [];
  let wallet: AnnouncedTestWallet;
  let market: DeployedMarket;
  let other: DeployedMarket;
  /** The body of an order that was placed. */
  let order: string;

  before(async () => {
    [stack, browser] = await Promise.all([tradingStack(), openBrowser()]);
    const isExpected = (fault: string): boolean => LOST.test(fault);
    [first, second] = await Promise.all([1, 2].map(() => openWatched(browser, stack.url, { bypassCSP: true, isExpected })));
    wallet = await announceWallet(first!.page.context(), ann, stack.node);
    for (const { page } of [first!, second!]) page.setDefaultTimeout(60_000);
  });
  after(async () => {
    await browser?.close();
    await stack?.close();
  });

  const [a, b] = [() => first!.page, () => second!.page];
  const ticket = (page: Page) => page.getByRole('form', { name: 'Order', exact: true });
  const says = (page: Page, text: string | RegExp) => page.getByRole('status').getByText(text).first().waitFor();
  const openMarket = async (page: Page, { marketId } = market, question = QUESTION) => {
    await page.goto(`${stack.url}/#/markets/${marketId}`);
    await page.getByRole('heading', { level: 1, name: question }).waitFor();
  };
  const write = async (page: Page, order: { side: 'Buy' | 'Sell'; outcome: 'YES' | 'NO'; price: string; size: string }) => {
    await ticket(page).getByRole('button', { name: order.side, exact: true }).click();
    await ticket(page).getByRole('button', { name: order.outcome, exact: true }).click();
    await page.getByLabel('Price of a share').fill(order.price);
    await page.getByLabel('Shares', { exact: true }).fill(order.size);
  };
  const axe = async (page: Page): Promise<string[]> => {
    await page.addScriptTag({ path: AXE });
    const { violations } = await page.evaluate<{ violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[] }>('axe.run()');
    return violations.flatMap((found) => found.nodes.map(({ target, failureSummary }) => `${found.id}: ${target.join(' ')}: ${failureSummary}`));
  };

  it('connects a browser\'s wallet, which is asked to change its chain, and one for play money, which gets test money', async () => {
    await Promise.all([a(), b()].map((page) => page.goto(`${stack.url}/`)));
    await a().locator('[data-status=live]').waitFor();
    market = await stack.node.createMarket({ question: QUESTION, expiration: await stack.node.now() + HOUR_S });
    await a().getByText('A market has opened since.').waitFor();
    other = await stack.node.createMarket({ question: OTHER, expiration: market.expiration });
    await a().getByRole('button', { name: 'Connect wallet' }).click();
    await a().getByRole('button', { name: 'Test wallet' }).click();
    await says(a(), 'The wallet is on another chain than the exchange.');
    await a().getByRole('button', { name: 'Change to Test chain' }).click();
    await a().getByText('The wallet is on another chain').waitFor({ state: 'detached' });
    await a().getByRole('button', { name: 'Get test money' }).click();
    await says(a(), 'The wallet has test money.');
    await b().getByRole('button', { name: 'Connect wallet' }).click();
    await b().getByRole('button', { name: 'Create a play-money wallet' }).click();
    await says(b(), 'The wallet has test money.');
    await b().getByRole('button', { name: /^Play money 0x/ }).waitFor();
    assert.deepEqual(await axe(b()), []);
  });

  it('shows what an order costs and would match, mends what the account lacks, and places it', async () => {
    await openMarket(b());
    await write(b(), { side: 'Buy', outcome: 'YES', price: '0,6', size: '10' });
    await b().getByText('Write decimals with a point').waitFor();
    assert.equal(await ticket(b()).getByRole('button', { name: 'Buy YES' }).isDisabled(), true);
    await b().getByLabel('Price of a share').fill('0.6');
    assert.match(await ticket(b()).locator('dl').innerText(), /Cost at most\s+6\.00\s+Pays if it wins\s+10\.00/);
    await ticket(b()).getByText(/^insufficient_allowance: /).waitFor();
    await b().getByRole('button', { name: 'Allow the exchange to take stablecoin' }).click();
    await ticket(b()).getByText('Nothing matches at once; 10 rest in the book.').waitFor();
    await ticket(b()).getByRole('button', { name: 'Buy YES' }).click();
    await says(b(), /^Buy 10 YES at 0\.60: accepted, nothing has matched at once\./);
    await b().getByRole('row', { name: /Buy YES 0\.60 10 of 10/ }).waitFor();
    await b().getByRole('button', { name: 'Reduce the buy of 10 YES at 0.60' }).click();
    await b().getByLabel('New size of the whole order').fill('8');
    await b().getByRole('form', { name: /^Reduce/ }).getByRole('button', { name: 'Reduce' }).click();
    await b().getByRole('row', { name: /Buy YES 0\.60 8 of 8/ }).waitFor();
  });

  it('splits, approves and sells by the browser\'s wallet, says when that refuses, and shows the settled trade to both', async () => {
    await openMarket(a());
    await write(a(), { side: 'Sell', outcome: 'YES', price: '0.6', size: '5' });
    await ticket(a()).getByText(/^insufficient_/).waitFor();
    for (const mend of [/^Split 5/, 'Allow the exchange to move shares']) {
      const button = a().getByRole('button', { name: mend });
      const isMended = ticket(a()).getByText(/^5 match at once/);
      await button.or(isMended).first().waitFor();
      if (await button.isVisible()) await button.click();
    }
    await ticket(a()).getByText('5 match at once for 3.00.').waitFor();
    wallet.refuseNext();
    await ticket(a()).getByRole('button', { name: 'Sell YES' }).click();
    await says(a(), 'Test wallet has refused.');
    await ticket(a()).getByRole('button', { name: 'Sell YES' }).click();
    await says(a(), /^Sell 5 YES at 0\.60: accepted, 1 match at once\./);
    await b().getByRole('row', { name: /Buy YES 0\.60 3 of 8/ }).waitFor();
    await b().goto(`${stack.url}/#/portfolio`);
    await b().getByRole('row', { name: /buyer 0\.60 5 settled/ }).waitFor();
    await b().getByRole('row', { name: /Will the page do it\?.* 5 0/ }).waitFor();
    assert.deepEqual([await axe(a()), await axe(b())], [[], []]);
  });

  it('shows a refusal in the API\'s words', async () => {
    await openMarket(b());
    await write(b(), { side: 'Buy', outcome: 'YES', price: '0.7', size: '1' });
    await ticket(b()).getByText('Nothing matches at once; 1 rest in the book.').waitFor();
    await ticket(b()).getByRole('button', { name: 'Buy YES' }).click();
    await says(b(), /^Buy 1 YES at 0\.70: accepted/);
    await openMarket(a());
    await write(a(), { side: 'Sell', outcome: 'YES', price: '0.7', size: '1' });
    await ticket(a()).getByRole('button', { name: /^Split 1/ }).click();
    await a().getByLabel('Post only').check();
    await ticket(a()).getByText(/^would_match: /).waitFor();
    await ticket(a()).getByRole('button', { name: 'Sell YES' }).click();
    await says(a(), /^would_match: /);
  });

  it('goes on by itself after a kill -9 of the service, with an order that was written meanwhile', async () => {
    await stack.kill();
    await b().locator('[data-status=lost]').waitFor();
    await write(b(), { side: 'Buy', outcome: 'NO', price: '0.2', size: '2' });
    await stack.start();
    await b().locator('[data-status=live]').waitFor();
    await ticket(b()).getByText('Nothing matches at once; 2 rest in the book.').waitFor();
    const sending = b().waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/api/v1/orders'));
    await ticket(b()).getByRole('button', { name: 'Buy NO' }).click();
    order = (await sending).postData() ?? '';
    await says(b(), /^Buy 2 NO at 0\.20: accepted/);
    await b().getByRole('button', { name: 'Cancel all in this market' }).click();
    await says(b(), /orders were cancelled\.$/);
    await b().locator('.own-orders').getByText('None.').waitFor();
  });

  it('splits stablecoin into sets and merges them, in a market and in the portfolio', async () => {
    const sets = b().getByRole('form', { name: 'Split and merge' });
    await openMarket(b(), other, OTHER);
    await b().getByText('Split and merge', { exact: true }).click();
    await sets.getByLabel('Sets').fill('4');
    await sets.getByRole('button', { name: 'Split into shares' }).click();
    await says(b(), /^Split: sent as 0x/);
    await sets.getByLabel('Sets').fill('2');
    await sets.getByRole('button', { name: 'Merge into stablecoin' }).click();
    await says(b(), /^Merge: sent as 0x/);
    await b().goto(`${stack.url}/#/portfolio`);
    await b().getByRole('row', { name: /Will the page do it twice\?.* 2 2/ }).waitFor();
    await a().goto(`${stack.url}/#/portfolio`);
    await a().getByRole('button', { name: /^Merge 1 sets of Will the page do it\?/ }).click();
    await says(a(), /^Merge: sent as 0x/);
    await a().getByRole('row', { name: /Will the page do it\?.* 0 5/ }).waitFor();
  });

  it('shows a trade that the chain has refused, and why, to both', async () => {
    await openMarket(a());
    await write(a(), { side: 'Sell', outcome: 'NO', price: '0.3', size: '1' });
    await ticket(a()).getByRole('button', { name: 'Sell NO' }).click();
    await says(a(), /^Sell 1 NO at 0\.30: accepted, nothing has matched/);
    await stack.node.fund(ann);
    await stack.node.approveShares(ann, false);
    await openMarket(b());
    await write(b(), { side: 'Buy', outcome: 'NO', price: '0.3', size: '1' });
    await ticket(b()).getByText(/^1 match at once for 0\.30, which pay/).waitFor();
    await ticket(b()).getByRole('button', { name: 'Buy NO' }).click();
    await says(b(), /^Buy 1 NO at 0\.30: accepted, 1 match at once\./);
    for (const [page, verb] of [[a(), 'sold'], [b(), 'bought']] as const) {
      await page.goto(`${stack.url}/#/portfolio`);
      await page.getByRole('listitem').filter({ hasText: new RegExp(`: ${verb} 1 NO at 0\\.30 of .*\\(seller_`) }).waitFor();
    }
    await stack.node.approveShares(ann);
  });

  it('follows the browser\'s wallet to another account, to none, and back', async () => {
    const bea = new Wallet(id('page: bea'));
    const button = (account: Wallet) => a().getByRole('button', { name: account.address.slice(0, 6).toLowerCase() });
    await wallet.choose(a(), bea);
    await button(bea).waitFor();
    await a().getByText('This account holds no shares.').waitFor();
    await wallet.choose(a());
    await a().getByRole('button', { name: 'Connect wallet' }).waitFor();
    await wallet.choose(a(), ann);
    await a().getByRole('button', { name: 'Connect wallet' }).click();
    await a().getByRole('button', { name: 'Test wallet' }).click();
    await a().getByText('Test wallet', { exact: true }).waitFor();
    await a().keyboard.press('Escape');
    await button(ann).waitFor();
    await a().getByRole('row', { name: /Will the page do it\?.* 0 5/ }).waitFor();
  });

  it('keeps the wallet for play money through a reload, and shows who it is', async () => {
    await b().reload();
    await b().getByRole('button', { name: /^Play money 0x/ }).click();
    await b().getByRole('button', { name: 'Export the key' }).click();
    const key = await b().getByLabel('Private key of the play-money wallet').inputValue();
    const { address } = new Wallet(key);
    await b().locator('#wallet-panel').getByText(address.toLowerCase()).waitFor();
    await b().keyboard.press('Escape');
  });

  it('asks again, with the same bytes, for what had no answer before a reload; rubbish in its place is no matter', async () => {
    const of = (tag: string, what: string, body: string) => [`unanswered:${tag}`, JSON.stringify({
      id: tag, what, sinceMs: Date.now(), request: { method: 'POST', path: '/api/v1/orders', headers: { 'Content-Type': 'application/json' }, body },
    })];
    const forged = JSON.parse(order) as { order: { price: number } };
    forged.order.price += 1;
    const entries = [of('1', 'Order with a lost answer', order), of('2', 'Order of a forger', JSON.stringify(forged)), ['unanswered:3', 'rubbish'], ['unanswered:4', '{}']];
    for (const [name, value] of entries) await b().evaluate(`localStorage.setItem(${JSON.stringify(name)}, ${JSON.stringify(value)})`);
    await b().reload();
    await says(b(), 'Order with a lost answer: The exchange has carried it out.');
    await says(b(), /^Order of a forger: invalid_signature: /);
    assert.equal(await b().evaluate('Object.keys(localStorage).filter((name) => /^unanswered:[12]/.test(name)).length'), 0);
  });

  it('leaves a wallet for play money whose key another tab has spoilt, and goes on with it once it is back', async () => {
    const other = await b().context().newPage();
    await other.goto(`${stack.url}/`);
    await other.getByRole('button', { name: /^Play money 0x/ }).waitFor();
    const key = await other.evaluate<string>('localStorage.getItem("play-wallet")');
    await other.evaluate('localStorage.setItem("play-wallet", "rubbish")');
    await b().getByRole('button', { name: 'Connect wallet' }).waitFor();
    await other.evaluate(`localStorage.setItem('play-wallet', ${JSON.stringify(key)})`);
    await other.close();
    await b().reload();
    await b().getByRole('button', { name: 'Connect wallet' }).click();
    await b().getByRole('button', { name: 'Use the play-money wallet' }).click();
    await b().getByRole('button', { name: /^Play money 0x/ }).waitFor();
    await b().keyboard.press('Escape');
  });

  it('says that a browser which keeps nothing loses the wallet for play money', async () => {
    const other = await a().context().newPage();
    await other.addInitScript('Storage.prototype.setItem = () => { throw new Error("the storage is full"); };');
    await other.goto(`${stack.url}/#/quick`);
    await other.getByRole('button', { name: /^(?:Connect wallet|0x)/ }).click();
    await other.getByRole('button', { name: 'Disconnect' }).click();
    await other.getByRole('button', { name: 'Create a play-money wallet' }).click();
    await says(other, 'This browser does not keep the wallet (the storage is full)');
    await other.close();
  });

  it('proposes an outcome without gas, which another wallet disputes with its own', async () => {
    const disputed = await stack.node.createMarket({ question: DISPUTED, expiration: await stack.node.now() + HOUR_S });
    await until('the market is known', async () => (await fetch(`${stack.url}/api/v1/markets/${disputed.marketId}`)).ok);
    await stack.pass(HOUR_S + 60);
    await Promise.all([a(), b()].map((page) => page.reload()));
    await openMarket(b(), disputed, DISPUTED);
    await b().getByRole('button', { name: 'Propose NO' }).click();
    await says(b(), /^Proposal of NO: sent as 0x/);
    await openMarket(a(), disputed, DISPUTED);
    await a().getByRole('button', { name: 'Connect wallet' }).click();
    await a().getByRole('button', { name: 'Test wallet' }).click();
    await a().getByText('Test wallet', { exact: true }).waitFor();
    await a().keyboard.press('Escape');
    await a().getByRole('button', { name: 'Dispute…' }).click();
    await a().getByRole('button', { name: 'Dispute it' }).click();
    await says(a(), /^Dispute: sent as 0x/);
    for (const page of [a(), b()]) await page.getByText('The proposed outcome is disputed: the oracle decides.').waitFor();
    assert.deepEqual(await axe(a()), []);
  });

  it('proposes outcomes, settles them after the dispute window, and pays out one market or all', async () => {
    for (const [proposed, question] of [[market, QUESTION], [other, OTHER]] as const) {
      await openMarket(b(), proposed, question);
      await b().getByRole('button', { name: 'Propose YES' }).click();
      await says(b(), /^Proposal of YES: sent as 0x/);
      await b().getByText('YES is proposed.').waitFor();
      await b().getByRole('button', { name: 'Dispute…' }).waitFor();
    }
    await stack.pass(WINDOW_S + 1);
    for (const [proposed, question] of [[market, QUESTION], [other, OTHER]] as const) {
      await openMarket(b(), proposed, question);
      await b().reload();
      const settle = b().getByRole('button', { name: 'Settle the market' });
      await settle.or(b().getByText('YES has won.')).first().waitFor();
      if (await settle.isVisible()) await settle.click();
      await b().getByText('Resolved: YES has won.').waitFor();
    }
    await b().goto(`${stack.url}/#/portfolio`);
    await b().getByRole('button', { name: /^Claim 5\.00 of/ }).waitFor();
    await b().getByRole('button', { name: 'Claim all: 7.00' }).click();
    await says(b(), /^Payout: sent as 0x/);
    await b().getByText(/: 5\.00 for/).waitFor();
    await b().getByText(/: 2\.00 for/).waitFor();
    assert.deepEqual(await axe(b()), []);
    assert.deepEqual([first!.faults, second!.faults], [[], []]);
  });
});
