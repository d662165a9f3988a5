/** Splits stablecoin into sets of YES and NO shares, and merges sets into stablecoin, by the relayer. */
import { useComputed, useSignal } from '@preact/signals';
import { relayToken } from '../exchange.js';
import { shownShares } from '../figures.js';
import { amountIn, MAX_AMOUNT } from '../orders/amount-input.js';
import type { Hex } from '../../../client/src/vocabulary.js';
import { ActionResult, useAction } from './action.js';
import { AmountField } from './amount-field.js';
import { merge, split } from './relayed.js';

interface SetsProps {
  readonly market: { readonly id: Hex; readonly chainId: number };
  /** Called when something was sent. */
  readonly onSent?: () => void;
}

export function Sets({ market, onSent = () => undefined }: SetsProps) {
  const text = useSignal('');
  const input = useComputed(() => amountIn(text.value, { min: 1n, max: MAX_AMOUNT }));
  const action = useAction();
  const read = input.value;
  const isReady = read.kind === 'amount' && relayToken.value !== undefined && action.state.value.kind !== 'busy';
  const send = (what: string, work: typeof split): void => {
    if (read.kind !== 'amount') return;
    action.run(`${what} ${shownShares(read.units)}`, async () => {
      const words = await work(market, read.units);
      onSent();
      return words;
    });
  };
  return (
    <details>
      <summary>Split and merge</summary>
      <form class="stack" aria-label="Split and merge" noValidate onSubmit={(event) => { event.preventDefault(); }}>
        <p class="hint">One unit of stablecoin is worth one YES and one NO share together, always.</p>
        <AmountField id={`sets-${market.id.slice(2, 10)}`} label="Sets" text={text} input={read} />
        <div class="row">
          <button type="button" disabled={!isReady} onClick={() => { send('Split', split); }}>Split into shares</button>
          <button type="button" disabled={!isReady} onClick={() => { send('Merge', merge); }}>Merge into stablecoin</button>
        </div>
        {relayToken.value === undefined && <p class="hint">The relayer does this without gas: give the page its token, in the wallet&apos;s panel at the top.</p>}
        <ActionResult action={action} />
      </form>
    </details>
  );
}
