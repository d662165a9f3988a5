/** Writes what a deployment is for: a chains file that the exchange takes as it is, and what block explorers need to verify the contracts. */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Chain } from '../../command/chain/chain.js';
import { COMPILER, compilerInput, sourceOf } from '../../contracts-abi/compiler-input.js';
import { replaceDurably } from '../../service/machine/durable-files.js';
import type { DeployPlan } from './plan.js';

export interface Outputs {
  readonly directory: string;
  readonly chain: Chain;
  readonly plan: DeployPlan;
  /** Which keys the exchange is to have on this chain besides the operator's. */
  readonly keys: OtherKeys;
}

/** By the keys' addresses; undefined for a key that the exchange is not to have. */
export interface OtherKeys {
  readonly relayer: string | undefined;
  readonly quick: string | undefined;
}

export interface Variables {
  readonly rpcUrl: string;
  readonly operatorKey: string;
  readonly relayerKey: string;
  readonly quickKey: string;
}

/** Names of environment variables that the chains file refers to. */
export function variablesOf(chainId: number): Variables {
  const prefix = `CHAIN_${chainId}`;
  return { rpcUrl: `${prefix}_RPC_URL`, operatorKey: `${prefix}_OPERATOR_KEY`, relayerKey: `${prefix}_RELAYER_KEY`, quickKey: `${prefix}_QUICK_KEY` };
}

/** An environment variable that a chains file names. */
export interface Variable {
  readonly name: string;
  /** Whose private key it holds; absent: it holds the URL of a node. */
  readonly keyOf?: string;
}

/** The variables of a chain, by the addresses of its keys. */
export function variablesFor(chainId: number, { operator, relayer, quick }: OtherKeys & { readonly operator: string }): readonly Variable[] {
  const names = variablesOf(chainId);
  const keys = [[names.operatorKey, operator], [names.relayerKey, relayer], [names.quickKey, quick]] as const;
  return [{ name: names.rpcUrl }, ...keys.flatMap(([name, keyOf]) => keyOf === undefined ? [] : [{ name, keyOf }])];
}

/** Writes both, replacing what an earlier run wrote. Returns the chains file's path. */
export async function writeOutputs(outputs: Outputs): Promise<{ readonly chainsFile: string; readonly verification: string }> {
  const chainsFile = join(outputs.directory, 'chains.json');
  const verification = join(outputs.directory, 'verification');
  await mkdir(verification, { recursive: true });
  await writeVerification(verification, outputs.plan);
  await replaceDurably(chainsFile, json({ chains: [entryOf(outputs)] }));
  return { chainsFile, verification };
}

function entryOf({ chain: { domainName: settlementDomainName, ...chain }, keys: { relayer, quick } }: Outputs) {
  const variables = variablesOf(chain.chainId);
  return {
    ...chain, settlementDomainName, rpcUrls: [{ env: variables.rpcUrl }], operatorKey: { env: variables.operatorKey },
    ...relayer === undefined ? {} : { relayerKey: { env: variables.relayerKey }, relayerAddress: relayer },
    ...quick === undefined ? {} : { quickKey: { env: variables.quickKey }, quickAddress: quick },
  };
}

/** One file per contract, which explorers take as standard JSON input, and one with the answers to what else they ask. */
async function writeVerification(directory: string, { deployed }: DeployPlan): Promise<void> {
  const root = rootAbove(dirname(fileURLToPath(import.meta.url)));
  const contracts = [];
  for (const { contract, creator, address, constructorArguments } of deployed) {
    const input = `${contract}.json`;
    await replaceDurably(join(directory, input), json(compilerInput({ root, contract, ...creator === undefined ? {} : { creator } })));
    contracts.push({ address, contractName: `${sourceOf(contract)}:${contract}`, compilerVersion: `v${COMPILER}`, constructorArguments, input });
  }
  await replaceDurably(join(directory, 'contracts.json'), json({ contracts }));
}

/** The folder with the sources: the program itself runs from a folder below it. */
function rootAbove(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : rootAbove(dirname(directory));
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
