/** The relayer's process ends after each of its steps: the next one neither sends twice nor forgets. */
import assert from 'node:assert/strict';
import { Wallet, id } from 'ethers';
import { prepareAction } from '../../command/signing/action-digest.js';
import { createKeccak256 } from '../../command/signing/typed-data.js';
import { signedActions, signingDomains } from '../../command/signing/signed-actions.js';
import { createMemoryStore } from '../../engine/log/memory/memory-log.js';
import { RequestError } from '../../engine/records/errors.js';
import { deployedChain, type DeployedChain } from '../support/deployed-chain.js';
import { eventually } from '../support/exchange-on-chain.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { startRelayLane, startRelayProcess, type Death, type RelayProcess, type RelayWorld } from '../harness/relay-world.js';

describe('relayer: restarts', function () {
  this.timeout(60_000);
  let node: DeployedChain;
  let database: TestDatabase;
  let world: RelayWorld;
  let process: RelayProcess;
  let lane: { stop(): Promise<void> } | undefined;
  let wallets = 0;

  before(async () => { node = await deployedChain(); });
  after(() => node.stop());
  beforeEach(async () => {
    database = await testDatabase();
    world = { node, databaseUrl: database.url, store: createMemoryStore() };
    lane = await startRelayLane(world);
    await start();
  });
  afterEach(async () => {
    await node.rpc('evm_setAutomine', [true]);
    await process.stop();
    await lane?.stop();
    await database.drop();
  });

  async function start(death?: Death): Promise<void> {
    process = await startRelayProcess(world, death);
    await process.until('the relayer is ready', async () => {
      const { standby, problem } = await process.state();
      return !standby && problem === null;
    });
  }

  async function restart(death?: Death): Promise<void> {
    await process.stop();
    await start(death);
  }

  /** An approval of a new wallet, or of one that a test has used before. */
  async function approval({ number = wallets++, lifetimeS = 3_600 } = {}): Promise<{ bytes: Buffer; number: number }> {
    const wallet = new Wallet(id(`relayer restarts: ${number}`));
    const { chainId, contracts, domainName: settlementName } = node.chain;
    const domain = signingDomains({ chainId, contracts, settlementName, token: undefined }).conditionalTokens;
    const fields = { owner: wallet.address.toLowerCase(), operator: contracts.settlement.toLowerCase(), approved: true };
    const deadline = BigInt(Math.floor(Date.now() / 1_000) + lifetimeS);
    const digest = prepareAction(await createKeccak256(), signedActions['ctf-approval'], domain)({ ...fields, nonce: 0n, deadline });
    const { v, r, s } = wallet.signingKey.sign(digest);
    return { number, bytes: Buffer.from(JSON.stringify({ chainId, ...fields, deadline: String(deadline), v, r, s })) };
  }

  const ask = ({ bytes }: { bytes: Buffer }) => process.approve(bytes);
  const codeOf = async (answer: Promise<unknown>): Promise<string> => answer.then(() => 'taken', (error: unknown) => {
    assert.ok(error instanceof RequestError, String(error));
    return error.code;
  });

  /** How many transactions the relayer's key has sent. */
  const sent = async (): Promise<number> => Number(await node.rpc('eth_getTransactionCount', [node.accounts[8]!.address, 'pending']));

  /** The events of relays in order, with what ended how. */
  const story = async (): Promise<string[]> => (await process.events()).flatMap((event) => {
    switch (event.type) {
      case 'RelayRequested': return ['requested'];
      case 'RelaySubmitted': return ['submitted'];
      case 'RelayEnded': return [`ended ${event.txHash === null ? 'unsent' : 'sent'} ${event.results.map(({ succeeded }) => succeeded).join()}`];
      default: return [];
    }
  });

  const ended = (count: number) => eventually('the request has ended', async () => (
    (await story()).filter((each) => each.startsWith('ended')).length >= count ? true : undefined));

  it('after the request is recorded and before the lane is asked: it ends unsent, and the same request is sent once', async () => {
    await restart('requested');
    const before = await sent();
    const body = await approval();
    void ask(body).catch(() => undefined);
    await eventually('the request is in the history', async () => (await story()).includes('requested') ? true : undefined);
    await restart();
    await ended(1);
    assert.deepEqual(await story(), ['requested', 'ended unsent false']);
    const txHash = await ask(body);
    await ended(2);
    assert.deepEqual((await story()).slice(2), ['requested', 'submitted', 'ended sent true']);
    assert.equal(await sent() - before, 1);
    assert.equal(await ask(body), txHash);
    await restart();
    assert.equal(await ask(body), txHash, 'by the read models');
  });

  it('after the lane is asked and before it has signed: the next process goes on with it', async () => {
    await lane?.stop();
    world = { ...world, answerWithinMs: 300 };
    await restart();
    const before = await sent();
    const body = await approval();
    assert.equal(await codeOf(ask(body)), 'relay_unavailable', 'the lane has not signed in time');
    await restart();
    assert.equal(await codeOf(ask(body)), 'relay_unavailable');
    lane = await startRelayLane(world);
    const answers = await eventually('the lane has signed', async () => {
      const all = await Promise.all([1, 2, 3].map(() => ask(body).catch(() => undefined)));
      return all.every((each) => each !== undefined) ? all : undefined;
    });
    await ended(1);
    assert.deepEqual(await story(), ['requested', 'submitted', 'ended sent true']);
    assert.equal(new Set(answers).size, 1);
    assert.equal(await sent() - before, 1);
  });

  it('after it is sent and before it is mined: the next process answers with its transaction, and records its end', async () => {
    await node.rpc('evm_setAutomine', [false]);
    const before = Number(await node.rpc('eth_getTransactionCount', [node.accounts[8]!.address, 'latest']));
    const body = await approval();
    const txHash = await ask(body);
    await restart();
    await lane?.stop();
    lane = await startRelayLane(world);
    assert.equal(await ask(body), txHash);
    await node.rpc('evm_mine');
    await ended(1);
    assert.deepEqual(await story(), ['requested', 'submitted', 'ended sent true']);
    assert.equal(Number(await node.rpc('eth_getTransactionCount', [node.accounts[8]!.address, 'latest'])) - before, 1);
  });

  it('after its end is recorded and before the outbox forgets it: it ends once', async () => {
    await restart('ended');
    const body = await approval();
    await ask(body);
    await ended(1);
    await restart();
    const other = await approval();
    await ask(other);
    await ended(2);
    assert.deepEqual((await story()).filter((each) => each === 'ended sent true').length, 2);
    assert.equal((await process.events()).filter(({ type }) => type === 'CommandRejected').length, 1, 'the second ending of the first request');
  });

  it('two different requests with one nonce at once: one is sent, the other is told so', async () => {
    await node.rpc('evm_setAutomine', [false]);
    const first = await approval();
    const txHash = await ask(first);
    // The same wallet signs another deadline with the same nonce.
    const answer = ask(await approval({ number: first.number, lifetimeS: 60 }));
    await assert.rejects(answer, new RegExp(`another request with this nonce is on its way in transaction ${txHash}`));
  });

  it('a key without gas, and a lane that is gone, are told', async () => {
    const key = node.accounts[8]!.address;
    const balance = await node.rpc('eth_getBalance', [key, 'latest']);
    await node.rpc('anvil_setBalance', [key, '0x1']);
    await assert.rejects(ask(await approval()), /short of gas/);
    await node.rpc('anvil_setBalance', [key, balance]);
    assert.match(await ask(await approval()), /^0x/);
  });
});
