/** One market: its books, prices, trades, rules and resolution, and the ticket to trade it. */
import { useEffect, useMemo } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { Market } from '../../../client/src/answers.js';
import type { Hex } from '../../../client/src/vocabulary.js';
import { connection } from '../connection.js';
import { shownMoney } from '../figures.js';
import { StateBadge } from '../market-state.js';
import { Refused } from '../refusal.js';
import type { ViewProps } from '../routes.js';
import { shownClock } from '../time.js';
import { Ticket, type TicketProposal } from '../trade/ticket.js';
import { DepthChart } from './depth-chart.js';
import { Ladder } from './ladder.js';
import { createMarketFeed, type MarketFeed } from './market-feed.js';
import { PriceChart } from './price-chart.js';
import { ResolutionPanel } from './resolution-panel.js';
import { Trades } from './trades.js';

export function MarketView({ id }: ViewProps) {
  const feed = useMemo(() => createMarketFeed(id as Hex), [id]);
  useEffect(() => () => { feed.close(); }, [feed]);
  const proposal = useSignal<TicketProposal | undefined>(undefined);
  const market = feed.market.value;
  if (market === undefined) {
    return <><h1>Market</h1>{feed.error.value === undefined ? <p class="hint" role="status">Reading the market…</p> : <Refused error={feed.error.value} />}</>;
  }
  return (
    <>
      <h1>{market.question}</h1>
      <p class="row about">
        <StateBadge state={market.state} />
        <span class="hint">{market.category}</span>
        <span class="hint">traded {shownMoney(market.totalVolume ?? 0n)}</span>
        <span class="hint">market <code title={market.id}>{market.id.slice(0, 10)}</code></span>
      </p>
      <Refused error={feed.error.value} />
      <div class="market">
        <div class="panels left">
          <PriceChart id={market.id} feed={feed} />
          <Books feed={feed} onPropose={(chosen) => { proposal.value = chosen; }} />
          <TradesOf feed={feed} />
        </div>
        <div class="panels right">
          <section class="panel" aria-labelledby="ticket-title">
            <h2 id="ticket-title">Trade</h2>
            <Ticket market={market} proposal={proposal.value} />
          </section>
          <ResolutionPanel market={market} resolution={feed.resolution.value} />
          <Rules market={market} />
        </div>
      </div>
    </>
  );
}

/** Whoever reads the feed's signals here is drawn again by itself, and the rest of the view is not. */
function Books({ feed: { live }, onPropose }: { readonly feed: MarketFeed; readonly onPropose: (proposal: TicketProposal) => void }) {
  const book = live.book.value;
  const isOld = live.isOld.value || (book !== undefined && connection.value === 'lost');
  return (
    <section class="panel" aria-labelledby="books-title" data-position={book?.position}>
      <h2 id="books-title">Books</h2>
      {isOld ? <p class="notice" role="status">The connection was lost: these are the books of {shownClock((book?.at ?? 0) / 1_000)}. New ones come with it.</p> : null}
      {book === undefined
        ? <p class="hint" role="status">Reading the books…</p>
        : (
            <div class={isOld ? 'books old' : 'books'}>
              <div><DepthChart name="YES" book={book.yes} /><Ladder outcome={0} book={book.yes} onPropose={onPropose} /></div>
              <div><DepthChart name="NO" book={book.no} /><Ladder outcome={1} book={book.no} onPropose={onPropose} /></div>
            </div>
          )}
    </section>
  );
}

function TradesOf({ feed }: { readonly feed: MarketFeed }) {
  return <Trades trades={feed.trades.value} />;
}

function Rules({ market }: { readonly market: Market }) {
  return (
    <section class="panel" aria-labelledby="rules-title">
      <h2 id="rules-title">Rules</h2>
      <p class="rules">{market.description === '' ? 'The question stands for itself.' : market.description}</p>
      <dl class="facts">
        <dt>Market</dt>
        <dd><code>{market.id}</code></dd>
        <dt>Chain</dt>
        <dd>{market.chainId}</dd>
        <dt>Contract</dt>
        <dd><code>{market.contractAddress}</code></dd>
      </dl>
    </section>
  );
}
