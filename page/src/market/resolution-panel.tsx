/** How a market is decided: its times, who proposed what, and whether somebody disputes it. */
import type { ComponentChildren } from 'preact';
import type { Market, Resolution } from '../../../client/src/answers.js';
import { shortened, shownMoney } from '../figures.js';
import { StateBadge } from '../market-state.js';
import { nowS, shownDistance, shownTime } from '../time.js';
import { Resolve } from '../trade/resolve.js';

export interface ResolutionPanelProps {
  readonly market: Market;
  readonly resolution: Resolution | undefined;
}

export function ResolutionPanel({ market, resolution }: ResolutionPanelProps) {
  const { assertion, proposal, halvableFrom } = resolution ?? {};
  return (
    <section class="panel about-panel" aria-labelledby="resolution-title">
      <div class="row spread">
        <h2 id="resolution-title">Resolution</h2>
        <StateBadge state={market.state} />
      </div>
      <p>{sentenceOf(market, resolution)}</p>
      <dl class="facts">
        <Fact name="Opened"><At time={market.createdAt} /></Fact>
        <Fact name="Trading ends"><At time={market.expiration} /></Fact>
        {assertion === undefined
          ? null
          : (
              <>
                <Fact name="Proposed">
                  {assertion.proposedOutcome ? 'YES' : 'NO'}, <At time={assertion.assertionTime} />
                </Fact>
                <Fact name="By"><code title={assertion.proposer}>{shortened(assertion.proposer)}</code></Fact>
                <Fact name="Bond">{shownMoney(BigInt(assertion.bondAmount))}</Fact>
                <Fact name="Dispute until"><At time={assertion.expirationTime} /></Fact>
                <Fact name="Disputed">{assertion.disputed ? 'yes' : 'no'}</Fact>
              </>
            )}
        {proposal === undefined ? null : <Fact name="Bond of a proposal">{shownMoney(BigInt(proposal.bond))}</Fact>}
        {halvableFrom === undefined ? null : <Fact name="May be halved"><At time={halvableFrom} /></Fact>}
      </dl>
      <Resolve market={market} resolution={resolution} />
      {proposal?.refusal == null ? null : <p class="hint">No proposal is taken at present: {proposal.refusal}</p>}
    </section>
  );
}

function sentenceOf(market: Market, resolution: Resolution | undefined): string {
  if (resolution?.halved === true) return 'Resolved without a winner: each share is paid one half.';
  if (resolution?.winningOutcome !== undefined) {
    return `Resolved: ${resolution.winningOutcome === 0 ? 'YES' : 'NO'} has won. Each of its shares is paid 1.`;
  }
  switch (market.state) {
    case 'disputed': return 'The proposed outcome is disputed: the oracle decides.';
    case 'proposed': return 'An outcome is proposed under a bond. It holds unless somebody disputes it in time.';
    case 'expired': return 'Trading is over. Anybody may now propose the outcome, under a bond.';
    default: return 'When trading is over, anybody may propose the outcome under a bond; anybody may dispute it.';
  }
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return <><dt>{name}</dt><dd>{children}</dd></>;
}

function At({ time }: { readonly time: number }) {
  return (
    <>
      <time dateTime={new Date(time * 1_000).toISOString()}>{shownTime(time)}</time>{' '}
      <span class="hint">({shownDistance(time, nowS.value)})</span>
    </>
  );
}
