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
    from: 'await held.record(transactions);', to: 'held.record(transactions).catch(() => undefined);',
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
    file: 'command/lane/open-transactions.js',
    from: 'if (view.head - block >= confirmations)', to: 'if (view.head - block >= 0)',
  },
  {
    name: 'one node\'s transaction count is believed at once', breaks: 'no nonce gap',
    file: 'command/lane/nonces.js',
    from: 'if (seconded || counted.looks >= policy.looks) {', to: 'if (true) {',
  },
  {
    name: 'the role indexer takes blocks for final that are not', breaks: 'facts are final',
    file: 'command/indexer/role.js',
    from: 'chain, rpc, report, signal, pollMs', to: 'chain: { ...chain, confirmations: 1 }, rpc, report, signal, pollMs',
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
    from: 'let position = await log.append(', to: 'if (batch.length === 1) await log.append(stream, records); let position = await log.append(',
  },
  {
    name: 'an engine writes its outcomes again wherever the stream ends', breaks: 'outcomes follow commands',
    file: 'engine/run/recorder.js',
    from: 'await log.append(\'outcomes\', batch, written);',
    to: 'await log.append(\'outcomes\', batch, written); if (await log.length(\'commands\') === written + batch.length) await log.append(\'outcomes\', batch);',
  },
  {
    name: 'an engine that starts leaves out the first outcome', breaks: 'one digest',
    file: 'engine/run/replica.js',
    from: 'if (step.position >= recorded) {', to: 'if (step.position > recorded) {',
  },
  {
    name: 'the engine reads the clock of its machine', breaks: 'two engines agree',
    file: 'engine/run/stepping.js',
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
    from: 'const changes = changesOf(session.progress, batch);',
    to: 'const all = changesOf(session.progress, batch); const changes = { ...all, matched: all.matched.slice(0, 1) };',
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
    name: 'an order is too late before it is looked up', breaks: 'a late order is never accepted',
    file: 'command/orders/place-order.js',
    from: 'const { chainId } = domain.domain;',
    to: 'const { chainId } = domain.domain; if (at > (terms?.notAfter ?? Infinity)) throw new RequestError(\'too_late\');',
  },
  {
    name: 'a cancel-all is answered and not written', breaks: 'a cancelled order is not filled',
    file: 'command/orders/cancel-all.js',
    from: 'if (!view.hasOrders(command))', to: 'if (true)',
  },
  {
    name: 'the engine leaves one order of a cancel-all open', breaks: 'two engines agree',
    file: 'engine/rules/decide-cancels.js',
    from: '...slots.slice(0, WORK_LIMIT).map(', to: '...slots.slice(1, WORK_LIMIT).map(',
  },
  {
    name: 'a switch that fires cancels nothing', breaks: 'two engines agree',
    file: 'engine/rules/evolve-traders.js',
    from: 'state.sweeps.push({ kind: \'trader\', reason: \'cancel_after\', trader, before, chainId });', to: '',
  },
  {
    name: 'a reduced order keeps a unit too much', breaks: 'two engines agree',
    file: 'engine/rules/decide-cancels.js',
    from: 'remaining: (size - filled).toString()', to: 'remaining: (size - filled + 1n).toString()',
  },
  {
    name: 'a FOK order is filled in part', breaks: 'two engines agree',
    file: 'engine/rules/decide.js',
    from: 'if (timeInForce === \'FOK\' && last?.type === \'OrderCancelled\'', to: 'if (timeInForce === \'FOK\' && events.length === 3 && last?.type === \'OrderCancelled\'',
  },
  {
    name: 'a post-only order matches', breaks: 'two engines agree',
    file: 'engine/rules/decide.js',
    from: 'return postOnly === true && events.some(', to: 'return postOnly === true && events.length > 4 && events.some(',
  },
  {
    name: 'the indexer names another transaction than the event\'s', breaks: 'facts are on the chain',
    file: 'command/indexer/facts.js',
    from: 'head(\'SettleFill\'), fill: fillNumber(event.args.seq), txHash,', to: 'head(\'SettleFill\'), fill: fillNumber(event.args.seq), txHash: `0x${\'ee\'.repeat(32)}`,',
  },
  {
    name: 'an outcome names a settled fill twice', breaks: 'nothing is settled twice',
    file: 'engine/run/stepping.js',
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
    file: 'command/quick/quick-jobs.js',
    from: 'startPrice: strike.price, startPublishedS: secondOf(strike.publishedAt), endPrice: end.price,',
    to: 'startPrice: end.price, startPublishedS: secondOf(strike.publishedAt), endPrice: strike.price,',
  },
  {
    name: 'the sender of quick markets asks again for what is under way', breaks: 'a quick market is in one request at a time',
    file: 'command/jobs/job-list.js',
    from: 'mayRequest(this.#requestsOf(job', to: '(this.options.name === \'quick\' ? () => true : mayRequest)(this.#requestsOf(job',
  },
  {
    name: 'the role prices shows its sender quick markets without their times', breaks: 'no report is of a fault in the program',
    file: 'command/prices/role.js',
    from: 'unresolved: () => view.quickMarkets(chainId)',
    to: 'unresolved: () => [...view.quickMarkets(chainId)].map((market) => ({ ...market, quick: undefined }))',
  },
  {
    name: 'the relay sender does not wait until a request is in the history', breaks: 'a relayed request is recorded before it is asked for',
    file: 'command/relayer/sender.js',
    from: 'const { position, taken } = await history.record(command);',
    to: 'const { position, taken } = { position: 0, taken: true }; history.record(command).catch(() => undefined);',
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
    name: 'the relay sender gives up what an earlier process has sent', breaks: 'a relayed request ends as the chain says',
    file: 'command/relayer/sender.js',
    from: 'if (!this.open.has(requestId))\n                await this.end', to: 'if (this.rounds.status().holds)\n                await this.end',
  },
  {
    name: 'the relay sender asks the lane for a request under two names', breaks: 'a relayed request is in one transaction at a time',
    file: 'command/relayer/sender.js',
    from: 'await requests.request({ id: laneIdOf({ requestId, position }), ...call, gasLimit, note });',
    to: 'for (const place of [position, -position]) await requests.request({ id: laneIdOf({ requestId, position: place }), ...call, gasLimit, note });',
  },
  {
    name: 'a request that is taken is refused for certain', breaks: 'a refused relay request is never recorded',
    file: 'command/relayer/relayer.js',
    from: 'on.lacks(undefined);', to: 'on.lacks(undefined); if (funds.block % 3 === 0) throw new RequestError(\'relay_would_revert\');',
  },
  {
    name: 'a repeat is answered with what ended last', breaks: 'a repeated relay request gets the same transaction',
    file: 'command/relayer/sender.js',
    from: 'return this.endings.get(requestId);', to: 'return [...this.endings.values()][0];',
  },
  {
    name: 'the keeper asks again for what is under way', breaks: 'the keeper settles an assertion once',
    file: 'command/jobs/job-list.js',
    from: 'mayRequest(this.#requestsOf(job', to: '(this.options.name === \'keeper\' ? () => true : mayRequest)(this.#requestsOf(job',
  },
  {
    name: 'the keeper looks at disputed proposals alone', breaks: 'everything comes to rest',
    file: 'command/keeper/keeper.js',
    from: 'dueAtS: disputed ? 0 : expirationTime + graceS', to: 'dueAtS: disputed ? 0 : Infinity',
  },
  {
    name: 'the indexer leaves out what a redemption has paid', breaks: 'positions equal the chain',
    file: 'command/indexer/facts.js',
    from: 'return isOurs ? {', to: 'return isOurs && payout === 0n ? {',
  },
  {
    name: 'the role api takes orders while its clock is in doubt', breaks: 'no request is taken while the clock is in doubt',
    file: 'command/orders/role.js',
    from: 'admit(what);', to: '',
  },
  {
    name: 'the role prices records while its clock is in doubt', breaks: 'no command is stamped while the clock is in doubt',
    file: 'command/prices/role.js',
    from: 'holds: () => sole.holds(), now, doubt: () => clock.doubt(),', to: 'holds: () => sole.holds(), now, doubt: () => undefined,',
  },
  {
    name: 'the role relayer takes requests while its clock is in doubt', breaks: 'no request is taken while the clock is in doubt',
    file: 'command/relayer/role.js',
    from: 'admit(\'order\');', to: '',
  },
  {
    name: 'the role lane records no settlement', breaks: 'announced before it is sent',
    file: 'command/submissions.js',
    from: 'settlement: submissionOf, ', to: '',
  },
  {
    name: 'the role lane records nothing of what the relayer sends', breaks: 'announced before it is sent',
    file: 'command/submissions.js',
    from: ', relay: relaySubmissionOf', to: '',
  },
  {
    name: 'the role settlement does not compare the orders with its settings', breaks: 'no fill is asked for with the settings of another exchange',
    file: 'command/settlement/role.js',
    from: 'checkOrder(domain, order);', to: ';',
  },
  {
    name: 'the role indexer begins anew at each look', breaks: 'no process ends by itself',
    file: 'command/indexer/role.js',
    from: 'cursor: () => view.cursor(chainId)', to: 'cursor: () => undefined',
  },
  {
    name: 'the role relayer lets relay sender and keeper be one user of the lane', breaks: 'everything comes to rest',
    file: 'command/relayer/role.js',
    from: 'purpose: \'keeper\'', to: 'purpose: \'relay\'',
  },
  {
    name: 'the role prices looks at no unresolved market', breaks: 'everything comes to rest',
    file: 'command/prices/role.js',
    from: 'unresolved: () => view.quickMarkets(chainId)', to: 'unresolved: () => []',
  },
  {
    name: 'the role api names its records as another process does', breaks: 'nothing is appended twice',
    file: 'command/orders/role.js',
    from: 'outcomeOf, writerId, answerWithinMs', to: 'outcomeOf, writerId: \'api\', answerWithinMs',
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
