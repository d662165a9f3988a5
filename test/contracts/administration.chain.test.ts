/** Who administers the contracts: one account each, which hands over in two steps with a delay between them and cannot leave by accident. */
import { deepEqual, equal } from 'node:assert/strict';
import { ZeroAddress, ZeroHash } from 'ethers';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { settlement } from '../../contracts-abi/settlement.js';
import { marketContracts, revertAfterEach, targetAt, type MarketContracts } from '../support/market-contracts.js';
import type { Target } from '../support/settlement-contracts.js';

const DELAY_S = 3 * 86_400;

describe('the contracts\' administration', () => {
  let contracts: MarketContracts;
  let all: Target[];
  let delayed: Target;
  before(async () => {
    contracts = await marketContracts();
    const { tokens, factory, oracleResolver, quickResolver, usdc, admin } = contracts;
    const settling = await contracts.deploy('Settlement', settlement, [tokens.address, usdc.address, admin.address, 0]);
    all = [tokens, targetAt('Settlement', settling.address, settlement), factory, oracleResolver, quickResolver];
    delayed = await contracts.deploy('Delayed', conditionalTokens, [admin.address, DELAY_S]);
  });
  after(() => contracts.stop());
  revertAfterEach(() => contracts);

  it('is one account\'s, which can be neither joined nor lost in one step', async () => {
    const { admin, traders: [trader] } = contracts;
    for (const contract of all) {
      equal(await contracts.read(contract, 'defaultAdmin'), admin.address, contract.name);
      for (const [method, args] of [
        ['grantRole', [ZeroHash, trader.address]], ['revokeRole', [ZeroHash, admin.address]], ['renounceRole', [ZeroHash, admin.address]],
      ] as const) {
        const { error } = await contracts.refusal(admin, contract, method, args);
        equal(error, method === 'renounceRole' ? 'AccessControlEnforcedDefaultAdminDelay' : 'AccessControlEnforcedDefaultAdminRules', `${contract.name}.${method}`);
      }
      deepEqual(await contracts.refusal(trader, contract, 'beginDefaultAdminTransfer', [trader.address]), {
        error: 'AccessControlUnauthorizedAccount', args: { account: trader.address, neededRole: ZeroHash },
      });
    }
  });

  it('is handed over by the new account\'s own transaction, after the delay', async () => {
    const { admin, traders: [trader, other] } = contracts;
    const begun = await contracts.now() + 10;
    await contracts.nextBlockAt(begun);
    await contracts.send(admin, delayed, 'beginDefaultAdminTransfer', [trader.address]);
    const schedule = BigInt(begun + DELAY_S);
    deepEqual(await contracts.read(delayed, 'pendingDefaultAdmin'), { newAdmin: trader.address, schedule });
    deepEqual(await contracts.refusal(other, delayed, 'acceptDefaultAdminTransfer'), { error: 'AccessControlInvalidDefaultAdmin', args: { defaultAdmin: other.address } });
    await contracts.timeIs(Number(schedule));
    deepEqual(await contracts.refusal(trader, delayed, 'acceptDefaultAdminTransfer'), { error: 'AccessControlEnforcedDefaultAdminDelay', args: { schedule } });
    await contracts.timeIs(Number(schedule) + 1);
    await contracts.send(trader, delayed, 'acceptDefaultAdminTransfer');
    equal(await contracts.read(delayed, 'defaultAdmin'), trader.address);
    equal((await contracts.refusal(admin, delayed, 'grantRole', [`0x${'11'.repeat(32)}`, other.address])).error, 'AccessControlUnauthorizedAccount');
  });

  it('is given up in two steps as well, and an announced step can be taken back', async () => {
    const { admin } = contracts;
    await contracts.send(admin, delayed, 'beginDefaultAdminTransfer', [ZeroAddress]);
    await contracts.timeIs(await contracts.now() + DELAY_S + 1);
    await contracts.send(admin, delayed, 'cancelDefaultAdminTransfer');
    equal((await contracts.refusal(admin, delayed, 'renounceRole', [ZeroHash, admin.address])).error, 'AccessControlEnforcedDefaultAdminDelay');
    equal(await contracts.read(delayed, 'defaultAdmin'), admin.address);
  });
});
