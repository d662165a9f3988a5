/** What a trader has: orders, positions with their value, payouts, and what is pending or has failed. */
import { useEffect, useMemo } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { useSignal } from '@preact/signals';
import type { Account, UserPosition } from '../../../client/src/answers.js';
import type { Hex } from '../../../client/src/vocabulary.js';
import { configuration, exchange, relayToken } from '../exchange.js';
import { NONE, shortened, shownMoney, shownPrice, shownShares } from '../figures.js';
import { failureInWords } from '../orders/order-life.js';
import { payoutOf, setsOf, valueOf } from '../orders/payoff.js';
import { Refused } from '../refusal.js';
import { shownTime } from '../time.js';
import { ActionResult, useAction, type ClickAction } from '../trade/action.js';
import { OwnOrders } from '../trade/own-orders.js';
import { letExchangeMoveShares, letExchangeTakeMoney, merge, sentInWords } from '../trade/relayed.js';
import { Sets } from '../trade/sets.js';
import { UnansweredList } from '../trade/unanswered-list.js';
import { wallet } from '../wallet/wallet.js';
import type { PagedList } from './live-lists.js';
import { followPortfolio, type LivePortfolio } from './live-portfolio.js';

export function Portfolio() {
  const chosen = useSignal<number | undefined>(undefined);
  const now = wallet.value;
  const chains = configuration.value?.chains ?? [];
  const chainId = chosen.value ?? chains[0]?.chainId;
  return (
    <>
      <h1>Portfolio</h1>
      {now === undefined && <p class="hint">Connect a wallet, at the top of the page, to see what it has.</p>}
      {now?.kind === 'play' && <p class="notice">Play money: what this wallet has is worth nothing.</p>}
      <UnansweredList />
      {chains.length > 1 && (
        <div class="field">
          <label for="portfolio-chain">Chain</label>
          <select id="portfolio-chain" value={chainId} onChange={({ currentTarget }) => { chosen.value = Number(currentTarget.value); }}>
            {chains.map((each) => <option key={each.chainId} value={each.chainId}>{each.name}</option>)}
          </select>
        </div>
      )}
      {now !== undefined && chainId !== undefined && <Held key={`${now.address} ${chainId}`} user={now.address} chainId={chainId} />}
    </>
  );
}

function Held({ user, chainId }: { readonly user: Hex; readonly chainId: number }) {
  const live = useMemo(() => followPortfolio(user, chainId), [user, chainId]);
  useEffect(() => () => { live.close(); }, [live]);
  const action = useAction();
  return (
    <div class="panels">
      <ActionResult action={action} />
      <AccountPanel live={live} chainId={chainId} action={action} />
      <Positions live={live} chainId={chainId} action={action} />
      <section class="panel"><OwnOrders user={user} chainId={chainId} /></section>
      <Trades live={live} user={user} />
      <Claims live={live} />
    </div>
  );
}

interface PartProps {
  readonly live: LivePortfolio;
  readonly chainId: number;
  readonly action: ClickAction;
}

function AccountPanel({ live, chainId, action }: PartProps) {
  const account = live.account.value;
  const send = (what: string, work: (chainId: number) => Promise<string>): void => {
    action.run(what, async () => {
      const words = await work(chainId);
      live.expectChange();
      return words;
    });
  };
  const isOff = relayToken.value === undefined || action.state.value.kind === 'busy';
  return (
    <section class="panel stack" aria-labelledby="account-title">
      <h2 id="account-title">Account</h2>
      <Refused error={live.error.value} />
      {account === undefined ? <p class="hint">Reading the account…</p> : <AccountFacts account={account} />}
      {account?.suspendedUntil != null && <p class="refusal">Orders of this account are refused until {shownTime(account.suspendedUntil)}: trades failed because it lacked what they needed.</p>}
      {account !== undefined && (
        <div class="row">
          {account.allowance < account.balance && (
            <button type="button" disabled={isOff} onClick={() => { send('Allow the exchange to take stablecoin', letExchangeTakeMoney); }}>Allow the exchange to take stablecoin</button>
          )}
          {!account.approved && (
            <button type="button" disabled={isOff} onClick={() => { send('Allow the exchange to move shares', letExchangeMoveShares); }}>Allow the exchange to move shares</button>
          )}
        </div>
      )}
    </section>
  );
}

function AccountFacts({ account }: { readonly account: Account }) {
  const { balance, allowance, approved, neededByOrders, neededByFills, available, block } = account;
  return (
    <dl class="facts">
      <dt>Stablecoin</dt><dd>{shownMoney(balance)}</dd>
      <dt>Left for buys</dt><dd>{shownMoney(available)}</dd>
      <dt>Needed by open orders</dt><dd>{shownMoney(neededByOrders)}</dd>
      <dt>Needed by unsettled trades</dt><dd>{shownMoney(neededByFills)}</dd>
      <dt>Exchange may take</dt><dd>{allowance >= ENDLESS ? 'any amount' : shownMoney(allowance)}</dd>
      <dt>Exchange may move shares</dt><dd>{approved ? 'yes' : 'no'}</dd>
      <dt>As of block</dt><dd>{block}</dd>
    </dl>
  );
}

/** More than all money there is: the answer has 64 bits. */
const ENDLESS = 2n ** 62n;

function Positions({ live, chainId, action }: PartProps) {
  const positions = live.positions.rows.value;
  const resolved = positions.filter((position) => claimOf(live, position) > 0n);
  const total = resolved.reduce((sum, position) => sum + claimOf(live, position), 0n);
  const isOff = relayToken.value === undefined || action.state.value.kind === 'busy';
  const claim = (claimed: readonly UserPosition[]): void => {
    const [first] = claimed;
    action.run(claimed.length === 1 && first !== undefined ? `Claim of ${first.marketQuestion}` : `Claim of ${claimed.length} markets`, async () => {
      const { relay } = exchange.peek();
      const sent = claimed.length === 1 && first !== undefined
        ? [await relay.redeem({ id: first.marketId, chainId })]
        : await relay.redeemMany(claimed, { chainId });
      live.expectChange();
      return sent.map((each) => sentInWords('Payout', each)).join(' ');
    });
  };
  const mergeAll = (position: UserPosition): void => {
    action.run(`Merge of ${shownShares(setsOf(position))} sets`, async () => {
      const words = await merge({ id: position.marketId, chainId }, setsOf(position));
      live.expectChange();
      return words;
    });
  };
  return (
    <section class="panel stack" aria-labelledby="positions-title">
      <div class="row spread">
        <h2 id="positions-title">Positions</h2>
        {resolved.length > 1 && <button type="button" class="primary" disabled={isOff} onClick={() => { claim(resolved); }}>Claim all: {shownMoney(total)}</button>}
      </div>
      <Listed list={live.positions} none="This account holds no shares.">
        <div class="scroll">
          <table>
            <caption class="visually-hidden">Positions</caption>
            <thead>
              <tr>
                <th scope="col">Market</th><th scope="col" class="number">YES</th><th scope="col" class="number">NO</th>
                <th scope="col" class="number">Value</th><th scope="col" class="number">Paid</th><th scope="col"><span class="visually-hidden">Do</span></th>
              </tr>
            </thead>
            <tbody>
              {positions.map((position) => (
                <PositionRow
                  key={position.marketId} {...{ live, position, chainId, isOff }}
                  onClaim={() => { claim([position]); }} onMerge={() => { mergeAll(position); }}
                />
              ))}
            </tbody>
          </table>
        </div>
      </Listed>
      {relayToken.value === undefined && positions.length > 0 && <p class="hint">The relayer pays out and merges without gas: give the page its token, in the wallet&apos;s panel at the top.</p>}
    </section>
  );
}

interface PositionRowProps {
  readonly live: LivePortfolio;
  readonly position: UserPosition;
  readonly chainId: number;
  readonly isOff: boolean;
  readonly onClaim: () => void;
  readonly onMerge: () => void;
}

function PositionRow({ live, position, chainId, isOff, onClaim, onMerge }: PositionRowProps) {
  const { marketId, marketQuestion, yesShares, noShares, totalInvested, resolved } = position;
  const payout = claimOf(live, position);
  const sets = setsOf(position);
  return (
    <tr>
      <td>
        <a href={`#/markets/${marketId}`}>{marketQuestion}</a>
        {!resolved && <Sets market={{ id: marketId, chainId }} onSent={live.expectChange} />}
      </td>
      <td class="number">{shownShares(yesShares)}</td>
      <td class="number">{shownShares(noShares)}</td>
      <td class="number">{resolved ? outcomeOf(live, position, payout) : <Value live={live} position={position} />}</td>
      <td class="number">{shownMoney(totalInvested)}</td>
      <td>
        {payout > 0n && <button type="button" class="primary" aria-label={`Claim ${shownMoney(payout)} of ${marketQuestion}`} disabled={isOff} onClick={onClaim}>Claim {shownMoney(payout)}</button>}
        {!resolved && sets > 0n && <button type="button" class="plain" aria-label={`Merge ${shownShares(sets)} sets of ${marketQuestion}`} disabled={isOff} onClick={onMerge}>Merge {shownShares(sets)}</button>}
      </td>
    </tr>
  );
}

/** What a resolved market pays for a position; 0 while that is not known. */
function claimOf({ resolutions }: LivePortfolio, position: UserPosition): bigint {
  const found = resolutions.value.get(position.marketId);
  if (!position.resolved || found === undefined) return 0n;
  return payoutOf(position, found.halved === true ? undefined : found.winningOutcome);
}

function outcomeOf({ resolutions }: LivePortfolio, { marketId }: UserPosition, payout: bigint) {
  const found = resolutions.value.get(marketId);
  if (found === undefined) return NONE;
  return payout === 0n ? 'lost' : shownMoney(payout);
}

/** What the shares would bring at the best bids of this moment. */
function Value({ live, position }: { readonly live: LivePortfolio; readonly position: UserPosition }) {
  const book = live.books.value.get(position.marketId)?.value;
  const [yes, no] = [valueOf(position.yesShares, book?.yes.bids[0]?.price), valueOf(position.noShares, book?.no.bids[0]?.price)];
  if (yes === undefined && no === undefined) return <span title="Nobody bids">{NONE}</span>;
  const bids = `YES ${shownPrice(book?.yes.bids[0]?.price)}, NO ${shownPrice(book?.no.bids[0]?.price)}`;
  return <span title={`At the best bids: ${bids}`}>{shownMoney((yes ?? 0n) + (no ?? 0n))}{yes === undefined || no === undefined ? ' +' : ''}</span>;
}

const STATUS = {
  matched: ['badge wait', 'waits for the chain'], pending: ['badge wait', 'sent to the chain'], confirmed: ['badge good', 'settled'], failed: ['badge bad', 'failed'],
} as const;

function Trades({ live, user }: { readonly live: LivePortfolio; readonly user: Hex }) {
  return (
    <section class="panel stack" aria-labelledby="own-trades-title">
      <h2 id="own-trades-title">Trades</h2>
      <Listed list={live.trades} none="This account has not traded.">
        <div class="scroll">
          <table>
            <caption class="visually-hidden">Trades</caption>
            <thead>
              <tr>
                <th scope="col">Time</th><th scope="col">Market</th><th scope="col">As</th><th scope="col" class="number">Price</th>
                <th scope="col" class="number">Shares</th><th scope="col">Settlement</th>
              </tr>
            </thead>
            <tbody>
              {live.trades.rows.value.map((trade, i) => (
                <tr key={i}>
                  <td class="nowrap">{shownTime(trade.timestamp)}</td>
                  <td><a href={`#/markets/${trade.marketId}`}>{trade.marketQuestion}</a></td>
                  <td>{trade.userRole}</td>
                  <td class="number">{shownPrice(trade.price)}</td>
                  <td class="number">{shownShares(trade.size)}</td>
                  <td><span class={STATUS[trade.settlementStatus][0]} title={trade.txHash}>{STATUS[trade.settlementStatus][1]}</span></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Listed>
      <h3>Failed</h3>
      <Listed list={live.failedTrades} none="None of the latest trades has failed.">
        <ul>
          {live.failedTrades.rows.value.map((trade) => (
            <li key={trade.fill}>
              {shownTime(Date.parse(trade.timestamp) / 1_000)}: {trade.buyerAddress === user ? 'bought' : 'sold'} {shownShares(trade.fillSize)}{' '}
              {trade.outcome === 0 ? 'YES' : 'NO'} at {shownPrice(trade.fillPrice)} of <a href={`#/markets/${trade.marketId}`}>{shortened(trade.marketId)}</a>:{' '}
              {failureInWords(trade.reason)} (<code>{trade.reason}</code>)
            </li>
          ))}
        </ul>
      </Listed>
    </section>
  );
}

function Claims({ live }: { readonly live: LivePortfolio }) {
  return (
    <section class="panel stack" aria-labelledby="payouts-title">
      <h2 id="payouts-title">Payouts</h2>
      {live.pendingClaims.rows.value.map((claim) => (
        <p key={`${claim.marketId} ${claim.submittedAt}`} class="notice">{shownMoney(claim.payout)} are on their way: {claim.txHash === '' ? 'not sent yet' : shortened(claim.txHash)}.</p>
      ))}
      {live.failedClaims.rows.value.map((claim) => (
        <p key={`${claim.marketId} ${claim.failedAt}`} class="refusal">
          {shownTime(claim.failedAt)}: a payout of {shownMoney(claim.payout)} has failed{claim.reason === null ? '' : `: ${claim.reason}`}. <a href={`#/markets/${claim.marketId}`}>Market</a>
        </p>
      ))}
      <Listed list={live.payouts} none="Nothing was paid out yet.">
        <ul>
          {live.payouts.rows.value.map((payout) => (
            <li key={`${payout.txHash} ${payout.marketId}`}>
              {shownTime(payout.timestamp)}: {shownMoney(payout.payout)} for <a href={`#/markets/${payout.marketId}`}>{payout.marketQuestion}</a> (<code title={payout.txHash}>{shortened(payout.txHash)}</code>)
            </li>
          ))}
        </ul>
      </Listed>
    </section>
  );
}

interface ListedProps<T> {
  readonly list: PagedList<T>;
  readonly none: string;
  readonly children: ComponentChildren;
}

function Listed<T>({ list, none, children }: ListedProps<T>) {
  const isReading = list.status.value === 'reading';
  const isEmpty = list.rows.value.length === 0;
  return (
    <>
      <Refused error={list.error.value} />
      {isEmpty ? <p class="hint">{isReading ? 'Reading…' : none}</p> : children}
      {list.hasMore.value && <button type="button" disabled={isReading} onClick={list.more}>{isEmpty ? 'Look further back' : 'More'}</button>}
    </>
  );
}
