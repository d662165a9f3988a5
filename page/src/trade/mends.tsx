/** What one click mends of what the account lacks for an order. */
import { useEffect } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { CheckedOrder, Market, Position } from '../../../client/src/answers.js';
import type { Side } from '../../../client/src/vocabulary.js';
import { exchange, relayToken } from '../exchange.js';
import { shownMoney, shownShares } from '../figures.js';
import { mendsFor, type Mend } from '../orders/mends.js';
import { askForTestMoney } from '../wallet/test-money.js';
import { hasTestMoney, wallet } from '../wallet/wallet.js';
import { ActionResult, useAction } from './action.js';
import { letExchangeMoveShares, letExchangeTakeMoney, merge, split } from './relayed.js';

interface MendsProps {
  readonly market: Market;
  readonly side: Side;
  readonly refusal: NonNullable<CheckedOrder['refusal']>;
  /** Called when something was sent that mends. */
  readonly onMended: () => void;
  /** Signs an allowance that goes with the order, where nobody relays. */
  readonly onPermit: (() => Promise<string>) | undefined;
}

export function Mends({ market, side, refusal, onMended, onPermit }: MendsProps) {
  const shares = useSignal<Position>({ yesShares: 0n, noShares: 0n });
  const action = useAction();
  const user = wallet.value?.address;
  useEffect(() => {
    let isHere = true;
    if (user !== undefined && refusal.code === 'insufficient_balance') {
      exchange.peek().read.position(market, user).then((found) => { if (isHere) shares.value = found; }, () => undefined);
    }
    return () => { isHere = false; };
  }, [market.id, user, refusal.code]);
  const mends = mendsFor({ side, refusal, shares: shares.value, hasTestMoney: hasTestMoney.value === true });
  const needsToken = relayToken.value === undefined && mends.some(({ kind }) => kind !== 'funds' && !(kind === 'permit' && onPermit !== undefined));
  return (
    <div class="stack mends">
      {needsToken
        ? <p class="hint">The relayer can mend this without gas: give the page its token, in the wallet&apos;s panel at the top.</p>
        : mends.map((mend) => (
            <button
              key={mend.kind} type="button" disabled={action.state.value.kind === 'busy'}
              onClick={() => {
                action.run(titleOf(mend), async () => {
                  const words = await (mend.kind === 'permit' && onPermit !== undefined ? onPermit() : send(mend, market));
                  onMended();
                  return words;
                });
              }}
            >
              {titleOf(mend)}
            </button>
          ))}
      <ActionResult action={action} />
    </div>
  );
}

function titleOf(mend: Mend): string {
  switch (mend.kind) {
    case 'permit': return 'Allow the exchange to take stablecoin';
    case 'approve': return 'Allow the exchange to move shares';
    case 'funds': return 'Get test money';
    case 'split': return `Split ${shownMoney(mend.amount)} of stablecoin into shares`;
    case 'merge': return `Merge ${shownShares(mend.amount)} sets of shares into stablecoin`;
  }
}

async function send(mend: Mend, market: Market): Promise<string> {
  switch (mend.kind) {
    case 'permit': return letExchangeTakeMoney(market.chainId);
    case 'approve': return letExchangeMoveShares(market.chainId);
    case 'split': return split(market, mend.amount);
    case 'merge': return merge(market, mend.amount);
    case 'funds': {
      await askForTestMoney(market.chainId);
      return 'Test money was asked for.';
    }
  }
}
