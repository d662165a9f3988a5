/** Quick markets: the countdown, the strike, the live price, and the best prices of up and down. */
import { useEffect, useMemo } from 'preact/hooks';
import { useSignal, useSignalEffect } from '@preact/signals';
import type { Level } from '../../../client/src/client.js';
import type { ChainConfiguration, PastQuickMarket, QuickMarket } from '../../../client/src/answers.js';
import { configuration } from '../exchange.js';
import { NONE, shownAssetPrice, shownPrice, shownShares } from '../figures.js';
import { Refused } from '../refusal.js';
import { nowS, shownClock } from '../time.js';
import { createQuickFeed, type QuickFeed } from './quick-feed.js';

export function QuickMarkets() {
  const config = configuration.value;
  const chosen = useSignal<number | undefined>(undefined);
  if (config === undefined) return <><h1>Quick markets</h1><p class="hint" role="status">Reading the configuration…</p></>;
  const chains = config.chains.filter(({ quickOperator }) => quickOperator !== null);
  const chain = chains.find(({ chainId }) => chainId === chosen.value) ?? chains[0];
  return (
    <>
      <h1>Quick markets</h1>
      <p class="hint">Will the price be higher at the end than at the start? Each market runs {Math.round(config.quickMarkets.intervalS / 6) / 10} minutes.</p>
      <Chains chains={chains} chosen={chain} onChoose={(chainId) => { chosen.value = chainId; }} />
      {chain === undefined
        ? <p>This exchange has no quick markets.</p>
        : (
            <div class="panels quick">{config.prices.assets.map((asset) => <AssetPanel key={`${chain.chainId} ${asset}`} asset={asset} chainId={chain.chainId} />)}</div>
          )}
    </>
  );
}

interface ChainsProps {
  readonly chains: readonly ChainConfiguration[];
  readonly chosen: ChainConfiguration | undefined;
  readonly onChoose: (chainId: number) => void;
}

function Chains({ chains, chosen, onChoose }: ChainsProps) {
  if (chains.length < 2) return null;
  return (
    <div class="segments" role="group" aria-label="Chain">
      {chains.map(({ chainId, name }) => (
        <button key={chainId} type="button" aria-pressed={chainId === chosen?.chainId} onClick={() => { onChoose(chainId); }}>{name}</button>
      ))}
    </div>
  );
}

function AssetPanel({ asset, chainId }: { readonly asset: string; readonly chainId: number }) {
  const feed = useMemo(() => createQuickFeed(asset, chainId), [asset, chainId]);
  useEffect(() => () => { feed.close(); }, [feed]);
  useTurns(feed);
  const running = feed.active.value?.quickMarket ?? undefined;
  return (
    <section class="panel stack" aria-labelledby={`quick-${asset}`}>
      <h2 id={`quick-${asset}`}>{asset}</h2>
      <Refused error={feed.error.value} />
      {running === undefined ? <p class="hint" role="status">{feed.active.value === undefined ? 'Reading…' : 'No market runs now.'}</p> : <Running market={running} feed={feed} />}
      <Past markets={feed.past.value} />
    </section>
  );
}

/** Looks again while what should be there is not: the next market after an end, and the strike after a start. */
function useTurns(feed: QuickFeed): void {
  useSignalEffect(() => {
    const market = feed.active.value?.quickMarket;
    const now = nowS.value;
    if (market === undefined) return;
    const isDue = market === null || now >= market.endTime || (market.startPrice === null && !market.priceMissed && now >= market.startTime);
    if (isDue && now % 3 === 0) feed.again();
  });
}

function Running({ market, feed }: { readonly market: QuickMarket; readonly feed: QuickFeed }) {
  const price = feed.price.value;
  return (
    <>
      <div class="figures">
        <div><span class="hint">Ends in</span><Countdown until={market.endTime} /></div>
        <div><span class="hint">Strike</span><strong class="figure">{strikeOf(market)}</strong></div>
        <div><span class="hint">Price now</span><strong class={`figure ${directionOf(price?.price, market.startPrice)}`}>{shownAssetPrice(price?.price)}</strong></div>
      </div>
      <progress aria-label="Time that has passed" max={market.endTime - market.startTime} value={Math.max(0, nowS.value - market.startTime)} />
      <Best feed={feed} />
      <p class="row spread">
        <a href={`#/markets/${market.marketId}`}>Books and trading</a>
        <span class="hint">{shownClock(market.startTime)} to {shownClock(market.endTime)}{price === undefined ? '' : `, price of ${shownClock(price.timestamp)}`}</span>
      </p>
    </>
  );
}

function strikeOf({ startPrice, priceMissed }: QuickMarket): string {
  if (startPrice !== null) return shownAssetPrice(startPrice);
  return priceMissed ? 'missed' : NONE;
}

function directionOf(price: bigint | undefined, strike: bigint | null): string {
  if (price === undefined || strike === null || price === strike) return '';
  return price > strike ? 'up' : 'down';
}

function Countdown({ until }: { readonly until: number }) {
  const left = Math.max(0, until - nowS.value);
  const minutes = String(Math.floor(left / 60)).padStart(2, '0');
  return <strong class="figure" role="timer">{minutes}:{String(left % 60).padStart(2, '0')}</strong>;
}

function Best({ feed }: { readonly feed: QuickFeed }) {
  const book = feed.live.value?.book.value;
  return (
    <table class={feed.live.value?.isOld.value === true ? 'books old' : ''}>
      <caption class="visually-hidden">Best prices</caption>
      <thead><tr><th scope="col">Outcome</th><th scope="col" class="number">Bid</th><th scope="col" class="number">Ask</th></tr></thead>
      <tbody>
        <tr><th scope="row" class="up">Up</th><BestLevel level={book?.yes.bids[0]} /><BestLevel level={book?.yes.asks[0]} /></tr>
        <tr><th scope="row" class="down">Down</th><BestLevel level={book?.no.bids[0]} /><BestLevel level={book?.no.asks[0]} /></tr>
      </tbody>
    </table>
  );
}

function BestLevel({ level }: { readonly level: Level | undefined }) {
  return <td class="number">{shownPrice(level?.price)}{level === undefined ? '' : <span class="hint"> × {shownShares(level.size)}</span>}</td>;
}

function Past({ markets }: { readonly markets: readonly PastQuickMarket[] }) {
  if (markets.length === 0) return null;
  return (
    <details>
      <summary>Markets before</summary>
      <div class="scroll">
        <table>
          <thead><tr><th scope="col">Ended</th><th scope="col" class="number">Start</th><th scope="col" class="number">End</th><th scope="col">Outcome</th></tr></thead>
          <tbody>
            {markets.map((each) => (
              <tr key={each.marketId}>
                <td><a href={`#/markets/${each.marketId}`}>{shownClock(each.endTime)}</a></td>
                <td class="number">{shownAssetPrice(each.startPrice)}</td>
                <td class="number">{shownAssetPrice(each.endPrice)}</td>
                <td>{outcomeOf(each)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function outcomeOf({ outcome, payment, resolved }: PastQuickMarket): string {
  if (payment === 'half') return 'half each';
  if (outcome === null) return resolved ? 'resolved' : 'being decided';
  return outcome === 0 ? 'up' : 'down';
}
