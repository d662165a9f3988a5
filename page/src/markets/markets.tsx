/** The list of markets: search, category, state, and live best prices. */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { MarketFilter } from '../../../client/src/reads.js';
import { shownMoney, shownPrice } from '../figures.js';
import { StateBadge, STATES } from '../market-state.js';
import { Refused } from '../refusal.js';
import { replaceQuery, route } from '../routes.js';
import { nowS, shownDistance, shownTime } from '../time.js';
import { createMarketList, type ListedRow, type MarketList } from './market-list.js';

const CATEGORIES = ['defi', 'protocol', 'stablecoin', 'general'] as const;
const SORTS = { newest: 'Newest first', expiration: 'Ending soonest', volume: 'Most traded' } as const;
const TYPING_MS = 250;

interface Choice {
  readonly query: string;
  readonly category: string;
  readonly state: string;
  readonly sort: string;
}

export function Markets() {
  const list = useMemo(createMarketList, []);
  const choice = useSignal<Choice>(choiceOf(route.peek().query));
  const typing = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    list.show(filterOf(choice.peek()));
    return () => {
      clearTimeout(typing.current);
      list.close();
    };
  }, [list]);
  const choose = (changes: Partial<Choice>): void => {
    choice.value = { ...choice.peek(), ...changes };
    const { query, category, state, sort } = choice.peek();
    replaceQuery({ query, category, state: state === 'open' ? '' : state, sort: sort === 'newest' ? '' : sort });
    clearTimeout(typing.current);
    typing.current = setTimeout(() => { list.show(filterOf(choice.peek())); }, 'query' in changes ? TYPING_MS : 0);
  };
  const { query, category, state, sort } = choice.value;
  return (
    <>
      <h1>Markets</h1>
      <form class="row filters" role="search" onSubmit={(event) => { event.preventDefault(); }}>
        <div class="field grow">
          <label for="search">Search</label>
          <input
            id="search" type="search" placeholder="Words of the question" maxLength={200} value={query}
            onInput={({ currentTarget }) => { choose({ query: currentTarget.value }); }}
          />
        </div>
        <Select id="state" label="State" value={state} onChoose={(value) => { choose({ state: value }); }}>
          {STATES.map((each) => <option key={each} value={each}>{each}</option>)}
          <option value="all">all</option>
        </Select>
        <Select id="category" label="Category" value={category} onChoose={(value) => { choose({ category: value }); }}>
          <option value="">all</option>
          {CATEGORIES.map((each) => <option key={each} value={each}>{each}</option>)}
        </Select>
        <Select id="sort" label="Order" value={sort} onChoose={(value) => { choose({ sort: value }); }}>
          {Object.entries(SORTS).map(([each, title]) => <option key={each} value={each}>{title}</option>)}
        </Select>
      </form>
      <Refused error={list.error.value} />
      <Opened list={list} />
      <Rows list={list} />
      <Paging list={list} />
    </>
  );
}

interface SelectProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly onChoose: (value: string) => void;
  readonly children: ComponentChildren;
}

function Select({ id, label, value, onChoose, children }: SelectProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => { onChoose(currentTarget.value); }}>
        {children}
      </select>
    </div>
  );
}

function Opened({ list }: { readonly list: MarketList }) {
  const count = list.opened.value;
  if (count === 0) return null;
  return (
    <p class="notice" role="status">
      {count === 1 ? 'A market has' : `${count} markets have`} opened since.{' '}
      <button type="button" class="plain" onClick={() => { list.again(); }}>Show</button>
    </p>
  );
}

function Rows({ list }: { readonly list: MarketList }) {
  const rows = list.rows.value;
  if (rows.length === 0) {
    const isReading = list.status.value === 'reading';
    return <p class="hint" role="status">{isReading ? 'Reading the markets…' : 'There is no such market.'}</p>;
  }
  return (
    <div class="panel scroll">
      <table class="markets" aria-busy={list.status.value === 'reading'}>
        <thead>
          <tr>
            <th scope="col">Market</th>
            <th scope="col" class="number">YES bid</th>
            <th scope="col" class="number">YES ask</th>
            <th scope="col" class="number wide">NO bid</th>
            <th scope="col" class="number wide">NO ask</th>
            <th scope="col" class="number wide">Traded</th>
            <th scope="col" class="wide">Ends</th>
          </tr>
        </thead>
        <tbody>{rows.map((row) => <Row key={row.market.id} row={row} />)}</tbody>
      </table>
    </div>
  );
}

function Row({ row: { market, live } }: { readonly row: ListedRow }) {
  const book = live?.book.value;
  const yesAsk = book === undefined ? market.bestAskPrice : book.yes.asks[0]?.price;
  return (
    <tr>
      <td>
        <a class="question" href={`#/markets/${market.id}`}>{market.question}</a>
        <div class="row about">
          <StateBadge state={market.state} />
          <span class="hint">{market.category}</span>
        </div>
      </td>
      <td class="number up">{shownPrice(book?.yes.bids[0]?.price)}</td>
      <td class="number down">{shownPrice(yesAsk)}</td>
      <td class="number up wide">{shownPrice(book?.no.bids[0]?.price)}</td>
      <td class="number down wide">{shownPrice(book?.no.asks[0]?.price)}</td>
      <td class="number wide">{shownMoney(market.totalVolume ?? 0n)}</td>
      <td class="wide"><Ends at={market.expiration} /></td>
    </tr>
  );
}

function Ends({ at }: { readonly at: number }) {
  return <span class="nowrap" title={shownTime(at)}>{shownDistance(at, nowS.value)}</span>;
}

function Paging({ list }: { readonly list: MarketList }) {
  const page = list.page.value;
  if (page === 0 && !list.hasNext.value) return null;
  return (
    <nav class="row paging" aria-label="Pages of the list">
      <button type="button" disabled={page === 0} onClick={() => { list.previous(); }}>Previous</button>
      <span class="hint">Page {page + 1}</span>
      <button type="button" disabled={!list.hasNext.value} onClick={() => { list.next(); }}>Next</button>
    </nav>
  );
}

function choiceOf(query: URLSearchParams): Choice {
  const among = (name: string, values: readonly string[], otherwise: string): string => (
    values.find((each) => each === query.get(name)) ?? otherwise);
  return {
    query: query.get('query') ?? '',
    category: among('category', CATEGORIES, ''),
    state: among('state', [...STATES, 'all'], 'open'),
    sort: among('sort', Object.keys(SORTS), 'newest'),
  };
}

function filterOf({ query, category, state, sort }: Choice): MarketFilter {
  const words = query.trim();
  return {
    ...words === '' ? {} : { query: words },
    ...category === '' ? {} : { category: category as NonNullable<MarketFilter['category']> },
    state: state as NonNullable<MarketFilter['state']>, sort: sort as NonNullable<MarketFilter['sort']>,
  };
}
