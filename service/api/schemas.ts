/** The shapes of answers and requests, each field with its meaning. */
import Type, { type TObjectOptions, type TProperties } from 'typebox';
import { FailureReason } from '../../engine/records/fields.js';

/** Answers may gain fields within a version, so their schemas name the fields without closing the object. */
const answer = <T extends TProperties>(properties: T, options: TObjectOptions = {}) => Type.Object(properties, options);

const integer = (description: string, minimum = 0) => Type.Integer({ minimum, description });

export const Address = Type.String({ pattern: '^0x[0-9a-f]{40}$', description: 'An on-chain address, lower case.' });
export const Bytes32 = Type.String({ pattern: '^0x[0-9a-f]{64}$', description: '32 bytes as hex, lower case.' });
const Side = Type.Integer({ minimum: 0, maximum: 1, description: '0 = BUY, 1 = SELL.' });
const Outcome = Type.Integer({ minimum: 0, maximum: 1, description: '0 = YES, 1 = NO.' });
const Price = Type.Integer({ minimum: 1, maximum: 999_999, description: 'Price of one share in collateral, 6 decimals: 1000000 = 1.00.' });
const PriceOrNone = Type.Integer({ minimum: 0, maximum: 999_999, description: 'As a price; 0 = there is none.' });
const amount = (what: string) => integer(`${what}, 6 decimals. An exact integer, which may be beyond 2^53.`);
const Seconds = integer('Unix seconds.');
const Question = Type.String({ description: 'The market\'s question.' });
const Count = integer('Number of entries.');
const LogPosition = integer('Position in the log.');
const TxHash = Type.String({ pattern: '^(0x[0-9a-f]{64})?$', description: 'The settlement transaction\'s hash; empty until it is sent.' });
const SettlementStatus = Type.Union(['matched', 'pending', 'confirmed', 'failed'].map((each) => Type.Literal(each)), {
  description: 'How far the trade\'s settlement on chain is.',
});
const OrderStatus = Type.Union(['open', 'filled', 'cancelled'].map((each) => Type.Literal(each)), { description: 'What has become of the order.' });
const Next = Type.Optional(integer('Only on a full page: send it as `before` for the next one.'));

/** uint64 in a request: a JSON integer, exact at any size, or a decimal string. */
const RequestUint64 = (description: string) => Type.Union([
  Type.Integer({ minimum: 0 }), Type.String({ pattern: '^(0|[1-9][0-9]{0,19})$' }),
], { description: `${description} uint64 as a JSON integer or as a decimal string.` });
const HexBytes = (bytes: number, description: string) => Type.String({ pattern: `^0x[0-9a-fA-F]{${bytes * 2}}$`, description });

const PermitSignature = Type.Object({
  nonce: RequestUint64('The owner\'s permit nonce at the stablecoin.'),
  value: Type.String({ pattern: '^(0|[1-9][0-9]{0,77})$', description: 'Amount to approve, uint256.' }),
  deadline: RequestUint64('Unix seconds until which the permit is good.'),
  v: Type.Integer({ description: 'Recovery id: 0, 1, 27 or 28.' }),
  r: HexBytes(32, 'Signature component.'),
  s: HexBytes(32, 'Signature component.'),
}, { description: 'ERC-2612 permit, for buying without an approval made before.' });

export const PlaceOrderBody = Type.Object({
  order: Type.Object({
    marketId: HexBytes(32, 'Market to trade in.'),
    trader: HexBytes(20, 'Signer and owner of the order.'),
    side: Side,
    outcome: Outcome,
    price: Price,
    size: RequestUint64('Shares, 6 decimals, greater than 0.'),
    nonce: RequestUint64('Unique among the trader\'s live orders.'),
    expiration: RequestUint64('Unix seconds, at least 60 ahead of the server.'),
    makerFeeRecipient: HexBytes(20, 'The zero address.'),
  }, { description: 'The order, field for field as signed.' }),
  signature: HexBytes(65, 'EIP-712 signature of the order over the chain\'s orderDomain: r, s, v.'),
  permitSignature: Type.Optional(PermitSignature),
});

export const PlaceOrderAnswer = answer({
  orderHash: Bytes32,
  status: Type.Literal('accepted'),
  matches: integer('Trades that the order made at once.'),
  timestamp: Seconds,
});

export const CancelAnswer = answer({
  status: Type.Literal('cancelled'),
  orderHash: Bytes32,
  filledSize: amount('What had been filled'),
  remainingSize: amount('What was left and is cancelled'),
});

const openOrder = {
  orderHash: Bytes32, marketId: Bytes32, side: Side, price: Price, size: amount('Original size'), remainingSize: amount('Unfilled part'), timestamp: Seconds,
};

export const OrdersAnswer = answer({ orders: Type.Array(answer(openOrder)), count: Count, next: Next });

export const UserOrdersAnswer = answer({
  orders: Type.Array(answer({ ...openOrder, marketQuestion: Question, outcome: Outcome })), next: Next,
});

const HistoryEntry = answer({
  position: LogPosition,
  type: Type.Union(['accepted', 'fill', 'fill_failed', 'filled', 'cancelled'].map((each) => Type.Literal(each))),
  size: amount('Shares that this entry is about'),
  timestamp: Type.Union([Seconds, Type.Null()], { description: 'Unix seconds; null where the read model does not keep it.' }),
  fill: Type.Optional(integer('Number of the fill.')),
  role: Type.Optional(Type.Union([Type.Literal('maker'), Type.Literal('taker')])),
  price: Type.Optional(Price),
  settlementStatus: Type.Optional(SettlementStatus),
  txHash: Type.Optional(TxHash),
  reason: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'Why it was cancelled or failed.' })),
});

export const OrderAnswer = answer({
  ...openOrder, trader: Address, outcome: Outcome, filledSize: amount('Filled part'),
  nonce: integer('uint64.'), expiration: integer('Unix seconds, uint64.'), status: OrderStatus,
  cancelReason: Type.Union([Type.String(), Type.Null()], { description: 'Why it was cancelled; null otherwise.' }),
  history: Type.Array(HistoryEntry, { description: 'What became of it, oldest first; at most the latest 1,000 fills.' }),
});

const shares = { yesShares: integer('YES shares, 6 decimals.', Number.MIN_SAFE_INTEGER), noShares: integer('NO shares, 6 decimals.', Number.MIN_SAFE_INTEGER) };
const invested = integer('Stablecoin invested, 6 decimals.', Number.MIN_SAFE_INTEGER);

export const PositionAnswer = answer({
  ...shares,
  totalInvested: Type.Optional(invested),
  yesCost: Type.Optional(integer('Average-cost basis of the YES shares.', Number.MIN_SAFE_INTEGER)),
  noCost: Type.Optional(integer('Average-cost basis of the NO shares.', Number.MIN_SAFE_INTEGER)),
}, { description: 'Without a position: yesShares and noShares, both 0, and nothing else.' });

export const UserPositionsAnswer = answer({
  positions: Type.Array(answer({
    marketId: Bytes32, marketQuestion: Question, contractAddress: Address, expiration: Seconds, resolved: Type.Boolean(),
    ...shares, totalInvested: invested,
  })),
});

export const UserActivityAnswer = answer({
  activity: Type.Array(answer({
    marketId: Bytes32, marketQuestion: Question, price: Price, size: amount('Shares'),
    userRole: Type.Union([Type.Literal('buyer'), Type.Literal('seller')]),
    timestamp: Seconds, txHash: TxHash, settlementStatus: SettlementStatus,
  })),
  settlements: Type.Array(answer({
    marketId: Bytes32, marketQuestion: Question, payout: amount('Stablecoin paid out'),
    winningOutcome: Type.Union([Outcome, Type.Null()], { description: '0 = YES, 1 = NO; null where the chain has paid without telling the winner.' }),
    timestamp: Seconds, txHash: Bytes32,
  })),
});

const IsoTime = (what: string) => Type.String({ pattern: '^\\d{4,6}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$', description: `${what}, ISO 8601 in UTC.` });
const BatchIndex = integer('Place in the transaction\'s batch, from 0.');
const IsBatch = Type.Boolean({ description: 'Whether the transaction settles several trades.' });
const Reason = Type.Union([...FailureReason.anyOf, Type.Null()], { description: 'Why the chain refused it; null where it has not.' });
const ReplacedBy = Type.Union([Bytes32, Type.Null()], { description: 'The transaction that the fill is in now, where that is another one.' });
const parties = {
  marketId: Bytes32, buyerAddress: Address, sellerAddress: Address, fillSize: amount('Shares'), fillPrice: Price,
  fill: integer('Number of the fill.'), outcome: Outcome,
};

export const PendingTradesAnswer = answer({
  pendingTrades: Type.Array(answer({
    ...parties, txHash: TxHash, timestamp: IsoTime('When it matched'), isBatch: IsBatch, batchIndex: BatchIndex, settlementStatus: SettlementStatus,
  })),
  count: Count, next: Type.Optional(integer('Only on a full page: send it as `after` for the next one.')),
});

export const FailedTradesAnswer = answer({
  failedTrades: Type.Array(answer({
    ...parties, txHash: Bytes32, reason: FailureReason, timestamp: IsoTime('When it failed'), batchIndex: BatchIndex,
  })),
  count: Count, next: Next,
});

const settlement = {
  ...parties, timestamp: IsoTime('When it was confirmed, failed or sent'), batchIndex: BatchIndex, reason: Reason, replacedBy: ReplacedBy,
  status: Type.Union(['pending', 'confirmed', 'failed'].map((each) => Type.Literal(each)), { description: 'What has become of the fill.' }),
};

export const SettlementAnswer = Type.Union([
  answer({
    found: Type.Literal(true), txHash: Bytes32, ...settlement, isBatch: IsBatch,
    fills: Type.Array(answer(settlement), { description: 'Every fill of the transaction, in its order; the first is also at top level.' }),
  }, { description: 'Of a settlement transaction.' }),
  answer({ found: Type.Literal(false) }, { description: 'Of any other hash.' }),
]);

export const SyncBody = Type.Object({ userAddress: Type.Optional(HexBytes(20, 'Owner of the position; may be a query parameter instead.')) });

export const SyncAnswer = answer({
  success: Type.Boolean(), position: answer({ ...shares, totalInvested: invested }), message: Type.String({ description: 'What was done.' }),
});

export const ResolutionAnswer = answer({
  marketId: Bytes32,
  expired: Type.Boolean({ description: 'Whether its expiration has passed.' }),
  resolved: Type.Boolean({ description: 'Whether it has been settled.' }),
  winningOutcome: Type.Optional(Outcome),
  assertion: Type.Optional(answer({
    id: Bytes32, proposer: Address, proposedOutcome: Type.Boolean({ description: 'True = YES.' }),
    bondAmount: Type.String({ pattern: '^(0|[1-9][0-9]*)$', description: 'Bond in the stablecoin, 6 decimals.' }),
    assertionTime: Seconds, expirationTime: integer('End of the dispute window, Unix seconds.'),
    settled: Type.Boolean({ description: 'Whether the oracle has decided.' }),
    settlementResolution: Type.Boolean({ description: 'Whether the assertion held; false until it is settled.' }),
    disputed: Type.Boolean(),
  })),
});

export const MarketsAnswer = answer({
  markets: Type.Array(answer({
    id: Bytes32, question: Question, description: Type.String(),
    category: Type.Union(['defi', 'protocol', 'stablecoin', 'general'].map((each) => Type.Literal(each))),
    contractAddress: Address, maker: Address, expiration: Seconds, chainId: integer('Chain that it settles on.', 1), resolved: Type.Boolean(),
    bestAskPrice: PriceOrNone, createdAt: Seconds,
  })),
  count: Count,
});

export const StatsAnswer = answer({
  marketId: Bytes32, contractAddress: Address, volume24h: amount('Stablecoin traded in the last 24 hours'),
  totalVolume: amount('Stablecoin traded ever'), lastPrice: PriceOrNone,
});

export const HoldersAnswer = answer({
  marketId: Bytes32,
  topHolders: Type.Array(answer({ userAddress: Address, ...shares }), { maxItems: 10, description: 'By size of their position.' }),
  totalHolders: integer('Unique holders.'),
});

const trade = { price: Price, size: amount('Shares'), buyer: Address, seller: Address, timestamp: Seconds, txHash: TxHash, settlementStatus: SettlementStatus };

export const ActivityAnswer = answer({ marketId: Bytes32, activity: Type.Array(answer(trade), { maxItems: 50 }) });

export const TradesAnswer = answer({
  marketId: Bytes32, trades: Type.Array(answer({ ...trade, outcome: Outcome }), { maxItems: 100 }), count: Count,
});

const chainTotals = { chainId: integer('Chain.', 1), totalVolume: amount('Stablecoin traded ever'), totalTrades: integer('Trades ever.') };

export const PlatformStatsAnswer = Type.Union([
  answer({
    chains: Type.Array(answer(chainTotals)), total_volume: amount('Stablecoin traded ever, on all chains'), total_trades: integer('Trades ever, on all chains.'),
  }, { description: 'Without chain_id.' }),
  answer(chainTotals, { description: 'With chain_id.' }),
]);

const levels = (description: string) => Type.Array(answer({ price: Price, size: amount('All shares at this price') }), { description });
const sides = { bids: levels('Highest price first.'), asks: levels('Lowest price first.') };

export const OrderbookAnswer = answer({
  marketId: Bytes32, ...sides, lastUpdate: integer('Unix seconds; 0 = there was never an order.'),
  yes: Type.Optional(answer(sides, { description: 'Only without `outcome`: the YES book.' })),
  no: Type.Optional(answer(sides, { description: 'Only without `outcome`: the NO book.' })),
});

export const EventsAnswer = answer({
  events: Type.Array(answer({
    position: LogPosition,
    id: Type.String({ description: 'The command\'s UUID.' }),
    command: Type.Object({}, { description: 'The command as recorded.' }),
    outcome: Type.Object({
      at: integer('Engine time in milliseconds.'), events: Type.Array(Type.Object({}), { description: 'All that it caused, in order.' }),
    }, { description: 'The outcome as recorded.' }),
    digest: Type.String({ pattern: '^0x[0-9a-f]{64}$', description: 'SHA-256 chain over the whole history up to here.' }),
  })),
  count: Count,
  next: integer('Position to send as `from` for what follows.'),
});

const contract = (what: string) => Type.Union([Address, Type.Null()], { description: `${what}; null while it is not deployed.` });
const typedData = Type.Array(Type.Object({ name: Type.String(), type: Type.String() }));

export const ConfigAnswer = answer({
  serverTime: Seconds,
  chains: Type.Array(answer({
    chainId: integer('Chain.', 1), name: Type.String(), testnet: Type.Boolean(),
    rpcUrl: Type.Union([Type.String(), Type.Null()], { description: 'Null while the service has no chain.' }),
    contracts: answer({
      settlement: contract('Settlement'), conditionalTokens: contract('Conditional tokens'), collateral: contract('Stablecoin'),
      marketFactory: contract('Market factory'), oracle: contract('Optimistic oracle'), oracleResolver: contract('Oracle resolver'),
      quickResolver: contract('Quick resolver'), multicall: contract('Multicall'),
    }),
    collateral: Type.Union([Type.Object({
      name: Type.String({ description: 'Of the permit\'s EIP-712 domain.' }), version: Type.String({ description: 'Of the permit\'s EIP-712 domain.' }),
      symbol: Type.String(), decimals: integer('Its decimals.'), address: Address,
    }), Type.Null()], { description: 'The stablecoin, as a wallet needs it to sign permits; null while the service has no chain.' }),
    confirmations: integer('How many blocks deep a fact of the chain is final.'),
    exposureCheck: Type.Boolean({ description: 'Whether an order is compared with its trader\'s balance and allowance before it is taken.' }),
    orderDomain: answer({ name: Type.String(), version: Type.Literal('1'), chainId: integer('Chain.', 1), verifyingContract: Address },
      { description: 'EIP-712 domain of orders and cancels.' }),
  })),
  orderTypes: answer({ Order: typedData, CancelOrder: typedData }, { description: 'EIP-712 types of orders and cancels.' }),
  cancelAuth: Type.Union([Type.Literal('required'), Type.Literal('open')], { description: 'Whether a cancel needs the trader\'s signature.' }),
  limits: Type.Record(Type.String(), Type.Number(), { description: 'Every limit by name, its unit last.' }),
});

export const ReadinessAnswer = answer({
  ready: Type.Boolean(),
  reasons: Type.Array(Type.String(), { description: 'Why it is not ready; empty when it is.' }),
  engine: answer({
    position: integer('Commands that the engine has decided.'), logLength: integer('Commands in the log.'),
    standby: Type.Boolean({ description: 'Another engine is at work; this one waits.' }),
  }),
  projections: Type.Array(answer({ name: Type.String(), position: integer('Outcomes folded.'), lag: integer('Outcomes still to fold.') })),
  chains: Type.Array(answer({
    chainId: integer('The chain.'), finalBlock: Type.Union([integer('Its last final block.'), Type.Null()]),
    lagBlocks: integer('Final blocks that the history does not have yet.'),
    reachable: Type.Boolean({ description: 'Whether the last look at the chain succeeded. Orders are taken without it, and fills wait.' }),
    failures: integer('Looks that failed in a row.'),
    lastError: Type.Union([Type.String(), Type.Null()], { description: 'Why the last look failed.' }),
    sinceLookS: integer('Seconds since a look succeeded, or since the start.'),
    stalled: Type.Boolean({ description: 'It has had no new block for too long.' }),
    waitingFills: integer('Fills that wait to be sent, counted up to 10,000.'),
    sentFills: integer('Fills in transactions that are not over.'),
    oldestWaitingS: Type.Union([integer('Seconds that the first of the waiting fills has waited.'), Type.Null()]),
    settlementTrouble: Type.Union([Type.String(), Type.Null()], { description: 'What keeps settlement from going on.' }),
    stopped: Type.Union([Type.String(), Type.Null()], { description: 'Why nothing of this chain is recorded any more.' }),
  })),
});

export const LivenessAnswer = answer({ live: Type.Literal(true) });

/** RFC 9457 problem document: every error of every endpoint. */
export const ProblemAnswer = answer({
  type: Type.String({ description: 'Where this error is described.' }),
  title: Type.String({ description: 'What the error is, always the same text.' }),
  status: Type.Integer({ description: 'The HTTP status.' }),
  detail: Type.Optional(Type.String({ description: 'What this request got wrong.' })),
  instance: Type.Optional(Type.String({ description: 'This occurrence\'s id in the service\'s log.' })),
  error: Type.String({ description: 'Title and detail as one text.' }),
  code: Type.String({ description: 'The error\'s name; it does not change.' }),
  errors: Type.Optional(Type.Array(answer({ field: Type.String(), message: Type.String() }), { description: 'Each field\'s fault.' })),
  required: Type.Optional(amount('`insufficient_…`: what the order needs, in stablecoin or shares')),
  available: Type.Optional(amount('`insufficient_…`: what the trader has, or has approved, in all')),
  reserved: Type.Optional(amount('`insufficient_…`: what of it the trader\'s other open orders and unsettled fills need')),
});
