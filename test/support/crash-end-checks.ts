/** The end of a crash test: all that the chain has done is read, and the read models are those of the whole history. */
import { deepEqual } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { projections } from '../../projections/catalogue.js';
import type { CrashChain } from './crash-chain.js';
import { until, within } from './until.js';

const REBUILD = fileURLToPath(new URL('../../tools/rebuild.js', import.meta.url));

/** Makes the last blocks with events final, and resolves when the service has read them. */
export async function hasReadAll(chain: CrashChain, url: string, confirmations: number): Promise<void> {
  await chain.rpc('anvil_mine', [confirmations]);
  const latest = Number(await chain.rpc('eth_blockNumber'));
  await until(`block ${latest - confirmations} and all before it are read`, async () => {
    const { chains } = await (await fetch(`${url}/health/ready`)).json() as { chains: { finalBlock?: number; lagBlocks: number }[] };
    const state = chains.find(({ finalBlock }) => finalBlock !== undefined);
    return state?.lagBlocks === 0 && state.finalBlock! >= latest - confirmations;
  });
}

/** Each read model, row by row, is what the whole history gives; `settings` say where both are. */
export async function provesReadModels(settings: Readonly<Record<string, string>>): Promise<void> {
  const rebuilding = promisify(execFile)(process.execPath, [REBUILD, 'all'], { env: { PATH: process.env['PATH'], ...settings } });
  const { stdout } = await within('all read models are rebuilt', rebuilding, 120);
  deepEqual(stdout.trim().split('\n').map((line) => line.replace(/from \d+/, 'from all')), projections.map(({ name }) => (
    `${name}: rebuilt from all command outcomes; 0 rows differed from the old read model`)));
}
