/** `npm run deploy`: puts the contracts on a chain. Exit codes: 1 when it cannot be done, 2 for wrong arguments. docs/deploying.md explains it. */
import { Command } from 'commander';
import { createNode } from '../command/chain/rpc-node.js';
import { createRpc } from '../command/chain/rpc.js';
import { LANE_POLICY } from '../command/lane/lane-options.js';
import { ADDRESS, isAddress, quantityOf } from '../engine/records/hex.js';
import { secondsOf } from './token/token-arguments.js';
import { hasRightChecksum, isHttpUrl } from '../service/chains-file.js';
import { KEY_FORMAT } from '../command/lane/private-key.js';
import { addressOnly, checksummed, deploy, planOnly, walletOf, type Deploying } from './deploy/deploy.js';
import { knownChain, knownChainsText } from './deploy/known-chains.js';
import { planText, resultText } from './deploy/result-text.js';
import type { RequestedTerms } from './deploy/terms.js';
import { integer, SettingError, text } from '../service/settings.js';
import { collateralOf as amountOf, privateKeyOf } from './market/terms.js';
import { keyOfFile } from './terminal/private-key.js';
import { argument, toolAction } from './terminal/tool.js';

interface Options extends Omit<RequestedTerms, 'testnet' | 'disputeWindowS' | 'adminDelayS'> {
  readonly rpc?: string;
  readonly keyFile?: string;
  readonly testnet?: boolean;
  readonly disputeWindow?: number;
  readonly adminDelay?: number;
  readonly name?: string;
  readonly confirmations: number;
  readonly maxFeeGwei?: bigint;
  readonly out: string;
  readonly plan?: true;
  readonly deployer?: string;
  readonly json?: true;
}

const WRONG_ARGUMENTS = 2;
const POLL_MS = 1_000;
const REQUEST_TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 1_000_000;
const WEI_PER_GWEI = 1e9;
const RPC_VARIABLE = 'DEPLOY_RPC_URL';
const KEY_VARIABLE = 'DEPLOY_KEY';

const BOND_ABOUT = 'the bond that your markets are to have, in the stablecoin; UMA\'s oracle has a minimum, and our own gets this one as its minimum '
  + '(default: 10, or UMA\'s minimum where that is more; without it the minimum of our own is 5)';

void new Command('deploy')
  .description('Puts the contracts of the exchange on a chain, hands them over to the keys that are named, checks everything, and writes a chains file. The same command '
    + 'again goes on where an earlier run stopped. docs/deploying.md says which keys, and why.')
  .option('--rpc <url>', `URL of a node; else ${RPC_VARIABLE} of the environment, which suits a URL with a secret`)
  .option('--key-file <path>', `file with the deployer's private key (${KEY_FORMAT}), which only its owner can read; else ${KEY_VARIABLE} of the environment`)
  .option('--testnet', 'the chain is a test network, whose money has no value')
  .option('--name <text>', 'the chain\'s name for clients', argument(text(100)))
  .option('--collateral <address>', 'the stablecoin; "test" deploys a TestUSDC, as does --testnet without this', argument(collateralOf))
  .option('--oracle <address>', 'UMA\'s Optimistic Oracle V3; without it our own is deployed, at which the administrator arbitrates', argument(addressOf))
  .option('--bond <amount>', BOND_ABOUT, argument(bondOf))
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
  .option('--plan', 'checks everything and tells what would be sent, and sends nothing')
  .option('--deployer <address>', 'with --plan, in place of a key', argument(addressOf))
  .option('--json', 'the last line is one JSON object, with the data of every transaction')
  .addHelpText('after', `\n${knownChainsText()}`)
  .exitOverride(({ exitCode }) => { process.exit(exitCode === 0 ? 0 : WRONG_ARGUMENTS); })
  .action(toolAction(run, process.env))
  .parseAsync();

async function run(options: Options): Promise<void> {
  const {
    rpc: given, keyFile, testnet = false, name, confirmations, maxFeeGwei, out, json, plan, deployer, disputeWindow, adminDelay, ...others
  } = options;
  const url = given ?? process.env[RPC_VARIABLE] ?? '';
  // Not the option's parser: wrong arguments are shown, and a URL may hold a secret.
  if (!isHttpUrl(url)) throw new SettingError(`--rpc: give a node's http or https URL, or set ${RPC_VARIABLE}`);
  if (deployer !== undefined && plan === undefined) throw new SettingError('--deployer: is for --plan: a deployment is signed with the key');
  const wallet = deployer === undefined ? walletOf(await keyOf(keyFile)) : addressOnly(deployer);
  const chainId = await chainIdOf(url);
  const say = (line: string): void => { process.stderr.write(`${line}\n`); };
  const rpc = createRpc({
    chainId, urls: [url], timeoutMs: REQUEST_TIMEOUT_MS, now: () => performance.now(), report: (level, line) => { if (level !== 'info') say(line); },
  });
  const deploying: Deploying = {
    rpc, wallet, directory: out, confirmations, pollMs: POLL_MS, say, name: name ?? knownChain(chainId)?.name ?? `Chain ${chainId}`,
    limits: { maxFeePerGas: maxFeeGwei ?? LANE_POLICY.maxFeePerGas, minPriorityFeePerGas: LANE_POLICY.minPriorityFeePerGas },
    requested: {
      ...others, testnet, ...disputeWindow === undefined ? {} : { disputeWindowS: disputeWindow },
      ...adminDelay === undefined ? {} : { adminDelayS: adminDelay },
    },
  };
  const print = (text: string): void => { process.stdout.write(`${text}\n`); };
  if (plan) {
    const planned = await planOnly(deploying);
    return print(json ? JSON.stringify(planned) : planText(planned));
  }
  const deployment = await deploy(deploying);
  print(json ? JSON.stringify(deployment) : resultText(deployment));
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

function bondOf(given: string): bigint {
  const bond = amountOf(given);
  if (bond === 0n) throw new SettingError('expected more than 0');
  return bond;
}

function delayOf(given: string): number {
  return given === '0' ? 0 : secondsOf(given);
}

function gweiOf(given: string): bigint {
  const gwei = /^\d{1,7}(\.\d{1,9})?$/.test(given) ? Number(given) : 0;
  if (gwei <= 0) throw new SettingError('expected a number of gwei, such as 30 or 0.5');
  return BigInt(Math.round(gwei * WEI_PER_GWEI));
}
