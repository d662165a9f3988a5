/** Request bodies for every action at the relayer of a made-up chain, signed by its owner. */
import type { RelayAction } from '../../engine/records/fields.js';
import type { Message } from '../../command/signing/action-digest.js';
import type { SignedActionName } from '../../command/signing/signed-actions.js';
import { BOND, CHAIN_ID, NOW_S, ZERO, contracts, lowerCase, open, owner, won, type RelayScene, type SignOptions } from './relay-scene.js';

export type Json = Record<string, unknown>;

export interface BodyOptions extends Omit<SignOptions, 'nonceOf'> {
  readonly deadline?: bigint;
  /** What a proposal signs, and permits. */
  readonly bond?: bigint;
}

/** A body with which nothing is wrong; every value of its own, so that a test may change it. */
export function validBody(action: RelayAction, scene: RelayScene, asked: BodyOptions = {}): Json {
  const { deadline = BigInt(NOW_S + 3_600), bond = BOND, ...options } = asked;
  const sign = (name: SignedActionName, message: Message, nonceOf?: string): Json => (
    { ...scene.sign(name, { ...message, deadline }, { ...options, ...nonceOf === undefined ? {} : { nonceOf } }).fields });
  const address = lowerCase(owner);
  const { settlement: operator, collateral: collateralToken, oracleResolver } = contracts;
  const chain = { chainId: CHAIN_ID };
  const redemption = (): Json => {
    const fields = { collateralToken, parentCollectionId: ZERO, conditionId: won.marketId };
    const signed = sign('ctf-redemption', { owner: address, ...fields, indexSets: [1n, 2n] }, won.marketId);
    return { ...fields, indexSets: ['1', '2'], ...signed, marketAddress: won.address };
  };
  switch (action) {
    case 'ctf-approval': {
      const fields = { owner: address, operator, approved: true };
      return { ...chain, ...fields, ...sign('ctf-approval', fields) };
    }
    case 'usdc-permit': {
      const fields = { owner: address, spender: operator };
      return { ...chain, ...fields, value: '5', ...sign('usdc-permit', { ...fields, value: 5n }) };
    }
    case 'ctf-redemption': return { ...chain, owner: address, ...redemption() };
    case 'batch-ctf-redemption': return { ...chain, owner: address, redemptions: [redemption()] };
    case 'ctf-split':
    case 'ctf-merge': {
      const fields = { owner: address, collateralToken, conditionId: open.marketId };
      return { ...chain, ...fields, amount: '5', ...sign(action, { ...fields, amount: 5n }) };
    }
    case 'propose-resolution': {
      const signed = sign('propose-resolution', { market: open.address, proposer: address, outcome: true, bond }, open.marketId);
      const permit = sign('bond-permit', { owner: address, spender: oracleResolver, value: bond });
      return {
        ...chain, marketAddress: open.address, proposer: address, outcome: true, ...signed,
        bondPermitDeadline: permit['deadline'], bondV: permit['v'], bondR: permit['r'], bondS: permit['s'],
      };
    }
    case 'settle-market': {
      const signed = sign('settle-market', { market: open.address, settler: address, winningOutcome: 0n }, open.marketId);
      return { ...chain, marketAddress: open.address, settler: address, ...signed, winningOutcome: 0 };
    }
  }
}
