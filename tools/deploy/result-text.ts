/** What `npm run deploy` says at its end: what there is, how to start the exchange with it, and what is to be done. */
import type { Contracts } from '../../command/chain/chain.js';
import { ACCEPT_HAND_OVER, checksummed, type Deployment, type Planned } from './deploy.js';
import { bondText, staleText } from './oracle.js';

export function resultText(deployment: Deployment): string {
  const { chain: { chainId, name, startBlock, contracts }, roles, verification } = deployment;
  return [
    `The contracts are on chain ${chainId} (${name}) from block ${startBlock} on, and are as they should be:`,
    ...contractLines(contracts),
    ...roles.map(({ contract, role, holder }) => `  ${holder} has ${role} of ${contract}`),
    `Block explorers verify the contracts by ${verification}: contracts.json there says how.`,
    '', ...startLines(deployment), '', ...marketLines(deployment), '', ...administrationLines(deployment),
  ].join('\n');
}

function startLines({ chainsFile, variables, deployer, chain: { testnet } }: Deployment): string[] {
  const width = Math.max(...variables.map(({ name }) => name.length));
  const holds = (keyOf: string | undefined): string => {
    if (keyOf === undefined) return 'the URL of a node, for every process';
    const isDeployers = keyOf === deployer ? ', which is the deployer' : '';
    return `the private key of ${keyOf}${isDeployers}, for the process with the role lane alone`;
  };
  return [
    `To start the exchange with the chains file ${chainsFile}, which holds no secret, set what it names, and give each `
    + 'of the keys some of the chain\'s coin:',
    ...variables.map(({ name, keyOf }) => `  export ${`${name}=…`.padEnd(width + 2)}  # ${holds(keyOf)}`),
    `  CHAINS=${chainsFile} ${testnet ? '' : 'DATABASE_URL=postgresql://… '}npm start`,
    'docs/operations.md has containers and systemd units, and docs/chains-file.md says how keys are put into files instead.',
  ];
}

function marketLines({ roles, variables, bond, oracle, chain: { chainId } }: Deployment): string[] {
  const creator = roles.find(({ role }) => role === 'CREATOR_ROLE')?.holder ?? '';
  const [node] = variables;
  const asked = '--key-file creator-key --question \'…\' --expires-in 30d';
  const lines = [
    `To create a market while it runs, with the key of ${creator} in a file that only you can read:`,
    `  npm run tool -- market create --chain ${chainId} --rpc "$${node?.name ?? ''}" ${asked} --bond ${bondText(bond)}`,
  ];
  const least = bondText(oracle.minimum);
  if (oracle.isOwn) {
    return [...lines, `The oracle is our own, at which the administrator decides disputes. It takes bonds from ${least} on.`];
  }
  const stale = staleText(oracle);
  return [
    ...lines, `The oracle takes bonds from ${least} on. A proposal posts the market's own bond, or what the oracle asks for `
    + 'at that moment where that is more.',
    ...oracle.sync === undefined
      ? []
      : [
          'When UMA changes its final fee, anybody may bring it to the oracle by syncUmaParams; whoever proposes outcomes should '
          + 'look from time to time (the same command as now says it):',
          `  to ${oracle.sync.to} data ${oracle.sync.data}`,
        ],
    ...stale === undefined ? [] : [`STILL TO DO: ${stale}`],
  ];
}

function administrationLines({ handOvers, admin }: Deployment): string[] {
  if (handOvers.length === 0) return [`${checksummed(admin)} administers the contracts.`];
  return [
    `STILL OPEN: the deployer administers these contracts until ${checksummed(admin)} calls acceptDefaultAdminTransfer() (data ${ACCEPT_HAND_OVER}) on each:`,
    ...handOvers.map(({ contract, address, acceptableAfter }) => `  ${contract} ${checksummed(address)}, after ${new Date(acceptableAfter * 1_000).toISOString()}`),
    'Then run the same command again, to see that nothing is open. Keep the deployer\'s key safe until then.',
  ];
}

/** What would be sent, a line per transaction. */
export function planText({ chainId, deployer, admin, contracts, roles, transactions }: Planned): string {
  return [
    `Nothing is sent. ${deployer} would send on chain ${chainId} (--json shows the data of each):`,
    ...transactions.map(({ nonce, what, to, data }) => {
      const call = to === null ? `${(data.length - 2) / 2} bytes` : `to ${to} data ${data}`;
      return `  nonce ${nonce}: ${what}, ${call}`;
    }),
    'The contracts would be:', ...contractLines(contracts),
    ...roles.map(({ contract, role, holder }) => `  ${holder} would have ${role} of ${contract}`),
    `${checksummed(admin)} would administer them.`,
  ].join('\n');
}

function contractLines(contracts: Contracts): string[] {
  return Object.entries(contracts).map(([contract, address]: [string, string]) => `  ${contract} ${checksummed(address)}`);
}
