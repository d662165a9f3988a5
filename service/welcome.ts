/** What a developer sees when the development stack has started: where it is, and what to try next. */
import { orderDomain } from './api/config-answer.js';
import type { Config } from './config.js';

interface Markets {
  readonly markets: readonly { readonly id: string; readonly question: string }[];
}

/** A page of text for the terminal, with the markets that are open; undefined while the read models are still catching up. */
export async function welcome(url: string, config: Config, position: number): Promise<string | undefined> {
  const answer = await fetch(`${url}/api/v1/markets`, { headers: { 'X-Min-Log-Position': String(position) } });
  if (!answer.ok) return undefined;
  const { markets } = await answer.json() as Markets;
  const domain = orderDomain(config);
  return `
prediction-exchange is running at ${url} (documentation: ${url}/docs)
  Data is kept in ${config.dataDir}; nothing here is real money: chain ${domain.chainId}, ${config.chainName}.
${config.cancelAuth === 'open' ? '  CANCEL_AUTH=open: anybody on this machine can cancel any order. Set CANCEL_AUTH=required to ask for signatures.\n' : ''}
Signing domain of orders: ${JSON.stringify(domain)}

Markets:
${markets.map(({ id, question }) => `  ${id}  ${question}`).join('\n')}

Try next:
  npm run demo                                  two wallets trade, and the log positions prove it
  curl ${url}/api/v1/config                     all that a wallet needs to sign an order
  curl ${url}/api/v1/orderbook/${markets[0]?.id ?? '{marketId}'}
  curl '${url}/api/v1/events?limit=5'           the history, with its digests

`;
}
