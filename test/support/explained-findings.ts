/** Findings of Slither in the contracts that are left as they are, each with its reason. Places are contract, function and variable. */

export interface Explained {
  /** The detector's name. */
  readonly check: string;
  readonly places: readonly string[];
  readonly reason: string;
}

export const EXPLAINED: readonly Explained[] = [
  {
    check: 'arbitrary-send-erc20-permit', places: ['OracleResolver._pullBond'],
    reason: 'The proposer has signed this very bond for this market: proposeWithSig checks that before. A collateral without permits whose fallback takes '
      + 'the call still moves nothing without that signature.',
  },
  {
    check: 'reentrancy-no-eth', places: ['OracleResolver.proposeWithSig'],
    reason: 'proposeWithSig, settleWithSig and halve share a guard. It calls the oracle and the collateral of its constructor only; the oracle calls back '
      + 'at a dispute or a settlement, never at an assertion.',
  },
  {
    check: 'reentrancy-no-eth', places: ['OracleResolver.abandon'],
    reason: 'The administrator alone may call it. It means the oracle\'s call back, and reads the proposal again after it.',
  },
  {
    check: 'reentrancy-no-eth', places: ['Settlement._settleFills'],
    reason: 'A fill\'s number is marked before its tokens move, and freed only where a token refuses everybody. Only the operator may settle, and neither token '
      + 'calls anybody: the collateral has no hooks, and settlementTransfer does not call the receiver.',
  },
  {
    check: 'reentrancy-no-eth', places: ['MarketFactory._create'],
    reason: 'It calls the conditional tokens of its constructor, whose prepareCondition calls nobody.',
  },
  {
    check: 'reentrancy-benign', places: ['MarketFactory._create', 'OracleResolver.proposeWithSig', 'Settlement.executeFill'],
    reason: 'As above. What executeFill writes afterwards is a sum, which a call back could not lower: it may not fill, and a cancel leaves the sum as it is.',
  },
  {
    check: 'reentrancy-events',
    places: [
      'ConditionalTokens._merge', 'ConditionalTokens._redeem', 'ConditionalTokens._split', 'MarketFactory._create', 'MarketFactory.createQuickMarket',
      'OracleResolver.abandon', 'OracleResolver.assertionResolvedCallback', 'QuickResolver.halve', 'QuickResolver.resolve', 'Settlement._settleFill',
      'Settlement.settleBatch',
    ],
    reason: 'An event says what has happened, so it comes after the call that may fail. A holder that is a contract can put events of its own calls before it; '
      + 'the indexer takes each event for itself.',
  },
  {
    check: 'timestamp',
    places: [
      'ConditionalTokens._requireSigned', 'MarketFactory._create', 'OptimisticOracle._expired', 'OptimisticOracle.disputeAssertion',
      'OracleResolver._requireSigned', 'OracleResolver.abandon', 'OracleResolver.halve', 'OracleResolver.proposeWithSig', 'OracleResolver.settleWithSig',
      'QuickResolver._ended', 'QuickResolver._requirePublished', 'QuickResolver.halve', 'Settlement._check', 'Settlement._floorOf',
      'Settlement._isCancelled', 'Settlement.scheduleCancelAll', 'TestUSDC.permit',
    ],
    reason: 'Deadlines, expirations and delays are times. The seconds by which a block\'s maker can move its time decide nothing: the shortest delay is 120 s.',
  },
  {
    check: 'calls-loop', places: ['Multicall3._call', 'Settlement._lookUpMarket', 'Settlement._settleFill', 'Settlement._tryPermits'],
    reason: 'A batch is a loop of calls. Settlement bounds the gas of each, lets each fail by itself, and stops where the gas left could not carry a fill. '
      + 'Multicall3 says of each call whether it may fail.',
  },
  {
    check: 'uninitialized-local', places: ['MarketFactory.createMarket.facts', 'MarketFactory.createQuickMarket.facts', 'Settlement._settleFills.batch'],
    reason: 'A struct in memory begins with zeros; what a kind of market does not have stays zero.',
  },
  {
    check: 'unused-return', places: ['ConditionalTokens._requireSigned', 'OracleResolver._requireSigned', 'Settlement._hashAt'],
    reason: 'Of tryRecover only the signer is used, which is zero where there is an error; zero is refused.',
  },
  {
    check: 'locked-ether', places: ['Multicall3'],
    reason: 'The well-known contract\'s functions are payable, and its ABI is kept. Its calls pass no ether on, here as there: nobody has a reason to send any.',
  },
  { check: 'low-level-calls', places: ['Multicall3._call'], reason: 'It calls whatever it is given.' },
  {
    check: 'shadowing-local',
    places: [
      'ConditionalTokens._merge.owner', 'ConditionalTokens._redeem.owner', 'ConditionalTokens._requireSigned.owner', 'ConditionalTokens._split.owner',
      'ConditionalTokens.mergePositionsWithSig.owner', 'ConditionalTokens.redeemPositionsWithSig.owner', 'ConditionalTokens.setApprovalForAllWithSig.owner',
      'ConditionalTokens.splitPositionWithSig.owner', 'OptimisticOracle.constructor.owner', 'TestUSDC.nonces.owner', 'TestUSDC.permit.owner',
    ],
    reason: 'The names of ERC-2612 and of the signed types. The contract\'s own owner() is not meant in any of these functions.',
  },
  {
    check: 'assembly', places: ['Settlement._argumentOf', 'Settlement._hash'],
    reason: 'An order\'s hash is taken of its words as they lie in calldata, which spares every fill a copy; the tests compare it with the TypeScript and with '
      + 'abi.encode. The other reads one word of an error of this contract.',
  },
  { check: 'pragma', places: ['0.8.37'], reason: 'OpenZeppelin names the least release that each of its files compiles with. One release compiles them all.' },
  { check: 'naming-convention', places: ['TestUSDC.DOMAIN_SEPARATOR'], reason: 'The name is ERC-2612\'s.' },
  {
    check: 'unimplemented-functions', places: ['TestUSDC'],
    reason: 'A mistake of Slither\'s: the compiler would not give an abstract contract byte code. ERC20 has what IERC20Permit declares beside permits.',
  },
];
