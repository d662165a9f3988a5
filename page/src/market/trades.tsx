/** The latest trades of a market, and whether the chain has settled them. */
import type { Trade } from '../../../client/src/answers.js';
import { shortened, shownPrice, shownShares } from '../figures.js';
import { shownClock, shownTime } from '../time.js';

const LOOKS: Readonly<Record<Trade['settlementStatus'], string>> = {
  matched: 'badge', pending: 'badge wait', confirmed: 'badge good', failed: 'badge bad',
};

export function Trades({ trades }: { readonly trades: readonly Trade[] }) {
  return (
    <section class="panel" aria-labelledby="trades-title">
      <h2 id="trades-title">Trades</h2>
      {trades.length === 0
        ? <p class="hint">No trade yet.</p>
        : (
            <div class="scroll tall" role="region" aria-label="Latest trades" tabIndex={0}>
              <table class="trades">
                <thead>
                  <tr>
                    <th scope="col">Time</th>
                    <th scope="col">Outcome</th>
                    <th scope="col" class="number">Price</th>
                    <th scope="col" class="number">Shares</th>
                    <th scope="col">Settlement</th>
                    <th scope="col" class="wide">Buyer</th>
                    <th scope="col" class="wide">Seller</th>
                  </tr>
                </thead>
                <tbody>{trades.map((trade, index) => <TradeRow key={`${trades.length - index} ${trade.timestamp}`} trade={trade} />)}</tbody>
              </table>
            </div>
          )}
    </section>
  );
}

function TradeRow({ trade }: { readonly trade: Trade }) {
  const { timestamp, outcome, price, size, settlementStatus, txHash, buyer, seller } = trade;
  return (
    <tr>
      <td class="nowrap"><time dateTime={new Date(timestamp * 1_000).toISOString()} title={shownTime(timestamp)}>{shownClock(timestamp)}</time></td>
      <td class={outcome === 0 ? 'up' : 'down'}>{outcome === 0 ? 'YES' : 'NO'}</td>
      <td class="number">{shownPrice(price)}</td>
      <td class="number">{shownShares(size)}</td>
      <td><span class={LOOKS[settlementStatus]} title={txHash === '' ? undefined : `Transaction ${txHash}`}>{settlementStatus}</span></td>
      <td class="wide"><code title={buyer}>{shortened(buyer)}</code></td>
      <td class="wide"><code title={seller}>{shortened(seller)}</code></td>
    </tr>
  );
}
