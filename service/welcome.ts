/** The text that a developer sees when the development stack has started: its addresses, accounts and markets, and commands to try. */
import type { Chain } from '../command/chain/chain.js';
import { TEST_MNEMONIC } from './embedded/chain/anvil.js';
import { orderDomain } from './api/signing.js';
import type { Config } from './config.js';
import { developmentAccounts, STARTING_USDC } from './embedded/chain/dev-contracts.js';

interface Markets {
  readonly markets: readonly { readonly id: string; readonly question: string }[];
}

export interface WelcomeParts {
  readonly url: string;
  readonly config: Pick<Config, 'dataDir' | 'cancelAuth'>;
  /** The development chain; undefined with CHAINS=none. */
  readonly dev: { readonly chain: Chain; readonly rpcUrl: string } | undefined;
}

/** Number of accounts that are shown: enough to trade with one another. */
const ACCOUNTS_SHOWN = 3;

/** A page of text for the terminal that lists the open markets; undefined while the read models are still catching up. */
export async function welcome({ url, config, dev }: WelcomeParts): Promise<string | undefined> {
  const { engine: { position = 0 } = {} } = await (await fetch(`${url}/health/ready`)).json() as { engine?: { position?: number } };
  const answer = await fetch(`${url}/api/v1/markets`, { headers: { 'X-Min-Log-Position': String(position - 1) } });
  if (!answer.ok) return undefined;
  const { markets } = await answer.json() as Markets;
  return `
prediction-exchange is running at ${url} (documentation: ${url}/docs)
  Data is kept in ${config.dataDir}. No real money is involved.
${config.cancelAuth === 'open' ? '  CANCEL_AUTH=open: anybody on this machine can cancel any order. Set CANCEL_AUTH=required to ask for signatures.\n' : ''}
${dev === undefined ? 'No chain (CHAINS=none): orders are matched, but trades do not settle.\n' : chainText(dev)}
Markets:
${markets.map(({ id, question }) => `  ${id}  ${question}`).join('\n')}

Try next:
  npm run demo                                  two wallets trade${dev === undefined ? '' : ' and settle on the chain'}, and the demo checks every result
  curl ${url}/api/v1/config                     everything that a wallet needs to sign an order
  curl ${url}/api/v1/orderbook/${markets[0]?.id ?? '{marketId}'}
  curl '${url}/api/v1/events?limit=5'           the recorded history, with its digests

`;
}

function chainText({ chain, rpcUrl }: NonNullable<WelcomeParts['dev']>): string {
  const accounts = developmentAccounts().slice(0, ACCOUNTS_SHOWN).map(({ address, privateKey }) => `  ${address}  ${privateKey}`);
  const contracts = Object.entries(chain.contracts).map(([name, address]) => `  ${name.padEnd(20)}${address}`);
  return `Chain ${chain.chainId} (${chain.name}): JSON-RPC at ${rpcUrl}
${contracts.join('\n')}
  Signing domain of orders: ${JSON.stringify(orderDomain(chain))}

Accounts of the mnemonic "${TEST_MNEMONIC}", each with ether and ${STARTING_USDC / 1_000_000n} test USDC.
These keys are public: never use them elsewhere.
${accounts.join('\n')}
  Anybody can mint more USDC: call mint(address,uint256) of collateral. To buy, approve settlement to spend collateral. To sell,
  approve conditionalTokens to spend collateral, split it into YES and NO shares (splitPosition), and approve settlement for the shares.
`;
}
