/** What is generated and compiled of the client: its types are those of the exchange's document, and it compiles strictly wherever it is used. */
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CLIENT, runOfClient } from '../support/client-packages.js';
import { openapiTypes } from './openapi-types.js';

const COMPILER = 'typescript/bin/tsc';

/** A program of somebody who has installed the package, with every kind of signer. */
const PROGRAM = `
import { Wallet as Wallet5 } from 'ethers5';
import { Wallet as Wallet6 } from 'ethers';
import { createWalletClient, custom } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { connect, eip1193Signer, Outcome, Side, type BatchResult, type Hex, type Placed } from '../../../src/client.js';

declare const window: { readonly ethereum: Parameters<typeof eip1193Signer>[0] & Parameters<typeof custom>[0] };
const key: Hex = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const account = privateKeyToAccount(key);
const signers = [account, new Wallet5(key), new Wallet6(key), eip1193Signer(window.ethereum, account.address)];
const [client] = signers.map((signer) => connect({ url: 'https://exchange.example', signer, fetch }));
if (client === undefined) throw new Error('there is no client');
createWalletClient({ account, transport: custom(window.ethereum) });

const [market] = await client.read.markets({ state: 'open' }, { signal: AbortSignal.timeout(1_000) }).take(1);
if (market === undefined) throw new Error('there is no market');
const order = { market, side: Side.Buy, outcome: Outcome.Yes, price: '0.62', size: 10_000_000n } as const;
const placed: Placed = await client.place(order);
const results: BatchResult[] = await client.placeBatch([order]);
const cost: bigint = (await client.read.order(placed.orderHash)).price * 2n;
for await (const message of client.watch(['markets'])) if (message.type === 'opened') console.log(message.marketId, cost, results);
// @ts-expect-error: a price is never a number
await client.place({ ...order, price: 0.62 });
// @ts-expect-error: there is no third outcome
await client.place({ ...order, outcome: 2 });
// @ts-expect-error: a code is no price
await client.reduce(placed, placed.orderHash.length);
`;

/** Where the compiler writes what it has built. */
const outDir = 'built/dist';
/** One process compiles them all: it starts once, and reads the declarations of the packages once. */
const PROJECTS = {
  browser: { extends: '../../../tsconfig.browser.json', compilerOptions: { noEmit: true, outDir } },
  whole: { extends: '../../../tsconfig.json', compilerOptions: { noEmit: true, outDir } },
  program: { extends: '../../../tsconfig.json', compilerOptions: { types: [], skipLibCheck: true, noEmit: true, rootDir: '../../..', outDir }, include: ['*.ts'] },
};
type Project = keyof typeof PROJECTS;

/** What the client's own compiler says against each project. */
async function compile(): Promise<(project: Project) => string> {
  const folder = join(CLIENT, '.build', 'compiled');
  for (const [name, project] of Object.entries(PROJECTS)) {
    await mkdir(join(folder, name), { recursive: true });
    await writeFile(join(folder, name, 'tsconfig.json'), JSON.stringify(project));
  }
  await writeFile(join(folder, 'program', 'program.ts'), PROGRAM);
  try {
    const args = ['--build', '--force', '--verbose', '--pretty', 'false', ...Object.keys(PROJECTS)];
    const said = await runOfClient(COMPILER, args, folder).catch((error: unknown) => (error as Error).message);
    const parts = said.split(/^.* - Building project '.*\/(?=\w+\/tsconfig\.json'\.{3}$)/m);
    return (project) => {
      const part = parts.find((text) => text.startsWith(`${project}/tsconfig.json'...\n`));
      // The compiler tells what it does next, with the time.
      return part?.split('\n').slice(1).filter((line) => !/^$|^\d+:\d+:\d+ \wM - /.test(line)).join('\n') ?? `it was not compiled:\n${said}`;
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('client: its sources', function () {
  this.timeout(180_000);
  let said: (project: Project) => string;
  before(async () => { said = await compile(); });

  it('have the types of the exchange\'s document; else run node tools/run.mjs test/client/write-openapi', async () => {
    assert.equal(await readFile(join(CLIENT, 'src', 'openapi.ts'), 'utf8'), await openapiTypes());
  });

  it('compile strictly with the client\'s own compiler, for browsers without Node, and whole', () => {
    assert.deepEqual([said('browser'), said('whole')], ['', '']);
  });

  it('take accounts of viem and wallets of ethers 5 and 6 as they are, and refuse what is no amount', () => {
    assert.equal(said('program'), '');
  });
});
