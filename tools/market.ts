/** `npm run tool -- market create|list|arbitrate`: markets of a running exchange. Exit codes: 1 when it cannot be done, 2 for wrong arguments. */
import { Command } from 'commander';
import { CATEGORIES, type Category } from '../engine/records/fields.js';
import { pause } from '../engine/waiting.js';
import { secondsOf } from './token/token-arguments.js';
import { SettingError } from '../service/settings.js';
import { Refused, createApi, type ApiChain, type ApiConfig, type ApiMarket } from './demo/api.js';
import { DEFAULT_BOND, bondText } from './deploy/oracle.js';
import { arbitrate, createMarket, leastBond, type MarketChain } from './market/chain.js';
import { KEY_VARIABLE, keyFrom } from './market/key.js';
import { categoryOf, collateralOf, descriptionOf, marketIdOf, questionOf } from './market/terms.js';
import { argument, toolAction } from './terminal/tool.js';

const DEFAULT_URL = 'http://127.0.0.1:8080';
const WRONG_ARGUMENTS = 2;
const LISTED_WITHIN_MS = 60_000;
const POLL_MS = 100;

interface Common {
  readonly url: string;
  readonly json?: true;
  readonly chain?: string;
  readonly rpc?: string;
  readonly keyFile?: string;
}

interface CreateOptions extends Common {
  readonly question: string;
  readonly description: string;
  readonly expiresIn: number;
  readonly category: Category;
  readonly bond?: bigint;
}

const program = new Command('market')
  .description(`Creates and lists markets of a running exchange, which tells chain and contracts. The key is in ${KEY_VARIABLE} or --key-file; the development `
    + 'chain has keys of its own.')
  .exitOverride(({ exitCode }) => { process.exit(exitCode === 0 ? 0 : WRONG_ARGUMENTS); });

withKey(command('create', 'Creates a market, and waits until the exchange lists it.'))
  .requiredOption('--question <text>', 'what is asked: the market pays YES or NO', argument(questionOf))
  .requiredOption('--expires-in <time>', 'when trading ends and resolution may begin, such as 75s, 10m, 12h or 30d', argument(secondsOf))
  .option('--description <text>', 'how the question is to be read', argument(descriptionOf), '')
  .option('--category <name>', CATEGORIES.join(', '), argument(categoryOf), 'general')
  .option('--bond <amount>', 'bond of a proposed resolution, in the stablecoin (default: 10, or what the oracle asks for where that is more)', argument(collateralOf))
  .action(toolAction(create, process.env));

command('list', 'Lists the open markets.').action(toolAction(list, process.env));

withKey(command('arbitrate', 'Decides the dispute about a market at the development oracle, and settles it there.'))
  .argument('<market>', 'the market\'s id', argument(marketIdOf))
  .argument('<verdict>', 'truthful or untruthful: whether the proposed outcome is right', argument(verdictOf))
  .action(toolAction(decide, process.env));

void program.parseAsync();

/** Loaded only where it is needed: the image does not have the development stack. */
function devContracts() {
  return import('../stack/chain/dev-contracts.js');
}

function command(name: string, description: string): Command {
  return program.command(name).description(description)
    .option('--url <url>', 'URL of the exchange', DEFAULT_URL)
    .option('--json', 'the last line is one JSON object');
}

function withKey(each: Command): Command {
  return each
    .option('--chain <id>', 'the chain, where the exchange has several')
    .option('--rpc <url>', 'URL of a node, where the exchange names none')
    .option('--key-file <path>', `file with the private key; else ${KEY_VARIABLE} of the environment`);
}

async function create({ question, description, expiresIn, category, bond: given, ...common }: CreateOptions): Promise<void> {
  const { api, chain, serverTime } = await connect(common);
  const development = async () => (await devContracts()).creatorWallet().privateKey;
  const key = await keyFrom({ ...common, environment: process.env, chain, development });
  const least = await leastBond(chain, key);
  const bond = given ?? (least > DEFAULT_BOND ? least : DEFAULT_BOND);
  if (bond < least) throw new Error(`--bond: the oracle takes bonds from ${bondText(least)} on`);
  const market = { question, description, category, expiration: serverTime + expiresIn, bond };
  const { id, contractAddress, txHash } = await createMarket(chain, key, market);
  for (const endMs = performance.now() + LISTED_WITHIN_MS; !(await markets(api)).some((each) => each.id === id);) {
    if (performance.now() > endMs) {
      throw new Error(`market ${id} is created by transaction ${txHash}, but the exchange does not list it yet: it does once the block is final`);
    }
    await pause(POLL_MS);
  }
  if (common.json) return print(JSON.stringify({ id, contractAddress, chainId: chain.chainId, ...market, bond: String(bond), txHash }));
  print(`Market ${id}\n  ${question}\n  contract ${contractAddress}, expires ${dateOf(market.expiration)}, transaction ${txHash}`);
}

async function list({ url, json }: Common): Promise<void> {
  const listed = await markets(createApi(url));
  if (json) return print(JSON.stringify({ markets: listed }));
  print(listed.length === 0 ? 'There are no open markets.' : listed.map(({ id, question, expiration }) => `${id}  ${dateOf(expiration)}  ${question}`).join('\n'));
}

async function decide(marketId: string, truthful: boolean, common: Common): Promise<void> {
  const { api, chain } = await connect(common);
  const { assertion, resolved } = await api.get<Resolution>(`/api/v1/resolution/${marketId}`);
  if (resolved) throw new Error(`market ${marketId} is resolved already`);
  if (assertion?.disputed !== true) throw new Error(`market ${marketId} has no disputed proposal: there is nothing to decide`);
  const development = async () => (await devContracts()).deployerWallet().privateKey;
  const key = await keyFrom({ ...common, environment: process.env, chain, development });
  const txHash = await arbitrate(chain, key, { assertionId: assertion.id, truthful });
  if (common.json) return print(JSON.stringify({ id: marketId, assertionId: assertion.id, truthful, txHash }));
  print(`The proposal for market ${marketId} is ${truthful ? 'truthful: the market is resolved' : 'untruthful: another one may come'} (transaction ${txHash})`);
}

interface Resolution {
  readonly resolved: boolean;
  readonly assertion?: { readonly id: string; readonly disputed: boolean };
}

async function connect({ url, chain: wanted, rpc }: Common) {
  const api = createApi(url);
  const { chains, serverTime } = await api.get<ApiConfig>('/api/v1/config').catch((error: unknown) => {
    if (error instanceof Refused) throw error;
    throw new Error(`no exchange answers at ${url}: start one with npm start, or give --url`, { cause: error });
  });
  const chain = wanted === undefined ? chains[0] : chains.find(({ chainId }) => String(chainId) === wanted);
  if (chain === undefined || (wanted === undefined && chains.length > 1)) {
    throw new Error(`--chain: expected one of ${chains.map(({ chainId }) => chainId).join(', ')}, the chains of ${url}`);
  }
  return { api, chain: chainOf(chain, rpc), serverTime };
}

function chainOf({ chainId, rpcUrl, contracts, testnet }: ApiChain, rpc: string | undefined) {
  const url = rpc ?? rpcUrl;
  if (url == null) throw new Error(`--rpc: the exchange names no node of chain ${chainId}: give a node's URL`);
  return { chainId, rpcUrl: url, contracts, testnet } satisfies MarketChain & { testnet: boolean };
}

async function markets(api: ReturnType<typeof createApi>): Promise<readonly ApiMarket[]> {
  return (await api.get<{ markets: readonly ApiMarket[] }>('/api/v1/markets')).markets;
}

function verdictOf(text: string): boolean {
  if (text !== 'truthful' && text !== 'untruthful') throw new SettingError('expected truthful or untruthful');
  return text === 'truthful';
}

function dateOf(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
