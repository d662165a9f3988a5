/** What a generated client has to do: sign, place, page through, and cancel orders, and be refused. Writes what has happened as JSON. */
import { Wallet, id, type TypedDataDomain, type TypedDataField } from 'ethers';

export interface SignedOrder {
  readonly order: {
    readonly marketId: string;
    readonly trader: string;
    readonly side: 0 | 1;
    readonly outcome: 0 | 1;
    readonly price: number;
    readonly size: string;
    readonly nonce: string;
    readonly expiration: string;
    readonly makerFeeRecipient: string;
  };
  readonly signature: string;
}

export interface Signing {
  readonly domain: TypedDataDomain;
  readonly orderTypes: Record<string, TypedDataField[]>;
  readonly cancelTypes: Record<string, TypedDataField[]>;
}

export interface Page {
  readonly orderHashes: readonly string[];
  readonly nextCursor: string | undefined;
}

/** Each client does this with its own types. */
export interface Exchange {
  signing(): Promise<Signing>;
  /** The first market's id. */
  market(): Promise<string>;
  place(body: SignedOrder): Promise<{ readonly orderHash: string; readonly position: number }>;
  /** The code of the error with which the order is refused. */
  refusal(body: SignedOrder): Promise<string>;
  orders(asked: { trader: string; limit: number; cursor?: string; position: number }): Promise<Page>;
  /** Returns the order's status. */
  cancel(asked: { orderHash: string; marketId: string; signature: string; deadline: string }): Promise<string>;
  /** The type of a stream's first message; absent where the client leaves streams to others. */
  firstMessage?(marketId: string): Promise<string>;
}

const COUNT = 3;

export async function trade(exchange: Exchange, name: string): Promise<void> {
  const wallet = new Wallet(id(`generated: ${name}`));
  const { domain, orderTypes, cancelTypes } = await exchange.signing();
  const marketId = await exchange.market();
  const trader = wallet.address;
  const now = Math.floor(Date.now() / 1_000);

  const signed = async (nonce: number): Promise<SignedOrder> => {
    const order = {
      marketId, trader, side: 0, outcome: 0, price: 400_000, size: '1000000', nonce: String(nonce), expiration: String(now + 3_600),
      makerFeeRecipient: `0x${'0'.repeat(40)}`,
    } as const;
    return { order, signature: await wallet.signTypedData(domain, orderTypes, order) };
  };

  let position = -1;
  const placed: string[] = [];
  for (let nonce = 1; nonce <= COUNT; nonce++) {
    const answer = await exchange.place(await signed(nonce));
    placed.push(answer.orderHash);
    position = answer.position;
  }
  const { order } = await signed(COUNT + 1);
  const refusal = await exchange.refusal({ order, signature: `0x${'11'.repeat(65)}` });
  const firstMessage = await exchange.firstMessage?.(marketId);

  const listed: string[] = [];
  let pages = 0;
  for (let cursor: string | undefined; ;) {
    const page = await exchange.orders({ trader, limit: 2, position, ...cursor === undefined ? {} : { cursor } });
    listed.push(...page.orderHashes);
    pages++;
    cursor = page.nextCursor;
    if (cursor === undefined) break;
  }

  const statuses: string[] = [];
  for (const orderHash of placed) {
    const deadline = String(now + 60);
    const signature = await wallet.signTypedData(domain, cancelTypes, { orderHash, trader, deadline });
    statuses.push(await exchange.cancel({ orderHash, marketId, signature, deadline }));
  }
  const isListed = placed.every((each) => listed.includes(each)) && listed.length === placed.length;
  process.stdout.write(`${JSON.stringify({ placed: placed.length, isListed, pages, refusal, firstMessage, statuses })}\n`);
}

/** The first of several answers, or an error that says which one is missing. */
export function first<T>(list: readonly T[], what: string): T {
  const [one] = list;
  if (one === undefined) throw new Error(`there is no ${what}`);
  return one;
}
