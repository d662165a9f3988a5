/** Who may sign: an account of viem, wallets of ethers 5 and 6, and an EIP-1193 provider each sign orders, and what is relayed. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { connect, eip1193Signer, Outcome, Side, type AnySigner, type Client, type Hex } from '../../client/src/client.js';
import { CLIENT } from '../support/client-packages.js';
import { tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { bearerToken, relayedExchange } from '../support/gasless-wallet.js';
import type { ExchangeStack } from '../harness/exchange.js';

const load = createRequire(join(CLIENT, 'package.json'));

describe('client: signers', function () {
  this.timeout(120_000);
  let node: TradedChain;
  let exchange: ExchangeStack;
  let token: string;
  let market: Hex;
  let signers: Readonly<Record<string, AnySigner>>;

  before(async () => {
    node = await tradedChain();
    const { privateKey, address } = node.accounts[5]!;
    const [viem, ethers5, ethers6] = [load('viem/accounts'), load('ethers5'), load('ethers')] as [
      { privateKeyToAccount(key: string): AnySigner }, Record<'Wallet', new (key: string) => AnySigner>, Record<'Wallet', new (key: string) => AnySigner>];
    signers = {
      'an account of viem': viem.privateKeyToAccount(privateKey), 'a wallet of ethers 5': new ethers5.Wallet(privateKey),
      'a wallet of ethers 6': new ethers6.Wallet(privateKey),
      // The chain's node signs for its accounts as a browser's wallet does.
      'an EIP-1193 provider': eip1193Signer({ request: ({ method, params = [] }) => node.rpc(method, params) }, address),
    };
    market = (await node.createMarket({ question: 'Who signs?' })).marketId as Hex;
    ({ exchange } = await relayedExchange(node));
    token = await bearerToken(exchange.databaseUrl);
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  const clientOf = (name: string): Client => connect({ url: exchange.url, signer: signers[name]!, token });
  const order = { side: Side.Buy, outcome: Outcome.Yes, price: '0.4', size: 2n ** 63n } as const;

  for (const [i, name] of ['an account of viem', 'a wallet of ethers 5', 'a wallet of ethers 6', 'an EIP-1193 provider'].entries()) {
    it(`${name} signs orders, cancels and reductions`, async () => {
      const client = clientOf(name);
      const placed = await client.place({ market, ...order });
      assert.equal((await client.read.order(placed.orderHash)).size, 2n ** 63n);
      assert.equal((await client.reduce(placed, '4')).status, 'reduced');
      assert.equal((await client.cancelAfter({ seconds: 60 })).status, 'armed');
      const [cancelled] = await client.cancelMany([placed]);
      assert.equal((cancelled as { status: string }).status, 'cancelled');
      const another = await client.place({ market, ...order });
      assert.equal((await client.cancel(another)).status, 'cancelled');
      assert.equal((await client.cancelAll({ market })).cancelled, 0);
    });

    it(`${name} signs what the relayer sends`, async () => {
      const client = clientOf(name);
      await client.relay.approve({ approved: false });
      const { txHash } = await client.relay.permit({ value: BigInt(i + 1) });
      assert.match(txHash!, /^0x/);
    });
  }

  it('sign the same order alike', async () => {
    const terms = { market, ...order, nonce: 7n, expiration: 4_000_000_000 };
    const signed = await Promise.all(Object.keys(signers).map(async (name) => (await clientOf(name).sign(terms)).signature));
    assert.equal(new Set(signed).size, 1);
  });

  it('are refused where they cannot sign', () => {
    assert.throws(() => connect({ url: exchange.url, signer: { address: node.accounts[5]!.address } as never }), { name: 'BadArgument', argument: 'signer' });
    assert.throws(() => connect({ url: exchange.url, signer: { address: '0x12', signTypedData: () => Promise.resolve('0x') } }), { name: 'BadArgument' });
  });
});
