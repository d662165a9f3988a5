/** Which folder may import which: the arrows between the parts of the system. */
import { FOLDERS, eachSource, isOneOf, type Rule } from './project.js';

/**
 * The rows hold for the file `of`, or for the files below the folder `of`, that no longer row names. Patterns are files, or folders with
 * `/*`.
 */
interface Arrow {
  readonly of: string;
  /** What it may import, itself included. */
  readonly may: readonly string[];
  readonly because: string;
}

/** How anything starts, waits, keeps going and reports. */
const GOING = ['engine/waiting', 'engine/reactor', 'engine/report', 'engine/state-table', 'engine/running-role', 'engine/cannot-start'];

/** What everybody outside may take from the engine: its vocabulary, its log and its run loop with the read-only view, never state or books. */
const ENGINE = ['engine/records/*', 'engine/log/*', 'engine/run/*', ...GOING, 'engine/rules/limits'];

/** What an endpoint is made of: its definition, its fields, its errors. */
const KIT = ['service/api/*'];

/** What the exchange is made of, for those who run it. */
const PRODUCT = ['service/*', 'command/*', 'contracts-abi/*', 'projections/*', 'query/*', 'engine/role', 'engine/role-state', ...ENGINE];

/** What the read side needs: records, their port, how to wait, how another process wakes it, what sessions share. */
const RECORDS = [
  'engine/records/*', 'engine/log/log', 'engine/log/postgres/channel', 'engine/log/postgres/connection', ...GOING,
];

const ARROWS: readonly Arrow[] = [
  { of: 'contracts-abi', may: ['contracts-abi/*'], because: 'the contracts know nothing of the exchange' },

  { of: 'engine', may: GOING, because: 'what every part of the engine uses can use none of them' },
  ...['engine/role', 'engine/role-state'].map((of) => (
    { of, may: ['engine/*'], because: 'the role puts the engine together and knows nobody outside' })),
  { of: 'engine/records', may: ['engine/records/*'], because: 'the vocabulary needs nothing else' },
  { of: 'engine/book', may: ['engine/book/*', 'engine/records/*'], because: 'a book knows orders and nothing of rules or of how it is run' },
  { of: 'engine/rules', may: ['engine/rules/*', 'engine/book/*', 'engine/records/*'], because: 'the rules decide from state and command alone' },
  { of: 'engine/log', may: ['engine/log/*', 'engine/waiting', 'engine/report'], because: 'a log keeps bytes and does not know what they mean' },
  { of: 'engine/run', may: ['engine/*'], because: 'the run loop puts the engine together and knows nobody outside' },

  { of: 'command/chain', may: ['command/chain/*', 'command/signing/*', 'contracts-abi/*', ...KIT, ...ENGINE], because: 'it reads a chain for all who act on one' },
  { of: 'command/signing', may: ['command/signing/*', 'contracts-abi/*', ...ENGINE], because: 'hashing and recovering serve every other part of command' },
  { of: 'command/orders', may: ['command/orders/*', 'command/chain/*', 'command/signing/*', 'contracts-abi/*', ...KIT, ...ENGINE], because: 'intake ends at the log' },
  { of: 'command/indexer', may: ['command/indexer/*', 'command/chain/*', 'command/signing/*', 'contracts-abi/*', ...ENGINE], because: 'the indexer turns a chain into facts and sends nothing' },
  {
    of: 'command/lane', may: ['command/lane/*', 'command/chain/*', 'command/signing/*', 'contracts-abi/*', ...ENGINE],
    because: 'the lane is above its users: they import its vocabulary, never the other way round',
  },
  { of: 'command/jobs', may: ['command/jobs/*', 'command/lane/*', 'command/chain/*', ...ENGINE], because: 'it serves those users of a lane who do jobs' },
  ...['settlement', 'relayer', 'keeper', 'prices', 'quick'].map((user) => ({
    of: `command/${user}`, may: [`command/${user}/*`, ...user === 'settlement' ? ['command/feed/*'] : [], ...user === 'relayer' ? KIT : [], 'command/jobs/*', 'command/lane/*', 'command/chain/*', 'command/signing/*', 'contracts-abi/*', ...ENGINE],
    because: 'the lane\'s users do not know each other',
  })),
  // A role may be made of two users of the lane.
  ...([['relayer', 'keeper'], ['prices', 'quick']] as const).map(([role, other]) => ({
    of: `command/${role}/role`, because: 'the role runs both users of the lane',
    may: [
      `command/${role}/*`, `command/${other}/*`, ...role === 'relayer' ? KIT : [], 'command/lane/*', 'command/chain/*', 'command/signing/*', ...ENGINE,
    ],
  })),
  {
    of: 'command/feed', may: ['command/feed/*', 'command/lane/requests', 'command/lane/session', ...ENGINE],
    because: 'the feed is made from the history alone and knows nobody who reads it',
  },
  { of: 'command', may: ['command/*', 'contracts-abi/*', ...KIT, ...ENGINE], because: 'command is below the service' },

  { of: 'projections', may: ['projections/*', ...RECORDS], because: 'read models are folded from recorded outcomes and nothing else' },
  {
    of: 'projections/thread', may: ['projections/*', 'engine/log/open-log', ...RECORDS],
    because: 'a thread opens the log itself: connections cannot be passed to it',
  },
  { of: 'query', may: ['query/*', ...KIT, ...RECORDS], because: 'it reads tables and records; the tables are the contract, not the code that fills them' },

  { of: 'service/api', may: ['service/api/*', 'engine/records/*', 'engine/running-role'], because: 'what an endpoint is made of serves everybody who has endpoints, and knows none of them' },
  { of: 'service', may: PRODUCT, because: 'the running exchange knows neither the programs beside it nor a laptop\'s stack; and nobody outside the engine touches state or books' },
  {
    of: 'tools', may: ['tools/*', ...PRODUCT, 'stack/database-of', 'stack/embedded-postgres', 'stack/chain/dev-contracts'],
    because: 'programs beside the exchange use a laptop\'s Postgres and its public keys, not how they are started',
  },
  {
    of: 'stack', may: ['stack/*', ...PRODUCT, 'tools/deploy/plan'],
    because: 'the development chain is deployed by the plan that every chain is deployed by; else stack and tools do not know each other',
  },

  { of: 'client', may: ['client/*'], because: 'whoever uses the client has nothing else of the exchange' },
  { of: 'client/src', may: ['client/src/*'], because: 'its package holds nothing else' },

  { of: 'page', may: ['page/*', 'client/src/*'], because: 'the page proves the client: it has nothing of the exchange that others do not have' },
  {
    of: 'page/src/verify', may: ['page/*', 'client/src/*', 'engine/records/*', 'engine/rules/*', 'engine/book/*', 'engine/run/stepping', 'engine/run/snapshot-state'],
    because: 'whoever decides the history again runs the engine itself',
  },
  {
    of: 'page/compiled-records', may: ['engine/records/*'],
    because: 'the build makes what the engine would make of its schemas at run time',
  },

  { of: 'test', may: FOLDERS.map((folder) => `${folder}/*`), because: 'tests may import anything of the project' },
];

/** Imports point only where the arrows do. */
export const arrows: Rule = eachSource(({ path, imports }) => {
  const arrow = arrowOf(path);
  return imports.flatMap(({ target, line }) => {
    if (target === undefined) return [];
    const where = `${path}:${line} imports ${target}`;
    if (!FOLDERS.some((folder) => target.startsWith(`${folder}/`))) {
      return [`${where}, which is in no folder of the project: import a package, or a file of one of ${FOLDERS.join(', ')}`];
    }
    if (arrow === undefined) return [`${where}, and its folder has no row in ARROWS of test/architecture/arrows.ts: add one, with its reason`];
    const { of, may, because } = arrow;
    if (isOneOf(target, may)) return [];
    return [`${where}: ${of} may import ${may.join(', ') || 'nothing'} because ${because}; `
      + 'move what both need to where both may reach it, or take it as an argument'];
  });
});

/** The row of the file, else the one with the longest folder that the file is below. */
function arrowOf(path: string): Arrow | undefined {
  return ARROWS.filter(({ of }) => path.startsWith(`${of}/`) || path === `${of}.ts`).sort((a, b) => b.of.length - a.of.length)[0];
}
