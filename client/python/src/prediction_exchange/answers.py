"""The exchange's answers, by its OpenAPI document. Written by answers_from_openapi.py; do not edit."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Union

from typing_extensions import NotRequired

class Account(TypedDict):
    #: Chain identifier.
    chainId: int
    #: Block at whose end balance, allowance and approval were read.
    block: int
    #: Stablecoin of the user, 6 decimals. An exact integer, which may be beyond 2^53.
    balance: int
    #: Stablecoin that the settlement contract may take, 6 decimals. An exact integer, which may be beyond 2^53.
    allowance: int
    #: Whether the settlement contract may take the user's shares.
    approved: bool
    #: What open orders need, 6 decimals. An exact integer, which may be beyond 2^53.
    neededByOrders: int
    #: What fills need that the chain has not settled yet, 6 decimals. An exact integer, which may be beyond 2^53.
    neededByFills: int
    #: What is left for further buys, 6 decimals. An exact integer, which may be beyond 2^53.
    available: int
    shares: list[NeededShares]
    #: Number of open orders in all markets of all chains.
    openOrders: int
    #: Until when orders of the user are refused with trader_suspended; null without a ban.
    suspendedUntil: Union[int, None]


class ActiveQuickMarket(TypedDict):
    active: bool
    asset: Asset
    #: null when none runs.
    quickMarket: Union[QuickMarket, None]
    #: As a price; 0 = no price.
    bestAskPrice: int


Address = str


class Assertion(TypedDict):
    id: Bytes32
    proposer: Address
    #: True = YES.
    proposedOutcome: bool
    #: Bond in the stablecoin, 6 decimals.
    bondAmount: str
    #: Unix seconds.
    assertionTime: int
    #: End of the dispute window, Unix seconds.
    expirationTime: int
    #: Whether the oracle has decided.
    settled: bool
    #: Whether the oracle upheld the assertion; false until `settled`.
    settlementResolution: bool
    disputed: bool


Asset = str


AssetPrice = int


class Book(TypedDict):
    """The price levels of one outcome."""
    #: Highest price first.
    bids: list[PriceLevel]
    #: Lowest price first.
    asks: list[PriceLevel]


class BookChange(TypedDict):
    #: `book:{marketId}`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: Levels with other sizes.
    type: Literal['change']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    levels: list[ChangedLevel]


class BookSnapshot(TypedDict):
    #: `book:{marketId}`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: The books; what comes after changes them.
    type: Literal['snapshot']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    #: The book of YES.
    yes: Book
    #: The book of NO.
    no: Book


Bytes32 = str


class CancelledAll(TypedDict):
    status: Literal['cancelled']
    trader: Address
    #: Chain identifier.
    chainId: int
    marketId: Bytes32
    #: How many orders were open and are cancelled.
    cancelled: int


class CancelledOrder(TypedDict):
    status: Literal['cancelled']
    orderHash: Bytes32
    #: Shares that were filled before the cancel, 6 decimals. An exact integer, which may be beyond 2^53.
    filledSize: int
    #: Shares that were not filled and are now cancelled, 6 decimals. An exact integer, which may be beyond 2^53.
    remainingSize: int


class CancelledOrders(TypedDict):
    #: By order, in the order of the request.
    results: list[CancelledOrdersItem]


class CancelledOrdersItem(TypedDict):
    #: The HTTP status that a single request would have been answered with.
    status: int
    #: The body of that answer.
    body: dict[str, Any]


class Candle(TypedDict):
    #: Unix seconds.
    start: int
    open: Price
    high: Price
    low: Price
    close: Price
    #: Stablecoin traded, 6 decimals. An exact integer, which may be beyond 2^53.
    volume: int
    #: Number of trades.
    trades: int
    #: Whether the candle is final: its time is over, and all of its trades are settled.
    closed: bool


class Candles(TypedDict):
    marketId: Bytes32
    outcome: Outcome
    #: As in the request.
    interval: str
    candles: list[Candle]
    #: Number of entries.
    count: int
    #: Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be
    #: empty.
    nextCursor: NotRequired[str]


class Chain(TypedDict):
    #: Chain identifier.
    chainId: int
    name: str
    testnet: bool
    #: JSON-RPC of a development chain; null for other chains.
    rpcUrl: Union[str, None]
    contracts: Contracts
    #: The stablecoin, with what a wallet needs to sign permits; null if there is no chain or the stablecoin has not
    #: been read yet.
    collateral: Union[Collateral, None]
    #: Number of blocks on top of a block that make the block final.
    confirmations: int
    #: The first block that is read for events of the contracts.
    startBlock: int
    #: Whether an order is checked against its trader's balance and allowance before it is accepted. If not, an order
    #: that its trader cannot pay for is accepted, and its trades fail on the chain.
    exposureCheck: bool
    #: Smallest size of an order in the chain's markets, 6 decimals.
    minOrderSize: int
    #: Transactions that anchor another history and were passed over by the operator's decision, since a leaked key
    #: sent them. The history has an AnchorPassedOver event for each.
    passOverAnchors: list[Bytes32]
    #: Transactions that settled or refused other fills than the exchange matched, by the operator's decision: a
    #: leaked key sent them. The history has a FillFailed event for each such fill, with the reason `unknown` and the
    #: culprit `both`.
    passOverFills: list[Bytes32]
    #: EIP-712 domain of orders, and of requests about them.
    orderDomain: SigningDomain
    signedActions: SignedActions
    #: Who sends relayed transactions; null if nothing is relayed on the chain.
    relayer: Union[RelayerSettings, None]
    #: Who creates and resolves quick markets; null if the chain has none.
    quickOperator: Union[str, None]


class ChainContractAbi(TypedDict):
    type: str


class ChainContract(TypedDict):
    """A contract and how it is called."""
    #: Where the contract is; null for `market`, since each market has its own `contractAddress`.
    address: Union[str, None]
    #: Solidity's ABI of the functions that a wallet needs, and of the events and errors: ethers and viem take it as
    #: it is.
    abi: list[ChainContractAbi]


class ChainContracts(TypedDict):
    #: Chain identifier.
    chainId: int
    contracts: ContractsByName


class ChainTotals(TypedDict):
    """Totals of one chain. With chain_id, this is the whole answer."""
    #: Chain identifier.
    chainId: int
    #: Stablecoin traded since the start, 6 decimals. An exact integer, which may be beyond 2^53.
    totalVolume: int
    #: Number of trades since the start.
    totalTrades: int


class ChainsContracts(TypedDict):
    #: Empty when orders settle nowhere.
    chains: list[ChainContracts]


class ChangedLevel(TypedDict):
    """A level of a book."""
    outcome: Outcome
    side: Side
    price: Price
    #: Total shares at this price from now on; 0 removes the level, 6 decimals. An exact integer, which may be beyond
    #: 2^53.
    size: int


class CheckedMatch(TypedDict):
    price: Price
    #: Shares, 6 decimals. An exact integer, which may be beyond 2^53.
    size: int
    #: Stablecoin, 6 decimals. An exact integer, which may be beyond 2^53.
    cost: int


class CheckedOrder(TypedDict):
    #: Whether the order would be accepted, or has been.
    accepted: bool
    orderHash: NotRequired[Bytes32]
    #: Only of an order that was accepted before: its present state.
    orderStatus: NotRequired[OrderStatus]
    #: What the order would match, by price, the best first.
    matches: NotRequired[list[CheckedMatch]]
    #: Shares that match at once, 6 decimals. An exact integer, which may be beyond 2^53.
    filledSize: NotRequired[int]
    #: Shares that rest in the book, 6 decimals. An exact integer, which may be beyond 2^53.
    restingSize: NotRequired[int]
    #: Shares that are cancelled at once, 6 decimals. An exact integer, which may be beyond 2^53.
    cancelledSize: NotRequired[int]
    #: Stablecoin of the matches: paid by a buy, received by a sell, 6 decimals. An exact integer, which may be
    #: beyond 2^53.
    cost: NotRequired[int]
    #: Of a buy: what its matched shares pay if the outcome wins. Of a sell: what it receives for its matches, 6
    #: decimals. An exact integer, which may be beyond 2^53.
    payout: NotRequired[int]
    #: What the order needs until it is settled: stablecoin of a buy, shares of a sell, 6 decimals. An exact integer,
    #: which may be beyond 2^53.
    needed: NotRequired[int]
    #: Number of the trader's own orders that are cancelled, since they would trade with this one.
    ownOrdersCancelled: NotRequired[int]
    refusal: NotRequired[Problem]


class Collateral(TypedDict):
    #: Name in the permit's EIP-712 domain.
    name: str
    #: Version in the permit's EIP-712 domain.
    version: str
    symbol: str
    #: Decimals of the token.
    decimals: int
    address: Address


class Configuration(TypedDict):
    #: Unix seconds.
    serverTime: int
    chains: list[Chain]
    orderTypes: OrderTypes
    #: Whether a cancel needs the trader's signature.
    cancelAuth: Literal['required', 'open']
    prices: PriceSettings
    quickMarkets: QuickMarketSettings
    limits: Limits


class Contracts(TypedDict):
    #: Settlement; null if there is no such contract.
    settlement: Union[str, None]
    #: Conditional tokens; null if there is no such contract.
    conditionalTokens: Union[str, None]
    #: Stablecoin; null if there is no such contract.
    collateral: Union[str, None]
    #: Market factory; null if there is no such contract.
    marketFactory: Union[str, None]
    #: Optimistic oracle; null if there is no such contract.
    oracle: Union[str, None]
    #: Oracle resolver; null if there is no such contract.
    oracleResolver: Union[str, None]
    #: Quick resolver; null if there is no such contract.
    quickResolver: Union[str, None]
    #: Multicall; null if there is no such contract.
    multicall: Union[str, None]


class ContractsByName(TypedDict):
    #: Settles fills, and cancels orders on the chain.
    settlement: ChainContract
    #: The shares (ERC-1155): split, merge, redeem, approve.
    conditionalTokens: ChainContract
    #: The stablecoin (ERC-20 with permit).
    collateral: ChainContract
    #: Finds the contract of a market.
    marketFactory: ChainContract
    #: Assertions and disputes.
    oracle: ChainContract
    #: Proposes and settles resolutions.
    oracleResolver: ChainContract
    #: Resolves quick markets.
    quickResolver: ChainContract
    #: Several calls as one.
    multicall: ChainContract
    #: One market.
    market: ChainContract


KnownErrorCode = Literal['invalid_request', 'invalid_json', 'invalid_address', 'invalid_market_id', 'invalid_order_hash', 'invalid_chain_id', 'invalid_price', 'invalid_size', 'size_too_small', 'invalid_expiration', 'invalid_signature', 'invalid_permit', 'relay_invalid_body', 'relay_invalid_address', 'relay_invalid_signature', 'relay_unknown_chain', 'relay_wrong_signer', 'relay_deadline_too_far', 'relay_bond_permit_required', 'cancel_signature_required', 'signature_required', 'missing_token', 'invalid_token', 'insufficient_scope', 'invalid_cancel_signature', 'invalid_request_signature', 'not_order_owner', 'trader_suspended', 'other_site', 'relay_target_refused', 'not_found', 'unknown_market', 'unknown_order', 'unknown_chain', 'unknown_asset', 'not_recorded_yet', 'history_removed', 'method_not_allowed', 'market_closed', 'duplicate_nonce', 'nonce_cancelled', 'too_many_open_orders', 'too_late', 'not_filled', 'would_match', 'outdated_request', 'already_cancelled', 'not_reduced', 'already_filled', 'relay_in_vain', 'relay_cover_needed', 'relay_already_used', 'body_too_large', 'unsupported_media_type', 'expectation_failed', 'upgrade_required', 'insufficient_balance', 'insufficient_allowance', 'relay_contract_wallet', 'relay_would_revert', 'relay_owner_paused', 'relay_quota_used', 'too_many_streams', 'rate_limited', 'request_timeout', 'internal', 'trading_halted', 'clock_untrusted', 'disk_full', 'overloaded', 'outcome_unknown', 'not_caught_up', 'chain_unavailable', 'relay_unavailable', 'unavailable']


ErrorCode = Union[KnownErrorCode, str]


class FailedClaim(TypedDict):
    #: Hash of the redemption transaction; empty if none was sent.
    txHash: SettlementTxHash
    userAddress: Address
    marketAddress: Address
    marketId: Bytes32
    #: Expected payout in stablecoin, 6 decimals. An exact integer, which may be beyond 2^53.
    payout: int
    #: 0 = YES, 1 = NO; null for a market paid half to half.
    winningOutcome: Literal[0, 1, None]
    #: When the relayer took the request, Unix seconds.
    submittedAt: int
    #: Chain identifier.
    chainId: int
    #: Why the redemption failed; null if nothing is known.
    reason: Union[str, None]
    #: Time of the failure, Unix seconds.
    failedAt: int


class FailedClaims(TypedDict):
    failedClaims: list[FailedClaim]
    #: Number of entries.
    count: int
    #: Only on a full page. For the next page, send this value as `before`.
    next: NotRequired[int]
    #: Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be
    #: empty.
    nextCursor: NotRequired[str]


class FailedTrade(TypedDict):
    marketId: Bytes32
    buyerAddress: Address
    sellerAddress: Address
    #: Shares, 6 decimals. An exact integer, which may be beyond 2^53.
    fillSize: int
    fillPrice: Price
    #: Number of the fill.
    fill: int
    outcome: Outcome
    txHash: Bytes32
    reason: FailureReason
    #: Time of the failure, ISO 8601 in UTC.
    timestamp: str
    #: Index of the trade in the transaction's batch, from 0.
    batchIndex: int


class FailedTrades(TypedDict):
    failedTrades: list[FailedTrade]
    #: Number of entries.
    count: int
    #: Only on a full page. For the next page, send this value as `before`.
    next: NotRequired[int]
    #: Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be
    #: empty.
    nextCursor: NotRequired[str]


FailureReason = Literal['buyer_insufficient_balance', 'buyer_insufficient_allowance', 'seller_insufficient_shares', 'seller_not_approved', 'order_expired', 'order_cancelled', 'overfill', 'market_resolved', 'invalid_signature', 'transfer_rejected', 'transaction_reverted', 'unknown']


class FieldError(TypedDict):
    #: JSON pointer to the field, or the name of the parameter or header.
    field: str
    #: What was expected.
    message: str


FillRole = Literal['maker', 'taker']


class HistoryEntry(TypedDict):
    #: Position in the log.
    position: int
    #: The UUID of the command.
    id: str
    #: The command as recorded.
    command: dict[str, Any]
    outcome: RecordedOutcome
    #: SHA-256 hash chain over the whole history up to and including this entry.
    digest: Bytes32


class HistoryPage(TypedDict):
    events: list[HistoryEntry]
    #: Number of entries.
    count: int
    #: For the next page, send this value as `from`.
    next: int


class Holder(TypedDict):
    userAddress: Address
    #: YES shares, 6 decimals.
    yesShares: int
    #: NO shares, 6 decimals.
    noShares: int


class Holders(TypedDict):
    marketId: Bytes32
    #: Sorted by the size of their positions, largest first.
    topHolders: list[Holder]
    #: Number of holders.
    totalHolders: int
    #: Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be
    #: empty.
    nextCursor: NotRequired[str]


class Limits(TypedDict):
    """All limits by name; a name of a time or a size ends with its unit."""
    #: Lowest price of an order, 6 decimals.
    minPrice: int
    #: Highest price of an order, 6 decimals.
    maxPrice: int
    #: How far ahead an order's expiration must be at least.
    minExpirationS: int
    #: Largest body of a request.
    maxBodyBytes: int
    #: Most open orders of one trader, in all markets together.
    maxOpenOrders: int
    #: Most matches of an incoming order. What remains is cancelled.
    maxFillsPerOrder: int
    #: Most open orders in an answer.
    maxOrdersPerPage: int
    #: Most holders in an answer.
    maxHolders: int
    #: Most trades in a market's activity.
    maxActivity: int
    #: Most trades in a market's trade history.
    maxTrades: int
    #: Most entries in each list of a user's activity.
    maxUserActivity: int
    #: Most pending or failed trades in an answer.
    maxSettlementsPerPage: int
    #: Most pending or failed claims in an answer.
    maxClaimsPerPage: int
    #: Most records of the history in an answer.
    maxEventsPerPage: int
    #: Most quick markets in the history of an asset.
    maxQuickMarkets: int
    #: Most open price streams of one process.
    maxPriceStreams: int
    #: Most of them of one client address; 0 = no limit.
    maxPriceStreamsPerAddress: int
    #: How far ahead the deadline of a relayed action may be at most.
    maxRelayDeadlineS: int
    #: Most redemptions in one batch.
    maxRedemptionsPerBatch: int
    #: Most gas that is relayed for one owner in an hour; 0 = no limit.
    relayGasPerOwnerAndHour: int
    #: Most gas that is relayed with one bearer token in an hour; 0 = no limit.
    relayGasPerTokenAndHour: int
    #: Length of the window in which requests are counted.
    rateLimitWindowS: int
    #: Most orders and cancels per client address and window; 0 = no limit.
    ordersPerWindow: int
    #: Most reads per client address and window; 0 = no limit.
    readsPerWindow: int


class Market(TypedDict):
    id: Bytes32
    #: The market's question.
    question: str
    description: str
    #: What the market is about.
    category: Literal['defi', 'protocol', 'stablecoin', 'general']
    contractAddress: Address
    maker: Address
    #: Unix seconds.
    expiration: int
    #: Chain on which the market settles.
    chainId: int
    resolved: bool
    #: As a price; 0 = no price.
    bestAskPrice: int
    #: Unix seconds.
    createdAt: int
    #: Condition of the conditional tokens, for splitPosition, mergePositions and redeemPositions; null for a market
    #: without a chain.
    conditionId: Union[str, None]
    #: ERC-1155 id of the YES shares; null for a market without a chain.
    yesTokenId: Union[str, None]
    #: ERC-1155 id of the NO shares; null for a market without a chain.
    noTokenId: Union[str, None]
    #: Only in a page, and of one market.
    state: NotRequired[Literal['open', 'expired', 'proposed', 'disputed', 'resolved']]
    #: Only in a page, and of one market: stablecoin traded since the start, 6 decimals. An exact integer, which may
    #: be beyond 2^53.
    totalVolume: NotRequired[int]


class MarketActivity(TypedDict):
    marketId: Bytes32
    activity: list[MarketActivityEntry]
    #: Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be
    #: empty.
    nextCursor: NotRequired[str]


class MarketActivityEntry(TypedDict):
    price: Price
    #: Shares, 6 decimals. An exact integer, which may be beyond 2^53.
    size: int
    buyer: Address
    seller: Address
    #: Unix seconds.
    timestamp: int
    txHash: SettlementTxHash
    settlementStatus: SettlementStatus


MarketCategory = Literal['defi', 'protocol', 'stablecoin', 'general']


class MarketDisputed(TypedDict):
    #: `markets`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: The assertion was disputed.
    type: Literal['disputed']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    marketId: Bytes32
    assertionId: Bytes32
    disputer: Address


class MarketExpired(TypedDict):
    #: `markets`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: The market takes no more orders: it has expired, or is resolved.
    type: Literal['expired']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    marketId: Bytes32


class MarketHalvedTold(TypedDict):
    #: `markets`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: Each share of either outcome is paid one half.
    type: Literal['halved']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    marketId: Bytes32


MarketKind = Literal['standard', 'quick']


class MarketNonces(TypedDict):
    marketId: Bytes32
    contractAddress: Address
    #: What a proposal signs as `bond`, in units of 1e-6, in decimal digits: the bond of the proposal that is there,
    #: else the greater of the market's own bond and the oracle's minimum at present.
    bond: str
    #: Of redemptions.
    condition: str
    #: Of proposals and settlements.
    market: str


class MarketProposed(TypedDict):
    #: `markets`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: An outcome was asserted.
    type: Literal['proposed']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    marketId: Bytes32
    assertionId: Bytes32
    proposer: Address
    proposedOutcome: Outcome
    #: Bond in stablecoin, 6 decimals.
    bondAmount: str
    #: Unix seconds.
    assertionTime: int
    #: Unix seconds.
    expirationTime: int


class MarketRejected(TypedDict):
    #: `markets`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: The assertion counts no more; another one may follow.
    type: Literal['rejected']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    marketId: Bytes32
    assertionId: Bytes32


class MarketResolvedTold(TypedDict):
    #: `markets`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: The market has its final outcome.
    type: Literal['resolved']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    marketId: Bytes32
    winningOutcome: Outcome


class MarketStatistics(TypedDict):
    marketId: Bytes32
    contractAddress: Address
    #: Stablecoin traded in the last 24 hours, 6 decimals. An exact integer, which may be beyond 2^53.
    volume24h: int
    #: Stablecoin traded since the start, 6 decimals. An exact integer, which may be beyond 2^53.
    totalVolume: int
    #: As a price; 0 = no price.
    lastPrice: int


class MarketTold(TypedDict):
    #: `markets`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: The market takes orders.
    type: Literal['opened']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    marketId: Bytes32
    #: The market's question.
    question: str
    category: MarketCategory
    contractAddress: Address
    maker: Address
    #: Unix seconds.
    expiration: int
    #: Chain identifier.
    chainId: int
    kind: MarketKind
    asset: NotRequired[Asset]
    #: Unix seconds.
    startTime: NotRequired[int]


class Markets(TypedDict):
    markets: list[Market]
    #: Number of entries.
    count: int
    #: Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be
    #: empty.
    nextCursor: NotRequired[str]


class NeededShares(TypedDict):
    marketId: Bytes32
    outcome: Outcome
    #: What open orders need, 6 decimals. An exact integer, which may be beyond 2^53.
    neededByOrders: int
    #: What fills need that the chain has not settled yet, 6 decimals. An exact integer, which may be beyond 2^53.
    neededByFills: int


class NonceSource(TypedDict):
    """What the message's nonce is."""
    kind: str
    #: The contract that gives the next nonce; null if none does.
    contract: Union[str, None]
    #: The view that gives the next nonce; null if there is none.
    call: Union[str, None]
    meaning: str


class OpenOrder(TypedDict):
    orderHash: Bytes32
    marketId: Bytes32
    side: Side
    price: Price
    #: Size of the order: as signed, or as reduced since, 6 decimals. An exact integer, which may be beyond 2^53.
    size: int
    #: Unfilled part, 6 decimals. An exact integer, which may be beyond 2^53.
    remainingSize: int
    #: Unix seconds.
    timestamp: int


class OpenOrders(TypedDict):
    orders: list[OpenOrder]
    #: Number of all open orders that match, also those on other pages.
    count: int
    #: Only on a full page. For the next page, send this value as `before`.
    next: NotRequired[int]
    #: Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be
    #: empty.
    nextCursor: NotRequired[str]


OrderCancelReason = Literal['user', 'expired', 'self_trade', 'match_limit', 'market_closed', 'settlement_failed', 'time_in_force', 'post_only', 'cancel_after']


class OrderHistoryEntry(TypedDict):
    #: Position in the log.
    position: int
    #: What happened to the order.
    type: Literal['accepted', 'fill', 'fill_failed', 'reduced', 'filled', 'cancelled']
    #: Shares of this entry; of a reduction, the order's size from then on, 6 decimals. An exact integer, which may
    #: be beyond 2^53.
    size: int
    #: Unix seconds; null if the read model does not keep the time.
    timestamp: Union[int, None]
    #: Number of the fill.
    fill: NotRequired[int]
    #: Whether the order was the maker or the taker of the fill.
    role: NotRequired[Literal['maker', 'taker']]
    price: NotRequired[Price]
    settlementStatus: NotRequired[SettlementStatus]
    txHash: NotRequired[SettlementTxHash]
    #: Why the order was cancelled or the fill failed.
    reason: NotRequired[Union[str, None]]


OrderStatus = Literal['open', 'filled', 'cancelled']


class OrderTypes(TypedDict):
    """
    EIP-712 types of orders, as `signTypedData` of wallets takes them; `signedActions` has those of all other
    messages.
    """
    Order: list[TypedDataField]


class OrderWithHistory(TypedDict):
    orderHash: Bytes32
    marketId: Bytes32
    side: Side
    price: Price
    #: Size of the order: as signed, or as reduced since, 6 decimals. An exact integer, which may be beyond 2^53.
    size: int
    #: Unfilled part, 6 decimals. An exact integer, which may be beyond 2^53.
    remainingSize: int
    #: Unix seconds.
    timestamp: int
    trader: Address
    outcome: Outcome
    #: Filled part, 6 decimals. An exact integer, which may be beyond 2^53.
    filledSize: int
    #: uint64.
    nonce: int
    #: Unix seconds, uint64.
    expiration: int
    status: OrderStatus
    #: Why the order was cancelled; null if it was not.
    cancelReason: Union[str, None]
    #: What happened to the order, oldest first; at most the latest 1,000 fills.
    history: list[OrderHistoryEntry]
    #: Only of an order that is older than the read models' history: fills that were settled before this log position
    #: are not in `history`, but in `filledSize`, and in /api/v1/events.
    historyFrom: NotRequired[int]


class Orderbook(TypedDict):
    marketId: Bytes32
    #: Highest price first.
    bids: list[PriceLevel]
    #: Lowest price first.
    asks: list[PriceLevel]
    #: Unix seconds; 0 = the market has never had an order.
    lastUpdate: int
    #: Only without `outcome`: the YES book.
    yes: NotRequired[Book]
    #: Only without `outcome`: the NO book.
    no: NotRequired[Book]


Outcome = Literal[0, 1]


class OutcomeTicker(TypedDict):
    #: As a price; 0 = no price.
    bestBid: int
    #: As a price; 0 = no price.
    bestAsk: int
    #: Half of the sum of both, rounded down; 0 without a bid or an ask.
    mid: int
    #: Ask less bid; 0 without a bid or an ask.
    spread: int
    #: As a price; 0 = no price.
    lastPrice: int
    #: Last price less the price a day ago, to the minute; of an outcome without a trade then, less its first price.
    change24h: int
    #: Stablecoin traded in the last 24 hours, to the minute, 6 decimals. An exact integer, which may be beyond 2^53.
    volume24h: int


class OwnOrderAccepted(TypedDict):
    #: `orders:{address}`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: The order was accepted.
    type: Literal['accepted']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    orderHash: Bytes32
    #: Unfilled part of the order after this, 6 decimals. An exact integer, which may be beyond 2^53.
    remainingSize: int
    marketId: Bytes32
    side: Side
    outcome: Outcome
    price: Price
    #: Size, 6 decimals. An exact integer, which may be beyond 2^53.
    size: int
    #: Nonce.
    nonce: int
    #: Unix seconds.
    expiration: int


class OwnOrderCancelled(TypedDict):
    #: `orders:{address}`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: The order was cancelled.
    type: Literal['cancelled']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    orderHash: Bytes32
    #: Unfilled part of the order after this, 6 decimals. An exact integer, which may be beyond 2^53.
    remainingSize: int
    reason: OrderCancelReason


class OwnOrderFailed(TypedDict):
    #: `orders:{address}`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: A fill of the order failed on the chain: the order has its size back, and is open only if that is told.
    type: Literal['failed']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    orderHash: Bytes32
    #: Unfilled part of the order after this, 6 decimals. An exact integer, which may be beyond 2^53.
    remainingSize: int
    #: The fill's number.
    fill: int
    role: FillRole
    price: Price
    #: Shares of the fill, 6 decimals. An exact integer, which may be beyond 2^53.
    size: int
    #: The settlement transaction.
    txHash: Bytes32
    reason: FailureReason


class OwnOrderFilled(TypedDict):
    #: `orders:{address}`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: A part of the order, or all of it, was matched.
    type: Literal['filled']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    orderHash: Bytes32
    #: Unfilled part of the order after this, 6 decimals. An exact integer, which may be beyond 2^53.
    remainingSize: int
    #: The fill's number.
    fill: int
    role: FillRole
    price: Price
    #: Shares of the fill, 6 decimals. An exact integer, which may be beyond 2^53.
    size: int


class OwnOrderReduced(TypedDict):
    #: `orders:{address}`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: The order was made smaller.
    type: Literal['reduced']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    orderHash: Bytes32
    #: Unfilled part of the order after this, 6 decimals. An exact integer, which may be beyond 2^53.
    remainingSize: int
    #: The order's size from now on, 6 decimals. An exact integer, which may be beyond 2^53.
    size: int


class OwnOrderReinstated(TypedDict):
    #: `orders:{address}`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: The order is open again with the size of a fill that failed.
    type: Literal['reinstated']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    orderHash: Bytes32
    #: Unfilled part of the order after this, 6 decimals. An exact integer, which may be beyond 2^53.
    remainingSize: int
    #: Size of the failed fill, 6 decimals. An exact integer, which may be beyond 2^53.
    size: int


class OwnOrderSettled(TypedDict):
    #: `orders:{address}`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: A fill of the order was settled on the chain.
    type: Literal['settled']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    orderHash: Bytes32
    #: Unfilled part of the order after this, 6 decimals. An exact integer, which may be beyond 2^53.
    remainingSize: int
    #: The fill's number.
    fill: int
    role: FillRole
    price: Price
    #: Shares of the fill, 6 decimals. An exact integer, which may be beyond 2^53.
    size: int
    #: The settlement transaction.
    txHash: Bytes32


class PastQuickMarket(TypedDict):
    #: Number of the quick market, in the order of opening.
    id: int
    marketId: Bytes32
    asset: Asset
    #: From start to end; not whole only for test intervals.
    intervalMinutes: float
    #: The strike: the asset's price at the start. null until it is set, some seconds after the start.
    startPrice: Union[int, None]
    #: Unix seconds.
    startTime: int
    #: Unix seconds.
    endTime: int
    #: Whether the outcome is known, or the chain has paid half to half.
    resolved: bool
    #: Name of the source of `startPrice`; empty until that is set.
    priceSource: str
    #: Unix seconds.
    createdAt: int
    #: Chain identifier.
    chainId: int
    contractAddress: Address
    #: True when no source had a price in the 15 seconds that count. Such a market is not decided by another price;
    #: if none is found, the chain pays it half to half.
    priceMissed: bool
    #: The asset's price at the end; null until it is set.
    endPrice: Union[int, None]
    #: 0 = YES: the end price is not below the start price; 1 = NO. null until it is known, and for a market paid
    #: half to half.
    outcome: Literal[0, 1, None]
    #: Whose shares the chain redeems: nobody's before the market is resolved there; `half`: each share for one half.
    payment: Literal['none', 'yes', 'no', 'half']


class Payout(TypedDict):
    marketId: Bytes32
    #: The market's question.
    marketQuestion: str
    #: Stablecoin paid out, 6 decimals. An exact integer, which may be beyond 2^53.
    payout: int
    #: 0 = YES, 1 = NO; null if the chain paid without naming a winner, half to half.
    winningOutcome: Literal[0, 1, None]
    #: Unix seconds.
    timestamp: int
    txHash: Bytes32


class PendingClaim(TypedDict):
    #: Hash of the latest redemption transaction; empty until one is sent.
    txHash: SettlementTxHash
    userAddress: Address
    marketAddress: Address
    marketId: Bytes32
    #: Expected payout in stablecoin, 6 decimals. An exact integer, which may be beyond 2^53.
    payout: int
    #: 0 = YES, 1 = NO; null for a market paid half to half.
    winningOutcome: Literal[0, 1, None]
    #: When the relayer took the request, Unix seconds.
    submittedAt: int
    #: Chain identifier.
    chainId: int


class PendingClaims(TypedDict):
    pendingClaims: list[PendingClaim]
    #: Number of entries.
    count: int
    #: Only on a full page. For the next page, send this value as `after`.
    next: NotRequired[int]
    #: Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be
    #: empty.
    nextCursor: NotRequired[str]


class PendingTrade(TypedDict):
    marketId: Bytes32
    buyerAddress: Address
    sellerAddress: Address
    #: Shares, 6 decimals. An exact integer, which may be beyond 2^53.
    fillSize: int
    fillPrice: Price
    #: Number of the fill.
    fill: int
    outcome: Outcome
    txHash: SettlementTxHash
    #: Time of the match, ISO 8601 in UTC.
    timestamp: str
    #: Whether the transaction settles several trades.
    isBatch: bool
    #: Index of the trade in the transaction's batch, from 0.
    batchIndex: int
    settlementStatus: SettlementStatus


class PendingTrades(TypedDict):
    pendingTrades: list[PendingTrade]
    #: Number of entries.
    count: int
    #: Only on a full page. For the next page, send this value as `after`.
    next: NotRequired[int]
    #: Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be
    #: empty.
    nextCursor: NotRequired[str]


class PlacedOrder(TypedDict):
    orderHash: Bytes32
    status: Literal['accepted']
    #: Number of trades that the order made at once.
    matches: int
    #: Unix seconds.
    timestamp: int
    #: Only when the same order was submitted before: the order's present state, as in /api/v1/orders/{hash}. Missing
    #: if it is not known at the moment.
    orderStatus: NotRequired[OrderStatus]
    #: Only for FOK and FAK, and where selfTrade has cancelled the order: shares that were not filled and are
    #: cancelled, 6 decimals. An exact integer, which may be beyond 2^53.
    remainingSize: NotRequired[int]


class PlacedOrders(TypedDict):
    #: By order, in the order of the request.
    results: list[PlacedOrdersItem]


class PlacedOrdersItem(TypedDict):
    #: The HTTP status that a single request would have been answered with.
    status: int
    #: The body of that answer.
    body: dict[str, Any]


PlannedHalt = TypedDict('PlannedHalt', {
    #: Unix seconds.
    'from': 'int',
    #: Unix seconds.
    'to': 'int',
    'reason': 'str',
})


class PlatformTotals(TypedDict):
    """The answer without chain_id."""
    chains: list[ChainTotals]
    #: Stablecoin traded since the start, on all chains, 6 decimals. An exact integer, which may be beyond 2^53.
    total_volume: int
    #: Number of trades since the start, on all chains.
    total_trades: int


class Position(TypedDict):
    """Without a position: only yesShares and noShares, both 0."""
    #: YES shares, 6 decimals.
    yesShares: int
    #: NO shares, 6 decimals.
    noShares: int
    #: Stablecoin invested, 6 decimals.
    totalInvested: NotRequired[int]
    #: Average-cost basis of the YES shares, 6 decimals.
    yesCost: NotRequired[int]
    #: Average-cost basis of the NO shares, 6 decimals.
    noCost: NotRequired[int]


class PositionSync(TypedDict):
    success: bool
    position: SyncedPosition
    #: What was done.
    message: str


Price = int


class PriceCandle(TypedDict):
    #: Unix seconds.
    start: int
    open: AssetPrice
    high: AssetPrice
    low: AssetPrice
    close: AssetPrice
    #: Always 0.
    volume: int
    #: Always 0.
    trades: int
    #: Number of prices.
    prices: int
    #: Whether the candle is final: a later one has begun.
    closed: bool


class PriceCandles(TypedDict):
    asset: Asset
    #: As in the request.
    interval: str
    candles: list[PriceCandle]
    #: Number of entries.
    count: int
    #: Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be
    #: empty.
    nextCursor: NotRequired[str]


class PriceEvent(TypedDict):
    asset: Asset
    price: AssetPrice
    #: The same in US dollars.
    priceUSD: float
    #: When the source published the price, Unix milliseconds.
    timestamp: int
    #: Name of the source: pyth, coinbase, binance or simulated.
    source: str


class PriceHistory(TypedDict):
    asset: Asset
    history: list[PriceRecord]


class PriceLevel(TypedDict):
    price: Price
    #: Total shares at this price, 6 decimals. An exact integer, which may be beyond 2^53.
    size: int


class PriceRecord(TypedDict):
    price: AssetPrice
    #: The same in US dollars.
    priceUSD: float
    #: When the source published the price, Unix seconds.
    timestamp: int
    #: URL of the provider; `simulated:` for simulated prices.
    source: str


class PriceSettings(TypedDict):
    #: Assets that have prices, and quick markets on the chains with a quickOperator.
    assets: list[Asset]
    #: Where prices come from, the best first; empty: nowhere, so no quick market is made.
    sources: list[Literal['pyth', 'coinbase', 'binance', 'simulated']]


class PriceTold(TypedDict):
    #: `prices:{asset}`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: A price was published.
    type: Literal['price']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    asset: Asset
    #: In units of 1e-8 US dollars. An exact integer, which may be beyond 2^53.
    price: int
    #: The same in US dollars.
    priceUSD: float
    #: When the source published the price, Unix milliseconds.
    timestamp: int
    #: Name of the source.
    source: str


class Problem(TypedDict):
    #: Reference to the description of this error.
    type: str
    #: Short description of the error; the same text for every occurrence.
    title: str
    #: The HTTP status.
    status: int
    #: What is wrong with this request, where `errors` does not say it.
    detail: NotRequired[str]
    #: The id of this occurrence in the service's log lines.
    instance: NotRequired[str]
    #: All in one text, for people: the title, and what is wrong with this request.
    error: str
    code: ErrorCode
    #: What is wrong with each field.
    errors: NotRequired[list[FieldError]]
    #: `insufficient_…`: what the order needs, in stablecoin or shares, 6 decimals. An exact integer, which may be
    #: beyond 2^53.
    required: NotRequired[int]
    #: `insufficient_…`: what the trader has, or has approved, in total, 6 decimals. An exact integer, which may be
    #: beyond 2^53.
    available: NotRequired[int]
    #: `insufficient_…`: the part of `available` that other open orders and unsettled fills of the trader need, 6
    #: decimals. An exact integer, which may be beyond 2^53.
    reserved: NotRequired[int]
    #: `insufficient_…`: the block at which balance and allowance were read: the last one in the history.
    block: NotRequired[int]
    #: `insufficient_…`: the latest block of the chain.
    latestBlock: NotRequired[int]
    #: `insufficient_…`: `latestBlock` less `block`. What happened in these blocks is not counted yet.
    blocksBehind: NotRequired[int]
    #: `invalid_…signature`, `invalid_permit`: the EIP-712 digest that the signature has to be of.
    digest: NotRequired[Bytes32]
    #: With `digest`: who has signed it by this signature; null where that is nobody.
    recoveredSigner: NotRequired[Union[str, None]]
    #: `invalid_…signature`: the EIP-712 domain of the digest.
    domain: NotRequired[SigningDomain]
    #: `size_too_small`: the smallest size on the market's chain, 6 decimals.
    minOrderSize: NotRequired[int]
    #: `too_many_open_orders`: the number of the trader's open orders, those on their way in included.
    openOrders: NotRequired[int]
    #: `trader_suspended`: when the trader's orders are taken again, in Unix seconds.
    suspendedUntil: NotRequired[int]
    #: `too_many_open_orders`: the most open orders that a trader may have.
    maxOpenOrders: NotRequired[int]
    #: The seconds of the header `Retry-After`, where they are known.
    retryAfterS: NotRequired[int]
    #: `method_not_allowed`: the header `Allow`.
    allow: NotRequired[str]


class ProposalTerms(TypedDict):
    """Only of an expired standard market without an assertion."""
    #: What a proposal signs as `bond`, and what its permit is of, in units of 1e-6 of the stablecoin: the greater of
    #: the market's own bond and the oracle's minimum. At most 10 seconds old; `/users/{address}/nonces` has the
    #: present one.
    bond: str
    #: Why no proposal is taken at present, whatever it says; null if proposals are taken.
    refusal: Union[str, None]


class QuickMarket(TypedDict):
    #: Number of the quick market, in the order of opening.
    id: int
    marketId: Bytes32
    asset: Asset
    #: From start to end; not whole only for test intervals.
    intervalMinutes: float
    #: The strike: the asset's price at the start. null until it is set, some seconds after the start.
    startPrice: Union[int, None]
    #: Unix seconds.
    startTime: int
    #: Unix seconds.
    endTime: int
    #: Whether the outcome is known, or the chain has paid half to half.
    resolved: bool
    #: Name of the source of `startPrice`; empty until that is set.
    priceSource: str
    #: Unix seconds.
    createdAt: int
    #: Chain identifier.
    chainId: int
    contractAddress: Address
    #: True when no source had a price in the 15 seconds that count. Such a market is not decided by another price;
    #: if none is found, the chain pays it half to half.
    priceMissed: bool


class QuickMarketHistory(TypedDict):
    asset: Asset
    history: list[PastQuickMarket]
    #: Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be
    #: empty.
    nextCursor: NotRequired[str]


class QuickMarketSettings(TypedDict):
    #: Length of a quick market, in seconds. Quick markets start at its multiples since the Unix epoch.
    intervalS: int
    #: How many quick markets of each asset are made ahead of the one that runs.
    ahead: int


class RecordedOutcome(TypedDict):
    """The outcome as recorded."""
    #: Engine time in milliseconds.
    at: int
    #: All events that the command caused, in order.
    events: list[dict[str, Any]]


class ReducedOrder(TypedDict):
    #: Cancelled where at least `size` was filled already.
    status: Literal['reduced', 'cancelled']
    orderHash: Bytes32
    #: Size of the order from now on; only when reduced, 6 decimals. An exact integer, which may be beyond 2^53.
    size: NotRequired[int]
    #: Shares that were filled before the cancel; only when cancelled, 6 decimals. An exact integer, which may be
    #: beyond 2^53.
    filledSize: NotRequired[int]
    #: Shares that were not filled and are now cancelled; only when cancelled, 6 decimals. An exact integer, which
    #: may be beyond 2^53.
    remainingSize: NotRequired[int]


class Relayed(TypedDict):
    success: Literal[True]
    #: Hash of the transaction; empty when nothing needed to be sent.
    tx_hash: SettlementTxHash


class RelayedBatch(TypedDict):
    success: Literal[True]
    #: Hash of the transaction.
    txHash: SettlementTxHash
    #: Whether the transaction is final and the history has it.
    status: Literal['pending', 'confirmed']


class RelayerError(TypedDict):
    success: Literal[False]
    #: What is wrong with the request, or why it could not be carried out.
    error: str


class RelayerSettings(TypedDict):
    address: Address
    #: Names of the endpoints below /api/v1/relayer/.
    actions: list[str]


class Resolution(TypedDict):
    marketId: Bytes32
    #: Whether the market's expiration has passed.
    expired: bool
    #: Whether the market is resolved.
    resolved: bool
    winningOutcome: NotRequired[Outcome]
    #: Only of a resolved market without a winner: each share of either outcome is paid one half.
    halved: NotRequired[Literal[True]]
    assertion: NotRequired[Assertion]
    proposal: NotRequired[ProposalTerms]
    #: Only of an expired market that is neither resolved nor has an assertion: when the administrator may pay it
    #: half to half, Unix seconds by the chain's time. Absent where the chain's contracts cannot.
    halvableFrom: NotRequired[int]


class SettledFill(TypedDict):
    marketId: Bytes32
    buyerAddress: Address
    sellerAddress: Address
    #: Shares, 6 decimals. An exact integer, which may be beyond 2^53.
    fillSize: int
    fillPrice: Price
    #: Number of the fill.
    fill: int
    outcome: Outcome
    #: Time at which the fill was confirmed, failed or, while it is pending, sent, ISO 8601 in UTC.
    timestamp: str
    #: Index of the trade in the transaction's batch, from 0.
    batchIndex: int
    #: Why the chain refused the fill; null if it did not.
    reason: Literal['buyer_insufficient_balance', 'buyer_insufficient_allowance', 'seller_insufficient_shares', 'seller_not_approved', 'order_expired', 'order_cancelled', 'overfill', 'market_resolved', 'invalid_signature', 'transfer_rejected', 'transaction_reverted', 'unknown', None]
    #: Hash of the transaction that now contains the fill, if this one was replaced; else null.
    replacedBy: Union[str, None]
    #: The state of the fill.
    status: Literal['pending', 'confirmed', 'failed']


class Settlement(TypedDict):
    """The answer for a settlement transaction."""
    found: Literal[True]
    txHash: Bytes32
    marketId: Bytes32
    buyerAddress: Address
    sellerAddress: Address
    #: Shares, 6 decimals. An exact integer, which may be beyond 2^53.
    fillSize: int
    fillPrice: Price
    #: Number of the fill.
    fill: int
    outcome: Outcome
    #: Time at which the fill was confirmed, failed or, while it is pending, sent, ISO 8601 in UTC.
    timestamp: str
    #: Index of the trade in the transaction's batch, from 0.
    batchIndex: int
    #: Why the chain refused the fill; null if it did not.
    reason: Literal['buyer_insufficient_balance', 'buyer_insufficient_allowance', 'seller_insufficient_shares', 'seller_not_approved', 'order_expired', 'order_cancelled', 'overfill', 'market_resolved', 'invalid_signature', 'transfer_rejected', 'transaction_reverted', 'unknown', None]
    #: Hash of the transaction that now contains the fill, if this one was replaced; else null.
    replacedBy: Union[str, None]
    #: The state of the fill.
    status: Literal['pending', 'confirmed', 'failed']
    #: Whether the transaction settles several trades.
    isBatch: bool
    #: All fills of the transaction, in its order.
    fills: list[SettledFill]


SettlementStatus = Literal['matched', 'pending', 'confirmed', 'failed']


SettlementTxHash = str


Side = Literal[0, 1]


class SignedAction(TypedDict):
    primaryType: str
    #: EIP-712 domain; null until the stablecoin has been read.
    domain: Union[SigningDomain, None]
    #: EIP-712 types, as `signTypedData` of wallets takes them.
    types: dict[str, list[TypedDataField]]
    nonce: NonceSource


SignedActions = TypedDict('SignedActions', {
    'order': 'SignedAction',
    'cancel': 'SignedAction',
    'cancel-orders': 'SignedAction',
    'cancel-all': 'SignedAction',
    'cancel-after': 'SignedAction',
    'reduce': 'SignedAction',
    'ctf-approval': 'NotRequired[SignedAction]',
    'usdc-permit': 'NotRequired[SignedAction]',
    'ctf-redemption': 'NotRequired[SignedAction]',
    'ctf-split': 'NotRequired[SignedAction]',
    'ctf-merge': 'NotRequired[SignedAction]',
    'propose-resolution': 'NotRequired[SignedAction]',
    'bond-permit': 'NotRequired[SignedAction]',
    'settle-market': 'NotRequired[SignedAction]',
})


class SigningDomain(TypedDict):
    name: str
    version: str
    #: Chain identifier.
    chainId: int
    verifyingContract: Address


class StreamError(TypedDict):
    #: The stream ends, or by WebSocket: what was asked for was not done.
    type: Literal['error']
    #: Name of the error.
    code: str
    #: What is wrong, and what to do.
    error: str


class Switch(TypedDict):
    #: Whether the orders are going to be cancelled.
    status: Literal['armed', 'disarmed']
    trader: Address
    #: Chain identifier.
    chainId: int
    #: When the orders are cancelled, in milliseconds since the Unix epoch; null if disarmed.
    cancelAt: Union[int, None]


class SyncedPosition(TypedDict):
    #: YES shares, 6 decimals.
    yesShares: int
    #: NO shares, 6 decimals.
    noShares: int
    #: Stablecoin invested, 6 decimals.
    totalInvested: int


class Ticker(TypedDict):
    marketId: Bytes32
    yes: OutcomeTicker
    no: OutcomeTicker


class Trade(TypedDict):
    price: Price
    #: Shares, 6 decimals. An exact integer, which may be beyond 2^53.
    size: int
    buyer: Address
    seller: Address
    #: Unix seconds.
    timestamp: int
    txHash: SettlementTxHash
    settlementStatus: SettlementStatus
    outcome: Outcome


class TradeMade(TypedDict):
    #: `trades:{marketId}`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: A fill.
    type: Literal['trade']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    #: The fill's number.
    fill: int
    price: Price
    #: Shares, 6 decimals. An exact integer, which may be beyond 2^53.
    size: int
    outcome: Outcome
    buyer: Address
    seller: Address
    takerSide: Side


class TradeSettlement(TypedDict):
    #: `trades:{marketId}`, hex in lower case.
    channel: str
    #: The log position. A snapshot has that of the last message before it; -1 if there is none.
    position: int
    #: The position of the previous message in the channel; -1 for the first one. A snapshot has its own.
    previous: int
    #: What became of a fill on the chain. A failed one never happened.
    type: Literal['settlement']
    #: Engine time, Unix milliseconds; 0 in the snapshot of books that never had an order.
    at: int
    #: Another message at this position, or another snapshot, follows on the connection.
    more: NotRequired[Literal[True]]
    #: The fill's number.
    fill: int
    settlementStatus: TradeSettlementStatus
    #: The settlement transaction.
    txHash: Bytes32
    reason: NotRequired[FailureReason]


TradeSettlementStatus = Literal['pending', 'confirmed', 'failed']


class Trades(TypedDict):
    marketId: Bytes32
    trades: list[Trade]
    #: Number of entries.
    count: int
    #: Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be
    #: empty.
    nextCursor: NotRequired[str]


class TradingStatus(TypedDict):
    #: open: orders are taken.
    status: Literal['open', 'paused']
    #: The code of the error that an order gets; null while orders are taken.
    reason: Union[str, None]
    #: The same in words.
    detail: Union[str, None]
    #: Times at which no orders are taken, as the operator has planned them: those that are not over, the next one
    #: first.
    plannedHalts: list[PlannedHalt]


class TypedDataField(TypedDict):
    name: str
    type: str


class UnknownSettlement(TypedDict):
    """The answer for any other hash."""
    found: Literal[False]


class UserActivity(TypedDict):
    activity: list[UserTrade]
    settlements: list[Payout]
    #: Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be
    #: empty.
    nextCursor: NotRequired[str]


class UserNonces(TypedDict):
    address: Address
    #: Chain identifier.
    chainId: int
    #: Of approvals, splits and merges.
    owner: str
    #: Of ERC-2612 permits.
    token: str
    markets: list[MarketNonces]


class UserOpenOrder(TypedDict):
    orderHash: Bytes32
    marketId: Bytes32
    side: Side
    price: Price
    #: Size of the order: as signed, or as reduced since, 6 decimals. An exact integer, which may be beyond 2^53.
    size: int
    #: Unfilled part, 6 decimals. An exact integer, which may be beyond 2^53.
    remainingSize: int
    #: Unix seconds.
    timestamp: int
    #: The market's question.
    marketQuestion: str
    outcome: Outcome


class UserOpenOrders(TypedDict):
    orders: list[UserOpenOrder]
    #: Number of all open orders that match, also those on other pages.
    count: int
    #: Only on a full page. For the next page, send this value as `before`.
    next: NotRequired[int]
    #: Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be
    #: empty.
    nextCursor: NotRequired[str]


class UserPosition(TypedDict):
    marketId: Bytes32
    #: The market's question.
    marketQuestion: str
    contractAddress: Address
    #: Unix seconds.
    expiration: int
    resolved: bool
    #: YES shares, 6 decimals.
    yesShares: int
    #: NO shares, 6 decimals.
    noShares: int
    #: Stablecoin invested, 6 decimals.
    totalInvested: int


class UserPositions(TypedDict):
    positions: list[UserPosition]
    #: Only on a full page of a request with `limit` or `cursor`: send it as `cursor` for the next page, which may be
    #: empty.
    nextCursor: NotRequired[str]


class UserTrade(TypedDict):
    marketId: Bytes32
    #: The market's question.
    marketQuestion: str
    price: Price
    #: Shares, 6 decimals. An exact integer, which may be beyond 2^53.
    size: int
    #: The side of the user in the trade.
    userRole: Literal['buyer', 'seller']
    #: Unix seconds.
    timestamp: int
    txHash: SettlementTxHash
    settlementStatus: SettlementStatus


StreamMessage = Union[BookSnapshot, BookChange, TradeMade, TradeSettlement, OwnOrderAccepted, OwnOrderFilled, OwnOrderSettled, OwnOrderFailed, OwnOrderReinstated, OwnOrderReduced, OwnOrderCancelled, PriceTold, MarketTold, MarketExpired, MarketProposed, MarketDisputed, MarketRejected, MarketResolvedTold, MarketHalvedTold]
