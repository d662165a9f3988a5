/** `npm run deploy`: puts the contracts on a chain. Exit codes: 1 when it cannot be done, 2 for wrong arguments. docs/deploying.md explains it. */
import { Command } from 'commander';
import { createNode } from '../../command/chain/rpc-node.js';
import { createRpc } from '../../command/chain/rpc.js';
import { LANE_POLICY } from '../../command/lane/lane-options.js';
import { ADDRESS, isAddress, quantityOf } from '../../engine/records/hex.js';
import { secondsOf } from '../access/token-arguments.js';
import { hasRightChecksum, isHttpUrl } from '../chains/chains-file.js';
import { ACCEPT_HAND_OVER, checksummed, deploy, keysOf, walletOf, type Deployment } from '../deploy/deploy.js';
import { variablesOf, type OtherKeys } from '../deploy/outputs.js';
import type { Asked } from '../deploy/terms.js';
import { integer, SettingError, text } from '../settings.js';
import { privateKeyOf } from './market/terms.js';
import { keyOfFile } from './terminal/private-key.js';
import { argument, toolAction } from './terminal/tool.js';

interface Options extends Omit<Asked, 'testnet' | 'disputeWindowS' | 'adminDelayS'> {
  readonly rpc?: string;
  readonly keyFile?: string;
  readonly testnet?: boolean;
  readonly disputeWindow?: number;
  readonly adminDelay?: number;
  readonly name?: string;
  readonly confirmations: number;
  readonly maxFeeGwei?: bigint;
  readonly out: string;
  readonly json?: true;
}

const WRONG_ARGUMENTS = 2;
const POLL_MS = 1_000;
const REQUEST_TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 1_000_000;
const WEI_PER_GWEI = 1e9;
const RPC_VARIABLE = 'DEPLOY_RPC_URL';
const KEY_VARIABLE = 'DEPLOY_KEY';

await new Command('deploy')
  .description('Puts the contracts of the exchange on a chain, hands them over to the keys that are named, checks everything, and writes a chains file. The same command '
    + 'again goes on where an earlier run stopped. docs/deploying.md says which keys, and why.')
  .option('--rpc <url>', `URL of a node; else ${RPC_VARIABLE} of the environment`)
  .option('--key-file <path>', `file with the deployer's private key, which only its owner can read; else ${KEY_VARIABLE} of the environment`)
  .option('--testnet', 'the chain is a test network, whose money has no value')
  .option('--name <text>', 'the chain\'s name for clients', argument(text(100)))
  .option('--collateral <address>', 'the stablecoin; "test" deploys a TestUSDC, as does --testnet without this', argument(collateralOf))
  .option('--oracle <address>', 'UMA\'s Optimistic Oracle V3; without it our own is deployed, at which the administrator arbitrates', argument(addressOf))
  .option('--operator <address>', 'settles', argument(addressOf))
  .option('--creator <address>', 'creates markets', argument(addressOf))
  .option('--quick-operator <address>', 'creates quick markets and resolves them by prices; without it the chains file has no key for them', argument(addressOf))
  .option('--relayer <address>', 'sends relayed transactions, without a role; without it the chains file has no relayer', argument(addressOf))
  .option('--admin <address>', 'administers the contracts, once it has accepted', argument(addressOf))
  .option('--dispute-window <time>', 'how long a resolution can be disputed: 2h, and on testnets anything, such as 60s', argument(secondsOf))
  .option('--admin-delay <time>', 'least time of a hand-over of the administration, such as 3d, or 0 (default: 3d, on testnets 0)', argument(delayOf))
  .option('--confirmations <blocks>', 'blocks on top of a block that make it final', argument(integer(0, 100_000)), 64)
  .option('--max-fee-gwei <number>', 'the most that is offered per unit of gas (default: 500)', argument(gweiOf))
  .option('--out <directory>', 'for the record of the deployment, the chains file and the verification', 'deployment')
  .option('--json', 'the last line is one JSON object')
  .exitOverride(({ exitCode }) => { process.exit(exitCode === 0 ? 0 : WRONG_ARGUMENTS); })
  .action(toolAction(run, process.env))
  .parseAsync();

async function run(options: Options): Promise<void> {
  const { rpc: given, keyFile, testnet = false, name, confirmations, maxFeeGwei, out, json, disputeWindow, adminDelay, ...addresses } = options;
  const url = given ?? process.env[RPC_VARIABLE] ?? '';
  // Not the option's parser: wrong arguments are shown, and a URL may hold a secret.
  if (!isHttpUrl(url)) throw new SettingError(`--rpc: give a node's http or https URL, or set ${RPC_VARIABLE}`);
  const wallet = walletOf(await keyOf(keyFile));
  const chainId = await chainIdOf(url);
  const say = (line: string): void => { process.stderr.write(`${line}\n`); };
  const rpc = createRpc({
    chainId, urls: [url], timeoutMs: REQUEST_TIMEOUT_MS, now: () => performance.now(), report: (level, line) => { if (level !== 'note') say(line); },
  });
  const deployment = await deploy({
    rpc, wallet, directory: out, confirmations, pollMs: POLL_MS, say, name: name ?? `Chain ${chainId}`,
    limits: { maxFeePerGas: maxFeeGwei ?? LANE_POLICY.maxFeePerGas, minPriorityFeePerGas: LANE_POLICY.minPriorityFeePerGas },
    asked: {
      ...addresses, testnet, ...disputeWindow === undefined ? {} : { disputeWindowS: disputeWindow },
      ...adminDelay === undefined ? {} : { adminDelayS: adminDelay },
    },
  });
  process.stdout.write(`${json ? JSON.stringify(deployment) : textOf(deployment, keysOf(addresses))}\n`);
}

/** What the reader does next. */
function textOf({ chain, admin, roles, handOvers, chainsFile, verification }: Deployment, { relayer, quick }: OtherKeys): string {
  const { chainId, name, startBlock, contracts } = chain;
  const { rpcUrl, operatorKey, relayerKey, quickKey } = variablesOf(chainId);
  const variables = [rpcUrl, operatorKey, ...relayer === undefined ? [] : [relayerKey], ...quick === undefined ? [] : [quickKey]];
  const lines = [
    `The contracts are on chain ${chainId} (${name}) from block ${startBlock} on, and are as they should be:`,
    ...Object.entries(contracts).map(([contract, address]: [string, string]) => `  ${contract} ${checksummed(address)}`),
    ...roles.map(({ contract, role, holder }) => `  ${holder} has ${role} of ${contract}`),
    `The chains file is ${chainsFile}. It refers to the environment variables ${variables.join(', ')}.`,
    `Block explorers verify the contracts by ${verification}: contracts.json there says how.`,
  ];
  if (handOvers.length === 0) return [...lines, `${checksummed(admin)} administers them.`].join('\n');
  return [
    ...lines, `STILL OPEN: the deployer administers these contracts until ${checksummed(admin)} calls acceptDefaultAdminTransfer() (data ${ACCEPT_HAND_OVER}) on each:`,
    ...handOvers.map(({ contract, address, acceptableAfter }) => `  ${contract} ${checksummed(address)}, after ${new Date(acceptableAfter * 1_000).toISOString()}`),
    'Then run the same command again, to see that nothing is open. Keep the deployer\'s key safe until then.',
  ].join('\n');
}

async function keyOf(keyFile: string | undefined): Promise<string> {
  if (keyFile !== undefined) return await keyOfFile(keyFile);
  const given = process.env[KEY_VARIABLE] ?? '';
  if (given === '') throw new SettingError(`--key-file: give the file with the deployer's key, or set ${KEY_VARIABLE}`);
  return privateKeyOf(given, KEY_VARIABLE);
}

async function chainIdOf(url: string): Promise<number> {
  const node = createNode({ url, timeoutMs: REQUEST_TIMEOUT_MS, maxResponseBytes: MAX_ANSWER_BYTES, fetch, signal: undefined });
  const chainId = quantityOf(await node.request('eth_chainId', []));
  if (chainId === undefined) throw new Error(`--rpc: ${node.host} does not tell its chain id`);
  return chainId;
}

function collateralOf(given: string): string {
  return given === 'test' ? given : addressOf(given);
}

function addressOf(given: string): string {
  if (!isAddress(given) || /^0x0+$/.test(given)) throw new SettingError(`expected an address: ${ADDRESS.meaning}`);
  if (!hasRightChecksum(given)) throw new SettingError('its capital letters are not those of its checksum (EIP-55): a digit may be wrong');
  return checksummed(given);
}

function delayOf(given: string): number {
  return given === '0' ? 0 : secondsOf(given);
}

function gweiOf(given: string): bigint {
  const gwei = /^\d{1,7}(\.\d{1,9})?$/.test(given) ? Number(given) : 0;
  if (gwei <= 0) throw new SettingError('expected a number of gwei, such as 30 or 0.5');
  return BigInt(Math.round(gwei * WEI_PER_GWEI));
}
