/** Bugs that are planted into the compiled code to see that the simulation finds them: what each changes, in one file, at one place. */

export interface Mutation {
  readonly name: string;
  /** Below dist/. */
  readonly file: string;
  /** Occurs once in the file. */
  readonly from: string;
  readonly to: string;
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'the lane does not wait until its transactions are recorded', file: 'command/lane/lane.js',
    from: 'await held.record(transactions);', to: 'void held.record(transactions);',
  },
  {
    name: 'the lane does not wait until its transactions are announced', file: 'command/lane/lane.js',
    from: 'await this.options.announce(', to: 'void this.options.announce(',
  },
  {
    name: 'the lane does not record a replacement with higher fees', file: 'command/lane/lane.js',
    from: 'await held.recordAttempt(transaction, attempt);', to: '',
  },
  {
    name: 'the lane leaves a nonce out', file: 'command/lane/lane.js',
    from: 'nonces.map((nonce) => nonce + 1)', to: 'nonces.map((nonce) => nonce + (nonce === 2 ? 2 : 1))',
  },
  {
    name: 'a transaction is over as soon as it is mined', file: 'command/lane/flights.js',
    from: 'if (view.head - block >= confirmations)', to: 'if (view.head - block >= 0)',
  },
  {
    name: 'one node\'s transaction count is believed at once', file: 'command/lane/nonces.js',
    from: 'if (seconded || counted.looks >= policy.looks) {', to: 'if (true) {',
  },
  {
    name: 'the indexer reads blocks that are not final', file: 'command/indexer/indexer.js',
    from: 'const final = latest - chain.confirmations;\n    while', to: 'const final = latest - 1;\n    while',
  },
  {
    name: 'the indexer\'s cursor skips the first event after it', file: 'command/indexer/fact-writer.js',
    from: 'fact.block === nextBlock && fact.logIndex >= nextLog', to: 'fact.block === nextBlock && fact.logIndex > nextLog',
  },
  {
    name: 'the indexer leaves out the last block of a range', file: 'command/indexer/scan.js',
    from: 'ahead = end;', to: 'ahead = { ...end, number: end.number + 1 };',
  },
  {
    name: 'after a lost answer an append goes to the new end of the log', file: 'engine/log/appender.js',
    from: 'failures += 1;', to: 'failures += 1; if (expected === undefined) at = options.length();',
  },
  {
    name: 'a group commit appends its batch twice', file: 'engine/log/group-commit.js',
    from: 'const first = await log.append(', to: 'if (batch.length === 1) await log.append(stream, [batch[0].record]); const first = await log.append(',
  },
  {
    name: 'an engine writes its outcomes wherever the stream ends', file: 'engine/run/outcome-writer.js',
    from: 'await log.append(\'outcomes\', batch, written);', to: 'await log.append(\'outcomes\', batch);',
  },
  {
    name: 'an engine that starts leaves out the first outcome', file: 'engine/run/replica.js',
    from: 'if (step.position >= recorded) {', to: 'if (step.position > recorded) {',
  },
  {
    name: 'the engine reads the clock of its machine', file: 'engine/run/engine.js',
    from: 'advance(state, command.at);', to: 'advance(state, Math.max(command.at, Date.now()));',
  },
  {
    name: 'the settlement worker forgets what an earlier process asked for', file: 'command/settlement/settlement-worker.js',
    from: 'this.parts.queue.restore(requests.flatMap((request) => this.found(request)), { nextFill: view.nextFill(), nowMs: now() });', to: '',
  },
  {
    name: 'fills of a reverted transaction are not tried again', file: 'command/settlement/settlement-queue.js',
    from: 'for (const fill of left) {', to: 'for (const fill of succeeded ? left : []) {',
  },
  {
    name: 'the intake loses a fill that comes while another one waits', file: 'command/settlement/intake/mirror.js',
    from: 'if (fills.size < windowFills)', to: 'if (fills.size > 1) continue; if (fills.size < windowFills)',
  },
  {
    name: 'a lost lane is not held again', file: 'command/lane/lane.js',
    from: 'this.held = undefined;\n        await lost?.close();', to: 'await lost?.close();',
  },
  {
    name: 'an order that a client sends again is answered with the latest command', file: 'command/orders/place-order.js',
    from: 'return { body: `{${original}${present}}`, position: orderNumber,', to: 'return { body: `{${original}${present}}`, position: parts.view.position - 1,',
  },
];
