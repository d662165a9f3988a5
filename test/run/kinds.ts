/** The kinds of tests: the word before `.test.ts` says what a test needs; without a word it needs nothing. */

export const KINDS = {
  unit: 'nothing; a test is done in milliseconds',
  slow: 'nothing, but takes its time: long random histories, a test server of EventStoreDB',
  services: 'Postgres',
  kafka: 'a Kafka broker',
  chain: 'an EVM chain',
  crash: 'whole services in processes of their own, most of which are killed',
  eventstore: 'the same, with the log in an EventStoreDB test server',
  geth: 'go-ethereum',
  auditors: 'auditors that are written in other languages',
  solidity: 'the contracts\' compiler, which takes most of a minute',
  proofs: 'Foundry\'s forge, Halmos and Slither, which prove the contracts in some minutes',
} as const;

export type Kind = keyof typeof KINDS;

/**
 * What `npm test` runs: each stage when the one before has ended, and in it a mocha process for each list of kinds. A kind that stands in two lists
 * is dealt out to them: the chain's tests take longest, and mostly wait.
 */
export const STAGES: readonly (readonly (readonly Kind[])[])[] = [
  [['unit', 'slow'], ['services', 'kafka'], ['chain'], ['chain']],
  [['crash']],
];

/** Of these kinds each file has a process of its own, and so many run at once: a few long files are never dealt out evenly. */
export const FILES_AT_ONCE: Readonly<Partial<Record<Kind, number>>> = { crash: 3 };

/** Kinds that run where they are named, as `.ci/long` does. */
export const ON_DEMAND: readonly Kind[] = ['eventstore', 'geth', 'auditors', 'solidity', 'proofs'];

/** `file` is a path that ends in `.test.ts`; undefined where the word before is no kind. */
export function kindOf(file: string): Kind | undefined {
  const [, word = 'unit'] = /(?:\.(\w+))?\.test\.ts$/.exec(file) ?? [];
  return isKind(word) ? word : undefined;
}

export function isKind(word: string): word is Kind {
  return Object.hasOwn(KINDS, word);
}
