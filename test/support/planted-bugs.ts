/** Bugs for the contracts, one at a time, which some invariant must find: they show that the invariants can fail. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compiled } from '../../contracts-abi/compile.js';
import { compilerInput, sourceOf } from '../../contracts-abi/compiler-input.js';
import { COMMITTED, ROOT, type Bytecode } from './forge.js';

export interface PlantedBug {
  /** What the contract does with it. */
  readonly what: string;
  readonly source: string;
  /** What is deployed: the source's own contract unless another one creates that. */
  readonly contract?: string;
  /** Exactly once in the source. */
  readonly from: string;
  readonly to: string;
}

const FILLED_BUYER = 'byBuyer = uint256(uint64(buyWord)) + fill.size > buy.size;';

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    what: 'fills a buy order beyond its size', source: 'Settlement', from: FILLED_BUYER, to: 'byBuyer = false;',
  },
  {
    what: 'forgets what was filled of a sell order', source: 'Settlement', from: '_orders[sellHash] += size;', to: '',
  },
  {
    what: 'does not mark a fill number as used', source: 'Settlement', from: '_settled[seq >> 8] = bits | bit;', to: '',
  },
  {
    what: 'marks the number of its neighbour', source: 'Settlement', from: 'uint256 bit = 1 << (seq & 0xff);', to: 'uint256 bit = 1 << (seq & 0xfe);',
  },
  {
    what: 'rounds a cost down', source: 'Settlement', from: '(uint256(size) * price + UNIT - 1) / UNIT', to: 'uint256(size) * price / UNIT',
  },
  {
    what: 'takes any signature of an order', source: 'Settlement', from: 'signer != address(0) && signer == order.trader', to: 'true',
  },
  {
    what: 'fills above the buyer\'s limit', source: 'Settlement', from: '&& fill.price <= buy.price && buy.makerFee', to: '&& buy.makerFee',
  },
  {
    what: 'fills an order in the second of its expiration', source: 'Settlement', from: 'block.timestamp >= buy.expiration', to: 'block.timestamp > buy.expiration',
  },
  {
    what: 'lets a cancel never take effect', source: 'Settlement', from: 'return effectiveAt != 0 && block.timestamp >= effectiveAt;', to: 'return false;',
  },
  {
    what: 'moves a fill\'s tokens for whoever asks', source: 'Settlement', from: 'if (msg.sender != address(this)) revert OnlySelf();', to: '',
  },
  {
    what: 'swaps the payouts', source: 'ConditionalTokens', from: 'payoutNumerators[conditionId][indexSet - 1]', to: 'payoutNumerators[conditionId][2 - indexSet]',
  },
  {
    what: 'rounds a payout up', source: 'ConditionalTokens', from: 'Math.mulDiv(balance, payoutNumerators[conditionId][indexSet - 1], denominator)',
    to: 'Math.mulDiv(balance, payoutNumerators[conditionId][indexSet - 1], denominator, Math.Rounding.Ceil)',
  },
  {
    what: 'pays shares and leaves them', source: 'ConditionalTokens', from: '_burn(owner, id, balance);', to: '',
  },
  {
    what: 'takes anybody\'s signature for a request', source: 'ConditionalTokens', from: 'if (signer == address(0) || signer != owner) revert InvalidSigner(signer, owner);',
    to: '',
  },
  {
    what: 'takes a signed merge twice', source: 'ConditionalTokens',
    from: 'abi.encode(MERGE_POSITIONS_TYPEHASH, owner, collateralToken, conditionId, amount, _useNonce(owner), deadline)',
    to: 'abi.encode(MERGE_POSITIONS_TYPEHASH, owner, collateralToken, conditionId, amount, nonces(owner), deadline)',
  },
  {
    what: 'moves shares without their owner\'s approval', source: 'ConditionalTokens', from: '_checkAuthorized(msg.sender, from);', to: '',
  },
  {
    what: 'resolves a market the other way round', source: 'OracleResolver', contract: 'MarketFactory', from: 'numerators[_outcomeIndex(outcome)] = 1;',
    to: 'numerators[1 - _outcomeIndex(outcome)] = 1;',
  },
  {
    what: 'takes a proposal of a market that is open', source: 'OracleResolver', contract: 'MarketFactory',
    from: 'if (block.timestamp < facts.expiration) revert MarketNotExpired(facts.expiration);', to: '',
  },
  {
    what: 'can not abandon a proposal that the oracle does not settle', source: 'OracleResolver', contract: 'MarketFactory',
    from: '} catch {}\n        delete proposals[marketId];', to: '} catch { revert NoProposal(marketId); }\n        delete proposals[marketId];',
  },
  {
    what: 'loses a payment that was refused', source: 'OptimisticOracle', from: 'claimable[to] += amount;', to: '',
  },
];

/** The committed byte code with the bug in it. Throws where the source has changed so that the bug has no place, or does not compile. */
export function bytecodeWith({ source, contract = source, from, to }: PlantedBug): Bytecode {
  const path = sourceOf(source);
  const text = readFileSync(join(ROOT, path), 'utf8');
  if (text.split(from).length !== 2) throw new Error(`${path} does not have ${JSON.stringify(from)} once: correct test/support/planted-bugs.ts`);
  const input = compilerInput({ root: ROOT, contract });
  const output = compiled({ ...input, sources: { ...input.sources, [path]: { content: text.replace(from, () => to) } } });
  const code = output.contracts?.[sourceOf(contract)]?.[contract]?.evm.bytecode.object;
  if (code === undefined || code === '') {
    throw new Error(`${path} does not compile with the bug: ${(output.errors ?? []).filter(({ severity }) => severity === 'error').map(({ formattedMessage }) => formattedMessage).join('\n')}`);
  }
  return { ...COMMITTED, [contract]: `0x${code}` };
}
