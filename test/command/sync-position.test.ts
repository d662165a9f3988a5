/** A position's correction to the balances on the chain: what is sent, when it is read again, and when it is given up. */
import assert from 'node:assert/strict';
import { ChainUnavailable } from '../../command/chain/chain.js';
import { correctHolding, type CorrectionParts } from '../../command/orders/sync-position.js';
import type { SyncPosition } from '../../engine/records/commands.js';
import { alice, domain, refused } from '../harness/order-world.js';
import { newCommand } from '../support/commands.js';

describe('syncing a position', () => {
  const parts = (over: Partial<CorrectionParts>): CorrectionParts => ({
    marketId: domain.verifyingContract, user: alice.address, recordedBlock: () => 7, catchUp: () => Promise.resolve(), now: () => 5,
    readShares: () => Promise.resolve({ yes: 3n, no: 2n ** 200n }), submit: () => assert.fail('nothing to submit'),
    known: () => Promise.resolve({ yesShares: 3n, noShares: 0n }), ...over,
  });
  const outcomeOf = (type: string) => Promise.resolve({ position: 40, outcome: { at: 5, events: [{ type } as never] } });

  it('sends the balances of the block that the history has got to', async () => {
    const commands: SyncPosition[] = [];
    const position = await correctHolding(parts({ submit: (command) => {
      commands.push(command);
      return outcomeOf('PositionSynced');
    } }));
    assert.equal(position, 40);
    assert.deepEqual(commands, [newCommand('SyncPosition', {
      at: 5, marketId: domain.verifyingContract, user: alice.address, yesShares: '3', noShares: String(2n ** 200n), block: 7,
    })]);
  });

  it('records nothing where the position is right already', async () => {
    assert.equal(await correctHolding(parts({ known: () => Promise.resolve({ yesShares: 3n, noShares: 2n ** 200n }) })), undefined);
  });

  it('reads again when the chain moved on in between, and gives up in the end', async () => {
    let block = 7;
    const blocks: number[] = [];
    const moving = { recordedBlock: () => block, submit: ({ block: of }: SyncPosition) => {
      blocks.push(of);
      return outcomeOf(block++ < 9 ? 'CommandRejected' : 'PositionSynced');
    } };
    await correctHolding(parts(moving));
    assert.deepEqual(blocks, [7, 8, 9]);
    await refused(correctHolding(parts({ submit: () => outcomeOf('CommandRejected') })), 'chain_unavailable');
  });

  it('says so when the chain cannot be asked', async () => {
    await refused(correctHolding(parts({ catchUp: () => Promise.reject(new ChainUnavailable(1, 'down')) })), 'chain_unavailable');
    await refused(correctHolding(parts({ recordedBlock: () => undefined })), 'chain_unavailable');
  });
});
