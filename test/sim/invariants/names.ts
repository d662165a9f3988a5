/** The invariants. For each there is a planted bug that breaks it: a check that cannot fail checks nothing. */
export const INVARIANTS = [
  'a boundary is decided by the best price',
  'a cancelled order is not filled',
  'a fill is in one request at a time',
  'a quick market is in one request at a time',
  'a quick market is resolved as it was decided',
  'a refused order is not written',
  'a refused relay request is never recorded',
  'a relayed request ends as the chain says',
  'a relayed request ends once',
  'a relayed request is carried out once',
  'a relayed request is in one transaction at a time',
  'a relayed request is recorded before it is asked for',
  'a repeated relay request gets the same transaction',
  'an ending is final',
  'an order is accepted once',
  'an outcome follows from its prices',
  'announced before it is sent',
  'conservation',
  'each boundary is decided once',
  'everything comes to rest',
  'facts are final',
  'facts are on the chain',
  'no acknowledged order is lost',
  'no nonce gap',
  'no process ends by itself',
  'no report is of a fault in the program',
  'nothing is appended twice',
  'nothing is settled twice',
  'one digest',
  'only what a source told is recorded',
  'outcomes follow commands',
  'positions equal the chain',
  'sign, store, then send',
  'the keeper settles an assertion once',
  'what no source told is never decided',
] as const;

export type Invariant = typeof INVARIANTS[number];

/** Throws an error that says what is broken. */
export type Broken = (invariant: Invariant, detail: string) => never;
