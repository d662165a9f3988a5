/** Proposing, disputing and settling the outcome of a market, each when it is time. */
import { useSignal } from '@preact/signals';
import type { Market, Resolution } from '../../../client/src/answers.js';
import { Outcome } from '../../../client/src/vocabulary.js';
import { exchange, relayToken } from '../exchange.js';
import { shownMoney } from '../figures.js';
import { nowS, shownSpan } from '../time.js';
import { wallet } from '../wallet/wallet.js';
import { ActionResult, useAction } from './action.js';
import { dispute } from './dispute.js';
import { sentInWords } from './relayed.js';

interface ResolveProps {
  readonly market: Market;
  readonly resolution: Resolution | undefined;
}

export function Resolve({ market, resolution }: ResolveProps) {
  const action = useAction();
  const isSure = useSignal(false);
  if (resolution === undefined || resolution.resolved || !resolution.expired || market.conditionId === null) return null;
  const { assertion, proposal } = resolution;
  const isBusy = action.state.value.kind === 'busy';
  const isOff = wallet.value === undefined || relayToken.value === undefined || isBusy;
  const propose = (outcome: Outcome, name: string): void => {
    action.run(`Proposal of ${name}`, async () => sentInWords(`Proposal of ${name}`, await exchange.peek().relay.propose(market, outcome)));
  };
  return (
    <div class="stack resolve">
      {assertion === undefined && proposal?.refusal === null && (
        <>
          <p>
            Propose the outcome under a bond of {shownMoney(BigInt(proposal.bond))}. It comes back if nobody disputes it,
            and is lost if the oracle decides otherwise.
          </p>
          <div class="row">
            <button type="button" disabled={isOff} onClick={() => { propose(Outcome.Yes, 'YES'); }}>Propose YES</button>
            <button type="button" disabled={isOff} onClick={() => { propose(Outcome.No, 'NO'); }}>Propose NO</button>
          </div>
        </>
      )}
      {assertion !== undefined && !assertion.settled && !assertion.disputed && nowS.value < assertion.expirationTime && (
        <>
          <p>
            {assertion.proposedOutcome ? 'YES' : 'NO'} is proposed. Whoever knows better disputes it within{' '}
            {shownSpan(assertion.expirationTime - nowS.value)}, under a bond of {shownMoney(BigInt(assertion.bondAmount))},
            which is lost if the oracle decides for the proposal.
          </p>
          {isSure.value
            ? (
                <div class="row">
                  <span>The wallet sends this itself, and pays for the gas.</span>
                  <button
                    type="button" class="sell" disabled={wallet.value === undefined || isBusy}
                    onClick={() => { action.run('Dispute', () => dispute(market.chainId, assertion)); }}
                  >Dispute it
                  </button>
                  <button type="button" onClick={() => { isSure.value = false; }}>Not now</button>
                </div>
              )
            : <button type="button" disabled={wallet.value === undefined || isBusy} onClick={() => { isSure.value = true; }}>Dispute…</button>}
        </>
      )}
      {assertion !== undefined && !assertion.disputed && nowS.value >= assertion.expirationTime && (
        <>
          <p>Nobody has disputed {assertion.proposedOutcome ? 'YES' : 'NO'} in time. Anybody may settle the market; if nobody does, the exchange will.</p>
          <button
            type="button" disabled={isOff}
            onClick={() => { action.run('Settlement', async () => sentInWords('Settlement', await exchange.peek().relay.settle(market))); }}
          >Settle the market
          </button>
        </>
      )}
      {wallet.value === undefined && <p class="hint">Connect a wallet, at the top of the page, to take part.</p>}
      {wallet.value !== undefined && relayToken.value === undefined && assertion === undefined && (
        <p class="hint">The relayer sends a proposal without gas: give the page its token, in the wallet&apos;s panel at the top.</p>
      )}
      <ActionResult action={action} />
    </div>
  );
}
