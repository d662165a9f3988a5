/** The kinds of tests: the word before `.test.ts` says what a test needs; without a word it needs nothing. */

export const KINDS = {
  unit: 'nothing; a test is done in milliseconds',
  slow: 'nothing, but takes its time: long random histories, the simulation',
  services: 'Postgres',
  kafka: 'a Kafka broker',
  chain: 'an EVM chain',
  crash: 'whole services in processes of their own, most of which are killed',
  eventstore: 'an EventStoreDB test server: the log in it, and whole services on it that are killed',
  geth: 'go-ethereum',
  auditors: 'auditors that are written in other languages',
  clients: 'the client in Python, or the packages of client/: wallets, and generators of clients',
  solidity: 'the contracts\' compiler, which takes most of a minute',
  proofs: 'Foundry\'s forge, Halmos and Slither, which prove the contracts in some minutes',
} as const;

export type Kind = keyof typeof KINDS;

/** What some mocha processes run between them. */
export interface Share {
  readonly kinds: readonly Kind[];
  /** How many; default 1. */
  readonly processes?: number;
}

/** What `npm test` runs: each stage when the one before has ended, and in it the shares side by side. */
export const STAGES: readonly (readonly Share[])[] = [
  [{ kinds: ['kafka', 'slow', 'chain', 'services', 'unit'], processes: 4 }],
  [{ kinds: ['crash'] }],
];

/** Of these kinds each file has a process of its own, and so many run at once: a few long files are never dealt out evenly. */
export const FILES_AT_ONCE: Readonly<Partial<Record<Kind, number>>> = { crash: 3, clients: 2 };

/** Kinds whose files run in one process, one after the other, since they share what takes long to start. */
export const TOGETHER: readonly Kind[] = ['kafka'];

/** The files that take longest begin before the other ones, so that no process works on when the others have nothing left. */
export const FIRST: readonly string[] = [
  'sim/simulation.slow.test.ts', 'quick/quick-hours.chain.test.ts', 'system/embedded-postgres.services.test.ts', 'audit/audit.chain.test.ts',
  'query/stream-histories.services.test.ts', 'settlement/restart.chain.test.ts', 'client/relay.chain.test.ts', 'system/demo.chain.test.ts',
  'system/roles.crash.test.ts', 'system/service.crash.test.ts', 'client/life.crash.test.ts', 'system/quick.crash.test.ts', 'system/rolling-restart.crash.test.ts',
];

/** Kinds that run where they are named, as `.ci/long` does. */
export const ON_DEMAND: readonly Kind[] = ['eventstore', 'geth', 'auditors', 'clients', 'solidity', 'proofs'];

/** `file` is a path that ends in `.test.ts`; undefined where the word before is no kind. */
export function kindOf(file: string): Kind | undefined {
  const [, word = 'unit'] = /(?:\.(\w+))?\.test\.ts$/.exec(file) ?? [];
  return isKind(word) ? word : undefined;
}

export function isKind(word: string): word is Kind {
  return Object.hasOwn(KINDS, word);
}
