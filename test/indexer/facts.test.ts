/** Facts from chain events, by a table of encoded events: every event, every number at its bounds, and what is left out on purpose. */
import assert from 'node:assert/strict';
import { AbiCoder, Interface, concat, hexlify, toBeHex, zeroPadValue, type InterfaceAbi } from 'ethers';
import fc from 'fast-check';
import type { RawChainEvent } from '../../command/chain/block-range.js';
import type { Chain } from '../../command/chain/chain.js';
import { eventFilter } from '../../command/indexer/chain-events.js';
import { decodeEventData } from '../../command/indexer/event-data.js';
import { factsOf, type FactsContext } from '../../command/indexer/facts.js';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { oracleResolver } from '../../contracts-abi/oracle-resolver.js';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { settlement } from '../../contracts-abi/settlement.js';
import { commandSchemas } from '../../engine/records/commands.js';
import { encodeCommand } from '../../engine/run/new-record.js';
import { newCommand } from '../support/commands.js';

const address = (digit: string) => `0x${digit.repeat(40)}`;
const word = (digit: string) => `0x${digit.repeat(64)}`;
const token = (id: bigint) => toBeHex(id, 32);

const contracts = {
  settlement: address('1'), conditionalTokens: address('2'), collateral: address('3'), marketFactory: address('4'), oracle: address('5'),
  oracleResolver: address('6'), quickResolver: address('7'), multicall: address('8'),
};
const chain: Chain = {
  chainId: 137, name: 'Test', testnet: true, confirmations: 3, startBlock: 0, contracts, domainName: 'Test', exposureCheck: false,
};
const abis: Readonly<Record<string, Interface>> = {
  settlement: new Interface(settlement.abi as InterfaceAbi), conditionalTokens: new Interface(conditionalTokens.abi as InterfaceAbi),
  marketFactory: new Interface(marketFactory.abi as InterfaceAbi), oracleResolver: new Interface(oracleResolver.abi as InterfaceAbi),
  quickResolver: new Interface(quickResolver.abi as InterfaceAbi),
};

const ALICE = address('a');
const BOB = address('b');
const ZERO = address('0');
const ZERO_WORD = word('0');
const KNOWN_MARKET = word('c');
const TX = word('d');
const UINT64_MAX = 2n ** 64n - 1n;
const UINT256_MAX = 2n ** 256n - 1n;
const AT = 1_800_000_000_000;
const context: FactsContext = {
  chain, at: AT, isKnownToken: (id) => id === token(10n) || id === token(11n), isKnownMarket: (id) => id === KNOWN_MARKET,
};

function eventOf(contract: keyof typeof contracts, event: string, args: readonly unknown[], place: Partial<RawChainEvent> = {}): RawChainEvent {
  const { topics, data } = abis[contract]!.encodeEventLog(event, args);
  return {
    address: contracts[contract], topics, data, block: 100, blockHash: word('e'), logIndex: 7, txHash: TX, removed: false, ...place,
  };
}

const head = { at: AT };
const fact = { chainId: 137, block: 100, logIndex: 7 };

/** The commands of the events; every one of them can be recorded, with its fields in the order in which they are read fastest. */
function commandsOf(...events: RawChainEvent[]): unknown[] {
  const { facts, anchors, alerts } = factsOf(events, context);
  assert.deepEqual({ anchors, alerts }, { anchors: [], alerts: [] });
  return facts.map(({ command }) => {
    encodeCommand(command);
    assert.deepEqual(Object.keys(command), Object.keys(commandSchemas[command.kind].properties).filter((name) => name in command));
    return command;
  });
}

const marketArgs = (changes: Readonly<Record<number, unknown>> = {}): unknown[] => Object.assign(
  [word('9'), ALICE, BOB, 1_900_000_000n, 0n, 2n, 20n, 21n, 5n, 'Will it?', 'It may.'], changes);
const market = newCommand('OpenMarket', {
  ...head, marketId: word('9'), contractAddress: ALICE, maker: BOB, chainId: 137, description: 'It may.', category: 'stablecoin',
  expiration: 1_900_000_000, tokens: { yes: token(20n), no: token(21n) }, fact,
});

describe('facts of a chain', () => {
  const table: readonly (readonly [string, RawChainEvent, unknown])[] = [
    ['a market', eventOf('marketFactory', 'MarketCreated', marketArgs()), market],
    ['a quick market of the last expiration there is', eventOf('marketFactory', 'MarketCreated', marketArgs({ 3: UINT64_MAX, 4: 1n, 5: 3n, 6: UINT256_MAX })),
      { ...market, marketKind: 'quick', category: 'general', expiration: Number.MAX_SAFE_INTEGER, tokens: { yes: token(UINT256_MAX), no: token(21n) } }],
    ['a market of an unknown category', eventOf('marketFactory', 'MarketCreated', marketArgs({ 5: 200n })), { ...market, category: 'general' }],
    ['a market with texts too long, counted in code points', eventOf('marketFactory', 'MarketCreated', marketArgs({ 9: '😀'.repeat(1_001), 10: 'x'.repeat(10_001) })),
      { ...market, question: '😀'.repeat(1_000), description: 'x'.repeat(10_000) }],
    ['a market without a question', eventOf('marketFactory', 'MarketCreated', marketArgs({ 9: '', 10: '' })),
      { ...market, question: '(no question)', description: '' }],
    ['a market with control characters', eventOf('marketFactory', 'MarketCreated', marketArgs({ 9: '\uFEFFa\u0000\n', 10: '\u202e' })),
      { ...market, question: '\uFEFFa\u0000\n', description: '\u202e' }],
    ['a transfer', eventOf('conditionalTokens', 'TransferSingle', [ALICE, ALICE, BOB, 10n, 5n]),
      newCommand('RecordTransfer', { ...head, chainId: 137, from: ALICE, to: BOB, txHash: TX, items: [{ token: token(10n), amount: '5' }], fact })],
    ['a split, all the settlement\'s doing', eventOf('conditionalTokens', 'TransferBatch', [contracts.settlement, ZERO, BOB, [10n, 11n], [UINT256_MAX, 2n ** 53n + 1n]]),
      newCommand('RecordTransfer', {
        ...head, chainId: 137, from: ZERO, to: BOB, txHash: TX,
        items: [{ token: token(10n), amount: String(UINT256_MAX) }, { token: token(11n), amount: '9007199254740993' }], fact,
      })],
    ['a burn by the settlement', eventOf('conditionalTokens', 'TransferSingle', [contracts.settlement, BOB, ZERO, 10n, 1n]),
      newCommand('RecordTransfer', { ...head, chainId: 137, from: BOB, to: ZERO, txHash: TX, items: [{ token: token(10n), amount: '1' }], fact })],
    ['a batch by token, without zeros and without what is not ours',
      eventOf('conditionalTokens', 'TransferBatch', [BOB, ALICE, BOB, [11n, 99n, 10n, 11n, 10n], [1n, 7n, 0n, 2n, 0n]]),
      newCommand('RecordTransfer', { ...head, chainId: 137, from: ALICE, to: BOB, txHash: TX, items: [{ token: token(11n), amount: '3' }], fact })],
    ['a market paid half to half', eventOf('conditionalTokens', 'ConditionResolution', [KNOWN_MARKET, ALICE, word('2'), 2n, [1n, 1n]]),
      newCommand('HalveMarket', { ...head, marketId: KNOWN_MARKET, fact })],
    ['a redemption', eventOf('conditionalTokens', 'PayoutRedemption', [ALICE, contracts.collateral, ZERO_WORD, KNOWN_MARKET, [1n, 2n], UINT256_MAX]),
      newCommand('RecordRedemption', { ...head, marketId: KNOWN_MARKET, user: ALICE, payout: String(UINT256_MAX), txHash: TX, fact })],
    ['a resolution to YES', eventOf('conditionalTokens', 'ConditionResolution', [KNOWN_MARKET, ALICE, word('2'), 2n, [1n, 0n]]),
      newCommand('ResolveMarket', { ...head, marketId: KNOWN_MARKET, winningOutcome: 0, fact })],
    ['a resolution to NO', eventOf('conditionalTokens', 'ConditionResolution', [KNOWN_MARKET, ALICE, word('2'), 2n, [0n, 1n]]),
      newCommand('ResolveMarket', { ...head, marketId: KNOWN_MARKET, winningOutcome: 1, fact })],
    ['a proposal of YES', eventOf('oracleResolver', 'ResolutionProposed', [KNOWN_MARKET, word('2'), ALICE, true, UINT256_MAX, 1_800_000_000n, UINT64_MAX]),
      newCommand('RecordProposal', {
        ...head, marketId: KNOWN_MARKET, assertionId: word('2'), proposer: ALICE, outcome: 0, bond: String(UINT256_MAX),
        assertionTime: 1_800_000_000, expirationTime: Number.MAX_SAFE_INTEGER, fact,
      })],
    ['a proposal of NO', eventOf('oracleResolver', 'ResolutionProposed', [KNOWN_MARKET, word('2'), ALICE, false, 0n, 0n, 1n]),
      newCommand('RecordProposal', {
        ...head, marketId: KNOWN_MARKET, assertionId: word('2'), proposer: ALICE, outcome: 1, bond: '0', assertionTime: 0,
        expirationTime: 1, fact,
      })],
    ['a dispute', eventOf('oracleResolver', 'ResolutionDisputed', [KNOWN_MARKET, word('2'), BOB]),
      newCommand('RecordDispute', { ...head, marketId: KNOWN_MARKET, assertionId: word('2'), disputer: BOB, fact })],
    ['a rejection', eventOf('oracleResolver', 'ResolutionRejected', [KNOWN_MARKET, word('2')]),
      newCommand('RecordRejection', { ...head, marketId: KNOWN_MARKET, assertionId: word('2'), fact })],
    ['an abandoned proposal', eventOf('oracleResolver', 'ResolutionAbandoned', [KNOWN_MARKET, word('2')]),
      newCommand('RecordRejection', { ...head, marketId: KNOWN_MARKET, assertionId: word('2'), fact })],
    ['a settled fill', eventOf('settlement', 'FillSettled', [2n ** 53n - 1n, word('2'), word('3'), 1n, UINT64_MAX, 1n]),
      newCommand('SettleFill', { ...head, fill: Number.MAX_SAFE_INTEGER, txHash: TX, fact })],
    ['an order cancelled', eventOf('settlement', 'OrderCancelled', [word('2'), ALICE, KNOWN_MARKET, 1n]),
      newCommand('CancelOrder', { ...head, orderHash: word('2'), marketId: KNOWN_MARKET, trader: ALICE, fact })],
    ['all orders cancelled', eventOf('settlement', 'CancelScheduled', [ALICE, UINT64_MAX, 1n]),
      newCommand('CancelOrdersBelow', { ...head, chainId: 137, trader: ALICE, belowNonce: String(UINT64_MAX), fact })],
  ];
  for (const [what, raw, command] of table) {
    it(`are told by ${what}`, () => { assert.deepEqual(commandsOf(raw), [command]); });
  }

  const reasons = [
    'buyer_insufficient_balance', 'buyer_insufficient_allowance', 'seller_insufficient_shares', 'seller_not_approved', 'order_expired',
    'order_cancelled', 'overfill', 'market_resolved', 'invalid_signature', 'transfer_rejected', 'transaction_reverted', 'unknown', 'unknown',
  ] as const;
  it('are told by every way that a fill fails, also by ones of a later contract', () => {
    const failed = (reason: number, culprit: number) => eventOf('settlement', 'FillFailed', [3n, word('2'), word('3'), reason, culprit]);
    assert.deepEqual(commandsOf(...reasons.map((_, i) => failed(i, i))), reasons.map((reason, i) => newCommand('FailFill', {
      ...head, fill: 3, txHash: TX, reason, culprit: (['buyer', 'seller'] as const)[i] ?? 'both', fact,
    })));
  });

  const silent: readonly (readonly [string, RawChainEvent])[] = [
    ['what the settlement moves, which FillSettled tells', eventOf('conditionalTokens', 'TransferSingle', [contracts.settlement, ALICE, BOB, 10n, 5n])],
    ['shares of no market of ours', eventOf('conditionalTokens', 'TransferBatch', [ALICE, ZERO, ALICE, [98n, 99n], [5n, 5n]])],
    ['nothing moved', eventOf('conditionalTokens', 'TransferBatch', [ALICE, ALICE, BOB, [10n, 11n], [0n, 0n]])],
    ['an empty batch', eventOf('conditionalTokens', 'TransferBatch', [ALICE, ALICE, BOB, [], []])],
    ['a transfer to oneself, whose sum no balance bounds',
      eventOf('conditionalTokens', 'TransferBatch', [ALICE, ALICE, ALICE, [10n, 10n], [UINT256_MAX, UINT256_MAX]])],
    ['a redemption in a token of somebody\'s own', eventOf('conditionalTokens', 'PayoutRedemption', [ALICE, BOB, ZERO_WORD, KNOWN_MARKET, [1n], 5n])],
    ['a redemption of a nested position', eventOf('conditionalTokens', 'PayoutRedemption', [ALICE, contracts.collateral, word('1'), KNOWN_MARKET, [1n], 5n])],
    ['a redemption of no market of ours', eventOf('conditionalTokens', 'PayoutRedemption', [ALICE, contracts.collateral, ZERO_WORD, word('1'), [1n], 5n])],
    ['the resolution of no market of ours, whatever it pays', eventOf('conditionalTokens', 'ConditionResolution', [word('1'), ALICE, word('2'), 3n, [1n, 1n, 1n]])],
    ['an event that does not matter', eventOf('conditionalTokens', 'ApprovalForAll', [ALICE, BOB, true])],
    ['a topic that nobody knows', { ...eventOf('settlement', 'OrderCancelled', [word('2'), ALICE, KNOWN_MARKET, 1n]), topics: [word('f')] }],
    ['an event without topics', { ...eventOf('settlement', 'OrderCancelled', [word('2'), ALICE, KNOWN_MARKET, 1n]), topics: [] }],
    ['our event at another contract', eventOf('settlement', 'OrderCancelled', [word('2'), ALICE, KNOWN_MARKET, 1n], { address: address('9') })],
    ['one contract\'s event at another of ours', eventOf('settlement', 'OrderCancelled', [word('2'), ALICE, KNOWN_MARKET, 1n], { address: contracts.marketFactory })],
    ['an event that was removed', eventOf('settlement', 'CancelScheduled', [ALICE, 5n, 1n], { removed: true })],
  ];
  for (const [what, raw] of silent) {
    it(`are none: ${what}`, () => { assert.deepEqual(factsOf([raw], context), { facts: [], anchors: [], resolutions: [], alerts: [] }); });
  }

  const fill = eventOf('settlement', 'FillSettled', [3n, word('2'), word('3'), 1n, 2n, 1n]);
  const transfer = eventOf('conditionalTokens', 'TransferSingle', [ALICE, ALICE, BOB, 10n, 5n]);
  const batch = abis['conditionalTokens']!.getEvent('TransferBatch')!;
  const alerting: readonly (readonly [string, RawChainEvent, RegExp])[] = [
    ['a fill number that cannot be', eventOf('settlement', 'FillSettled', [2n ** 53n, word('2'), word('3'), 1n, 1n, 1n]), /fill 9007199254740992 was settled/],
    ['a market resolved by thirds', eventOf('conditionalTokens', 'ConditionResolution', [KNOWN_MARKET, ALICE, word('2'), 2n, [1n, 2n]]), /payouts \[1, 2\]/],
    ['a market of an unknown kind', eventOf('marketFactory', 'MarketCreated', marketArgs({ 4: 2n })), /a market of kind 2/],
    ['too few topics', { ...fill, topics: fill.topics.slice(0, 3) }, /FillSettled cannot be decoded \(3 topics where 4 belong\)/],
    ['too many topics', { ...fill, topics: [...fill.topics, word('1')] }, /5 topics where 4 belong/],
    ['data cut short', { ...fill, data: fill.data.slice(0, -2) }, /FillSettled cannot be decoded/],
    ['a price of more than 64 bits', { ...eventOf('quickResolver', 'QuickMarketResolved', [KNOWN_MARKET, 1n, 1n, 1n, 1n, 0n]),
      data: concat([toBeHex(2n ** 63n, 32), ...Array.from({ length: 4 }, () => toBeHex(1, 32))]) },
    /QuickMarketResolved cannot be decoded \(a number has more than 64 bits\)/],
    ['no data', { ...fill, data: '0x' }, /FillSettled cannot be decoded/],
    ['an address of 32 bytes', { ...transfer, topics: transfer.topics.with(2, word('f')) }, /TransferSingle cannot be decoded/],
    ['an array longer than the data', { ...eventOf('conditionalTokens', 'TransferBatch', [ALICE, ALICE, BOB, [], []]),
      data: concat([toBeHex(64, 32), toBeHex(96, 32), word('f'), toBeHex(0, 32)]) }, /TransferBatch cannot be decoded/],
    ['tokens without amounts', { ...eventOf('conditionalTokens', 'TransferBatch', [ALICE, ALICE, BOB, [], []]),
      data: AbiCoder.defaultAbiCoder().encode(['uint256[]', 'uint256[]'], [[10n, 11n], [1n]]) }, /a transfer of 2 tokens and 1 amounts/],
  ];
  for (const [what, raw, pattern] of alerting) {
    it(`alert, and go on behind, for ${what}`, () => {
      const { facts, alerts } = factsOf([raw, eventOf('settlement', 'CancelScheduled', [ALICE, 5n, 1n])], context);
      assert.deepEqual(facts.map(({ command }) => command.kind), ['CancelOrdersBelow']);
      assert.equal(alerts.length, 1);
      assert.match(alerts[0]!, pattern);
      assert.ok(alerts[0]!.startsWith(`chain 137, block 100, event 7, transaction ${TX}: `) && alerts[0]!.endsWith('is the contract that the chain\'s settings name'));
    });
  }

  it('know what a quick market is about from the event behind its own, of the same market', () => {
    const created = (logIndex: number) => eventOf('marketFactory', 'MarketCreated', marketArgs({ 4: 1n, 5: 3n }), { logIndex });
    const terms = (asset: string, marketId = word('9')) => eventOf('marketFactory', 'QuickMarketCreated', [marketId, asset, 1_000n, 1_900n], { logIndex: 4 });
    const quick = { ...market, marketKind: 'quick', category: 'general', fact: { ...fact, logIndex: 3 } };
    assert.deepEqual(commandsOf(created(3), terms('BTC')), [{ ...quick, quick: { asset: 'BTC', startTime: 1_000 } }]);
    assert.deepEqual(commandsOf(created(3), terms('BTC', KNOWN_MARKET)), [quick], 'another market\'s');
    assert.deepEqual(commandsOf(created(3), { ...terms('BTC'), address: BOB }), [quick], 'another contract\'s');
    assert.deepEqual(commandsOf(created(3), { ...terms('BTC'), removed: true }), [quick]);
    const { facts, alerts } = factsOf([created(3), terms('bitcoin')], context);
    assert.deepEqual([facts, alerts.length], [[], 1]);
    assert.match(alerts[0]!, /not of 1 to 16 capital letters and digits: "bitcoin"/);
  });

  it('alert for more tokens at once than a command has room for', () => {
    const ids = Array.from({ length: 257 }, (_, i) => BigInt(1_000 + i));
    const raw = { ...transfer, ...batchOf(ids), topics: [batch.topicHash, ...transfer.topics.slice(1)] };
    const { facts, alerts } = factsOf([raw], { ...context, isKnownToken: () => true });
    assert.deepEqual([facts.length, alerts.length], [0, 1]);
    assert.equal(factsOf([raw], context).alerts.length, 0, 'tokens of others do not count');
  });

  it('are read also from texts that are not UTF-8', () => {
    const types = abis['marketFactory']!.getEvent('MarketCreated')!.inputs.filter(({ indexed }) => indexed !== true).map(({ type }) => type);
    const data = AbiCoder.defaultAbiCoder().encode(
      types.map((type) => type === 'string' ? 'bytes' : type), [...marketArgs().slice(3, 9), '0xff41c3', `0x${'80'.repeat(10_000)}`]);
    const raw = { ...eventOf('marketFactory', 'MarketCreated', marketArgs()), data };
    assert.deepEqual(commandsOf(raw), [{ ...market, question: '\uFFFDA\uFFFD', description: '\uFFFD'.repeat(10_000) }]);
  });

  it('know a market from its own event on, not before', () => {
    const split = (logIndex: number) => eventOf('conditionalTokens', 'TransferBatch', [ALICE, ZERO, ALICE, [20n, 21n], [5n, 5n]], { logIndex });
    const resolved = (logIndex: number) => eventOf('conditionalTokens', 'ConditionResolution', [word('9'), ALICE, word('2'), 2n, [1n, 0n]], { logIndex });
    const events = [split(1), resolved(2), eventOf('marketFactory', 'MarketCreated', marketArgs(), { logIndex: 3 }), split(4), resolved(5)];
    const { facts } = factsOf(events, context);
    assert.deepEqual(facts.map(({ command: { kind, fact: { logIndex } } }) => [kind, logIndex]), [['OpenMarket', 3], ['RecordTransfer', 4], ['ResolveMarket', 5]]);
  });

  it('give anchors to be checked, of any position', () => {
    const { facts, anchors } = factsOf([eventOf('settlement', 'HistoryAnchored', [UINT64_MAX, word('5')])], context);
    assert.deepEqual({ facts, anchors }, { facts: [], anchors: [{ position: UINT64_MAX, digest: word('5'), txHash: TX, block: 100, blockHash: word('e'), logIndex: 7 }] });
  });

  it('give the prices of quick markets\' resolutions to be compared, however large', () => {
    const raw = eventOf('quickResolver', 'QuickMarketResolved', [KNOWN_MARKET, -(2n ** 63n), UINT64_MAX, 2n ** 63n - 1n, 0n, 255n]);
    const terms = {
      startPrice: '-9223372036854775808', startPublishTime: '18446744073709551615', endPrice: '9223372036854775807', endPublishTime: '0', winningOutcome: 255,
    };
    const resolutions = [{ marketId: KNOWN_MARKET, terms, txHash: TX, block: 100, logIndex: 7 }];
    assert.deepEqual(factsOf([raw], context), { facts: [], anchors: [], resolutions, alerts: [] });
  });

  it('tell a fill\'s terms, and the shares that it moved in the event before', () => {
    const shares = (place: Partial<RawChainEvent>) => (
      eventOf('conditionalTokens', 'TransferSingle', [contracts.settlement, ALICE, BOB, 10n, 5n], { logIndex: 6, ...place }));
    const settled = eventOf('settlement', 'FillSettled', [3n, word('2'), word('3'), 4n, UINT64_MAX, UINT256_MAX]);
    const told = (...events: RawChainEvent[]) => factsOf(events, context).facts.map(({ command: { kind }, fill: is }) => [kind, is]);
    const terms = { buyOrder: word('2'), sellOrder: word('3'), price: '4', size: String(UINT64_MAX), cost: String(UINT256_MAX) };
    const moved = newCommand('RecordTransfer', {
      ...head, chainId: 137, from: ALICE, to: BOB, txHash: TX, items: [{ token: token(10n), amount: '5' }], fact: { ...fact, logIndex: 6 },
    });
    assert.deepEqual(told(shares({}), settled), [['SettleFill', { terms, moved }]]);
    for (const place of [{ logIndex: 5 }, { txHash: word('5') }, { block: 99 }]) {
      assert.deepEqual(told(shares(place), settled), [['SettleFill', { terms, moved: undefined }]], 'of another fill');
    }
    const failed = eventOf('settlement', 'FillFailed', [3n, word('2'), word('3'), 0n, 0n]);
    assert.deepEqual(told(shares({}), failed), [['FailFill', { terms: { buyOrder: word('2'), sellOrder: word('3') }, moved: undefined }]]);
  });

  it('carry their block\'s hash', () => {
    const [found] = factsOf([eventOf('settlement', 'CancelScheduled', [ALICE, 5n, 1n], { blockHash: word('4') })], context).facts;
    assert.equal(found!.blockHash, word('4'));
  });

  it('are decoded as ethers decodes them', () => {
    const uint = (bits: number) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n });
    const hex = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map((value) => hexlify(value));
    const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    const values = { 'address': hex(20), 'int64': int64, 'bytes32': hex(32), 'bool': fc.boolean(), 'uint8': uint(8), 'uint64': uint(64), 'uint256': uint(256),
      'uint256[]': fc.array(uint(256), { maxLength: 5 }), 'string': fc.string({ unit: 'binary', maxLength: 80 }) };
    const typed = fc.constantFrom(...Object.keys(values) as (keyof typeof values)[])
      .chain((type) => fc.tuple(fc.constant(type), values[type] as fc.Arbitrary<unknown>));
    fc.assert(fc.property(fc.array(typed, { maxLength: 8 }), (pairs) => {
      const types = pairs.map(([type]) => type);
      const data = AbiCoder.defaultAbiCoder().encode(types, pairs.map(([, value]) => value));
      assert.deepEqual(decodeEventData(types, data), pairs.map(([, value]) => value));
    }), { numRuns: 300 });
  });

  it('never throw, whatever topics and data the known contracts\' events have', () => {
    const filter = eventFilter(contracts);
    const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map((value) => hexlify(value));
    const raw = fc.record({
      address: fc.constantFrom(...filter.address), first: fc.constantFrom(...filter.topics[0]!), more: fc.array(bytes(32), { maxLength: 3 }),
      indexes: fc.array(fc.bigInt({ min: 0n, max: 300n }).map((value) => zeroPadValue(toBeHex(value, 2), 32)), { maxLength: 20 }), tail: bytes(5),
    });
    fc.assert(fc.property(fc.array(raw, { maxLength: 5 }), (events) => {
      const { facts, alerts, resolutions } = factsOf(events.map(({ address: at, first, more, indexes, tail }) => ({
        ...fill, address: at, topics: [first, ...more], data: concat([...indexes, tail]),
      })), { ...context, isKnownToken: () => true, isKnownMarket: () => true });
      for (const { command } of facts) encodeCommand(command);
      return facts.length + alerts.length + resolutions.length <= events.length;
    }), { numRuns: 500 });
  });
});

function batchOf(ids: readonly bigint[]): { data: string } {
  return { data: AbiCoder.defaultAbiCoder().encode(['uint256[]', 'uint256[]'], [ids, ids]) };
}
