/** Bugs that are planted into the compiled code to see that the simulation finds them: what each changes, in one file, at one place. */
import type { Invariant } from '../invariants/names.js';

export interface Mutation {
  readonly name: string;
  /** What it is found by. */
  readonly breaks: Invariant;
  /** Below dist/. */
  readonly file: string;
  /** Occurs once in the file. */
  readonly from: string;
  readonly to: string;
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'the lane does not wait until its transactions are recorded', breaks: 'sign, store, then send',
    file: 'command/lane/lane.js',
    from: 'await held.record(transactions);', to: 'void held.record(transactions);',
  },
  {
    name: 'the lane does not wait until its transactions are announced', breaks: 'announced before it is sent',
    file: 'command/lane/lane.js',
    from: 'await this.options.announce(', to: 'void this.options.announce(',
  },
  {
    name: 'the lane does not record a replacement with higher fees', breaks: 'sign, store, then send',
    file: 'command/lane/lane.js',
    from: 'await held.recordAttempt(transaction, attempt);', to: '',
  },
  {
    name: 'the lane leaves a nonce out', breaks: 'no nonce gap',
    file: 'command/lane/lane.js',
    from: 'nonces.map((nonce) => nonce + 1)', to: 'nonces.map((nonce) => nonce + (nonce === 2 ? 2 : 1))',
  },
  {
    name: 'a transaction is over as soon as it is mined', breaks: 'an ending is final',
    file: 'command/lane/flights.js',
    from: 'if (view.head - block >= confirmations)', to: 'if (view.head - block >= 0)',
  },
  {
    name: 'one node\'s transaction count is believed at once', breaks: 'no nonce gap',
    file: 'command/lane/nonces.js',
    from: 'if (seconded || counted.looks >= policy.looks) {', to: 'if (true) {',
  },
  {
    name: 'the indexer reads blocks that are not final', breaks: 'facts are final',
    file: 'command/indexer/indexer.js',
    from: 'const final = latest - chain.confirmations;\n    while', to: 'const final = latest - 1;\n    while',
  },
  {
    name: 'the indexer\'s cursor skips the first event after it', breaks: 'positions equal the chain',
    file: 'command/indexer/fact-writer.js',
    from: 'fact.block === nextBlock && fact.logIndex >= nextLog', to: 'fact.block === nextBlock && fact.logIndex > nextLog',
  },
  {
    name: 'the indexer leaves out the last block of a range', breaks: 'no process ends by itself',
    file: 'command/indexer/scan.js',
    from: 'ahead = end;', to: 'ahead = { ...end, number: end.number + 1 };',
  },
  {
    name: 'after a lost answer an append goes to the new end of the log', breaks: 'nothing is appended twice',
    file: 'engine/log/appender.js',
    from: 'failures += 1;', to: 'failures += 1; if (expected === undefined) at = options.length();',
  },
  {
    name: 'a group commit appends its batch twice', breaks: 'nothing is appended twice',
    file: 'engine/log/group-commit.js',
    from: 'const first = await log.append(', to: 'if (batch.length === 1) await log.append(stream, [batch[0].record]); const first = await log.append(',
  },
  {
    name: 'an engine writes its outcomes wherever the stream ends', breaks: 'outcomes follow commands',
    file: 'engine/run/outcome-writer.js',
    from: 'await log.append(\'outcomes\', batch, written);', to: 'await log.append(\'outcomes\', batch);',
  },
  {
    name: 'an engine that starts leaves out the first outcome', breaks: 'one digest',
    file: 'engine/run/replica.js',
    from: 'if (step.position >= recorded) {', to: 'if (step.position > recorded) {',
  },
  {
    name: 'the engine reads the clock of its machine', breaks: 'one digest',
    file: 'engine/run/engine.js',
    from: 'advance(state, command.at);', to: 'advance(state, Math.max(command.at, Date.now()));',
  },
  {
    name: 'the settlement worker forgets what an earlier process asked for', breaks: 'a fill is in one request at a time',
    file: 'command/settlement/settlement-worker.js',
    from: 'const listed = await lane.changes();', to: 'await lane.changes(); const listed = [];',
  },
  {
    name: 'fills of a reverted transaction are not tried again', breaks: 'everything comes to rest',
    file: 'command/settlement/settlement-worker.js',
    from: 'await this.change(store, moved.flat());', to: 'await this.change(store, moved.flat().filter(({ batchLimit }) => batchLimit === undefined));',
  },
  {
    name: 'the intake loses a fill that comes while another one waits', breaks: 'everything comes to rest',
    file: 'command/settlement/intake.js',
    from: 'const changes = changesOf(course.progress, batch);',
    to: 'const all = changesOf(course.progress, batch); const changes = { ...all, matched: all.matched.slice(0, 1) };',
  },
  {
    name: 'a lost lane is not held again', breaks: 'everything comes to rest',
    file: 'engine/reactor.js',
    from: 'this.held = undefined;', to: '',
  },
  {
    name: 'an order that a client sends again is answered with the latest command', breaks: 'an order is accepted once',
    file: 'command/orders/place-order.js',
    from: 'return { body: `{${original}${present}}`, position: orderNumber,', to: 'return { body: `{${original}${present}}`, position: parts.view.position - 1,',
  },
  {
    name: 'a cancel is answered before its command is written', breaks: 'a cancelled order is not filled',
    file: 'command/orders/cancel-order.js',
    from: 'const submitted = await underway.start(', to: 'void parts.submit(command, signal).catch(() => undefined); return cancelledAnswer(orderHash, order, order.remaining, undefined); const submitted = await underway.start(',
  },
  {
    name: 'an order is acknowledged with the position before its own', breaks: 'no acknowledged order is lost',
    file: 'command/orders/place-order.js',
    from: 'case \'OrderAccepted\': return { body: `{${acceptedFields(orderHash, outcome)}}`, position };',
    to: 'case \'OrderAccepted\': return { body: `{${acceptedFields(orderHash, outcome)}}`, position: position - 1 };',
  },
  {
    name: 'an order that is written is refused for certain', breaks: 'a refused order is not written',
    file: 'command/orders/place-order.js',
    from: 'case \'OrderAccepted\': return {', to: 'case \'OrderAccepted\': if (position % 3 === 0) throw new RequestError(\'invalid_order_hash\'); return {',
  },
  {
    name: 'the indexer names another transaction than the event\'s', breaks: 'facts are on the chain',
    file: 'command/indexer/facts.js',
    from: 'kind: \'SettleFill\', fill: fillNumber(event.args.seq), txHash,', to: 'kind: \'SettleFill\', fill: fillNumber(event.args.seq), txHash: `0x${\'ee\'.repeat(32)}`,',
  },
  {
    name: 'an outcome names a settled fill twice', breaks: 'nothing is settled twice',
    file: 'engine/run/engine.js',
    from: 'const outcome = { at: state.now, events };',
    to: 'const outcome = { at: state.now, events: events.flatMap((event) => event.type === \'FillSettled\' ? [event, event] : [event]) };',
  },
  {
    name: 'a quick market is decided the wrong way round', breaks: 'an outcome follows from its prices',
    file: 'engine/rules/decide-prices.js',
    from: 'BigInt(end.price) >= BigInt(strike.price) ? YES : NO', to: 'BigInt(end.price) >= BigInt(strike.price) ? NO : YES',
  },
  {
    name: 'a price of any source decides a boundary at once', breaks: 'a boundary is decided by the best price',
    file: 'engine/rules/decide-prices.js',
    from: 'if (rank === 0 || state.now >= lateAt(boundary))', to: 'if (true)',
  },
  {
    name: 'a boundary without a price is decided by a guess', breaks: 'what no source told is never decided',
    file: 'engine/rules/decide-prices.js',
    from: 'return boundary.best === undefined ? missedEvents(state, boundary) : priceEvents(state, boundary, boundary.best);',
    to: 'return priceEvents(state, boundary, boundary.best ?? { source: \'pyth\', price: \'1\', publishedAt: boundary.time * 1000 });',
  },
  {
    name: 'a boundary is decided twice', breaks: 'each boundary is decided once',
    file: 'engine/rules/decide-prices.js',
    from: 'events.push(...priceEvents(state, boundary, command));', to: 'events.push(...priceEvents(state, boundary, command), ...priceEvents(state, boundary, command));',
  },
  {
    name: 'the recorder cuts a price\'s last digits off', breaks: 'only what a source told is recorded',
    file: 'command/prices/recorder.js',
    from: 'price: String(priceE8)', to: 'price: String(priceE8 / 1000n * 1000n)',
  },
  {
    name: 'a quick market is resolved by its prices the wrong way round', breaks: 'a quick market is resolved as it was decided',
    file: 'command/quick/agenda.js',
    from: 'startPrice: strike.price, startPublishedS: secondOf(strike.publishedAt), endPrice: end.price,',
    to: 'startPrice: end.price, startPublishedS: secondOf(strike.publishedAt), endPrice: strike.price,',
  },
  {
    name: 'the sender of quick markets asks again for what is under way', breaks: 'a quick market is in one request at a time',
    file: 'command/quick/agenda.js',
    from: '&& this.#docket.mayLook(keyOf(job), requestsOf(job, requests), { nextBlock, nowMs }));', to: ');',
  },
  {
    name: 'the view gives out the engine\'s own quick markets', breaks: 'no report is of a fault in the program',
    file: 'engine/run/view.js',
    from: 'quick: { ...quick, missed: new Set(quick.missed) }', to: 'quick',
  },
  {
    name: 'the desk does not wait until a request is in the history', breaks: 'a relayed request is recorded before it is asked for',
    file: 'command/relayer/desk.js',
    from: 'const { position, taken } = await history.record({ kind: \'RequestRelay\', v: 1, at: now(), requestId, chainId, action, owner, claims });',
    to: 'const { position, taken } = { position: 0, taken: true }; history.record({ kind: \'RequestRelay\', v: 1, at: now(), requestId, chainId, action, owner, claims }).catch(() => undefined);',
  },
  {
    name: 'the engine keeps a request open that has ended', breaks: 'a relayed request ends once',
    file: 'engine/rules/evolve.js',
    from: 'state.relays.delete(event.requestId);', to: '',
  },
  {
    name: 'a transaction that reverted counts as carried out', breaks: 'a relayed request ends as the chain says',
    file: 'command/relayer/endings.js',
    from: 'ending.kind === \'mined\' && ending.succeeded ? await reachedBy', to: 'ending.kind === \'mined\' ? await reachedBy',
  },
  {
    name: 'the desk gives up what an earlier process has sent', breaks: 'a relayed request ends as the chain says',
    file: 'command/relayer/desk.js',
    from: 'for (const { requestId, claims } of listed) {\n            if (this.open.has(requestId))',
    to: 'for (const { requestId, claims } of listed) {\n            if (this.held !== undefined)',
  },
  {
    name: 'the desk asks the lane for a request under two names', breaks: 'a relayed request is in one transaction at a time',
    file: 'command/relayer/desk.js',
    from: 'await held.ask([{ id: request.laneId, ...call, gasLimit, note }]);',
    to: 'await held.ask([request.laneId, laneIdOf({ requestId, position: -position })].map((id) => ({ id, ...call, gasLimit, note })));',
  },
  {
    name: 'a request that is taken is refused for certain', breaks: 'a refused relay request is never recorded',
    file: 'command/relayer/relayer.js',
    from: 'on.lacks(undefined);', to: 'on.lacks(undefined); if (block % 3 === 0) throw new RequestError(\'relay_would_revert\');',
  },
  {
    name: 'a repeat is answered with what ended last', breaks: 'a repeated relay request gets the same transaction',
    file: 'command/relayer/desk.js',
    from: 'return this.ended.get(requestId);', to: 'return [...this.ended.values()][0];',
  },
  {
    name: 'the keeper asks again for what is under way', breaks: 'the keeper settles an assertion once',
    file: 'command/keeper/watch.js',
    from: 'this.#docket.mayLook(proposal.assertionId, own(proposal), { nextBlock, nowMs })', to: 'true',
  },
  {
    name: 'the keeper looks at disputed proposals alone', breaks: 'everything comes to rest',
    file: 'command/keeper/watch.js',
    from: 'disputed || timeS >= expirationTime + this.rules.graceS', to: 'disputed',
  },
  {
    name: 'the indexer leaves out what a redemption has paid', breaks: 'positions equal the chain',
    file: 'command/indexer/facts.js',
    from: 'return isOurs ? {', to: 'return isOurs && payout === 0n ? {',
  },
  {
    name: 'the simulated contract does not use a message\'s nonce up', breaks: 'a relayed request is carried out once',
    file: 'test/sim/chain/token-contract.js',
    from: 'useNonce(state, call);', to: '',
  },
  {
    name: 'the simulated contract pays the seller more than the buyer pays', breaks: 'conservation',
    file: 'test/sim/chain/contracts.js',
    from: 'add(collateral, sell.trader, cost);', to: 'add(collateral, sell.trader, cost + 1n);',
  },
];
