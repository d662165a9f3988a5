/**
 * The quick start at the top of the documentation page: from the configuration to a cancelled order, in curl, in
 * TypeScript, and in Python with the client.
 */

/** Where a stack on this machine serves; the page says its own address instead. */
export const LOCAL_URL = 'http://127.0.0.1:8080';

interface Step {
  readonly title: string;
  /** Plain text; what is between backticks is code. */
  readonly text: string;
  readonly python: string;
  readonly curl: string;
  readonly typescript: string;
}

/**
 * The blocks of a language are one program: each goes on where the one before it ended. A test runs them as they are
 * served.
 */
const STEPS: readonly Step[] = [{
  title: 'Get the configuration',
  text: 'It has the chains, and the EIP-712 domain and types that a wallet signs. The market says on which chain it is. Markets that have expired are listed until they are resolved.',
  python: `
import os

from prediction_exchange import Exchange, Order, Outcome, Side

url = os.environ.get("EXCHANGE_URL", "${LOCAL_URL}")
market = next(Exchange(url).markets(state="open"))`,
  curl: `
URL=\${EXCHANGE_URL:-${LOCAL_URL}}
curl -fsS "$URL/api/v1/config" > config.json
curl -fsS "$URL/api/v1/markets" > markets.json
node -p "JSON.stringify(require('./markets.json').markets.find(({ expiration }) => expiration > Date.now() / 1000))" > market.json
MARKET=$(node -p "require('./market.json').id")`,
  typescript: `
import { Wallet, ZeroAddress } from 'ethers';

const url = process.env['EXCHANGE_URL'] ?? '${LOCAL_URL}';
const read = async (path: string, headers: Record<string, string> = {}): Promise<any> => (await fetch(url + path, { headers })).json();

const { chains, orderTypes, serverTime } = await read('/api/v1/config');
const { markets } = await read('/api/v1/markets');
const market = markets.find(({ expiration }: { expiration: number }) => expiration > serverTime);
const { orderDomain, signedActions } = chains.find((each: { chainId: number }) => each.chainId === market.chainId);`,
}, {
  title: 'Sign an order',
  text: 'This one bids 0.01 for one YES share, for an hour. Prices and sizes have 6 decimals, `side` 0 is BUY, `outcome` 0 is YES, and `nonce` is a number that no '
    + 'other live order of yours has. curl cannot sign, so a few lines of Node do (`npm install ethers`). The key is the first account of the development stack, '
    + 'which everybody knows: set PRIVATE_KEY to use your own.',
  python: `
key = os.environ.get("PRIVATE_KEY", "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
exchange = Exchange(url, signer=key)
signed = exchange.sign(Order(market["id"], Side.BUY, Outcome.YES, price="0.01", size="1"))`,
  curl: `
export PRIVATE_KEY=\${PRIVATE_KEY:-0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80}
cat > sign.mjs <<'END'
// node sign.mjs: the wallet's address. node sign.mjs ACTION FILE: its signature of the message in the file.
import { readFileSync } from 'node:fs';
import { Wallet } from 'ethers';
const json = (file) => JSON.parse(readFileSync(file, 'utf8'));
const [action, file] = process.argv.slice(2);
const { chainId } = json('market.json');
const { signedActions } = json('config.json').chains.find((each) => each.chainId === chainId);
const wallet = new Wallet(process.env.PRIVATE_KEY);
const signed = ({ domain, types }) => wallet.signTypedData(domain, types, json(file));
console.log(action === undefined ? wallet.address : await signed(signedActions[action]));
END
TRADER=$(node sign.mjs)
cat > order.json <<END
{
  "marketId": "$MARKET", "trader": "$TRADER", "side": 0, "outcome": 0, "price": 10000, "size": 1000000,
  "nonce": $(date +%s), "expiration": $(($(date +%s) + 3600)), "makerFeeRecipient": "0x0000000000000000000000000000000000000000"
}
END
SIGNATURE=$(node sign.mjs order order.json)`,
  typescript: `
const key = process.env['PRIVATE_KEY'] ?? '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const wallet = new Wallet(key);
const order = {
  marketId: market.id, trader: wallet.address, side: 0, outcome: 0, price: 10_000, size: 1_000_000,
  nonce: Date.now(), expiration: serverTime + 3_600, makerFeeRecipient: ZeroAddress,
};
const signature = await wallet.signTypedData(orderDomain, orderTypes, order);`,
}, {
  title: 'Place it',
  text: 'The answer comes when the order is durable and matched. Sending the same signed order again is safe: it gets the same answer. Where the configuration says '
    + '`exposureCheck`, the wallet needs the stablecoin and an approval (or a `permitSignature` in the body) first; `/api/v1/contracts` has the ABIs for that. '
    + 'A development stack gives the money to any wallet: `POST /api/v1/dev/funds` with its `address`.',
  python: `
placed = exchange.place_signed(signed)
print(placed["orderHash"])`,
  curl: `
curl -fsS "$URL/api/v1/orders" -D headers.txt -H 'Content-Type: application/json' \\
  --data "{ \\"order\\": $(cat order.json), \\"signature\\": \\"$SIGNATURE\\" }" > placed.json
cat placed.json`,
  typescript: `
const placed = await fetch(\`\${url}/api/v1/orders\`, {
  method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ order, signature }),
});
if (!placed.ok) throw new Error(await placed.text());
const { orderHash } = await placed.json() as { orderHash: string };
console.log(orderHash);`,
}, {
  title: 'Read your own write',
  text: 'Reads come from tables that follow the order by some milliseconds. A read with the order\'s `X-Log-Position` as `X-Min-Log-Position` waits until they include it.',
  python: `
# The client names the position by itself.
print(next(order for order in exchange.open_orders() if order["orderHash"] == placed["orderHash"]))`,
  curl: `
POSITION=$(awk 'tolower($1) == "x-log-position:" { print $2 + 0 }' headers.txt)
curl -fsS "$URL/api/v1/orders?trader=$TRADER" -H "X-Min-Log-Position: $POSITION"`,
  typescript: `
const position = placed.headers.get('X-Log-Position') ?? '';
const { orders } = await read(\`/api/v1/orders?trader=\${wallet.address}\`, { 'X-Min-Log-Position': position });
console.log(orders.find((each: { orderHash: string }) => each.orderHash === orderHash));`,
}, {
  title: 'Cancel it with a signature',
  text: 'Each cancel has a signature of its own, which is good until its deadline. Without signatures (`cancelAuth` is open) the headers are ignored.',
  python: `
print(exchange.cancel(placed["orderHash"], market["id"]))`,
  curl: `
ORDER_HASH=$(node -p "require('./placed.json').orderHash")
DEADLINE=$(($(date +%s) + 600))
echo "{ \\"orderHash\\": \\"$ORDER_HASH\\", \\"trader\\": \\"$TRADER\\", \\"deadline\\": $DEADLINE }" > cancel.json
curl -fsS -X DELETE "$URL/api/v1/orders/$ORDER_HASH?marketId=$MARKET" \\
  -H "X-Cancel-Signature: $(node sign.mjs cancel cancel.json)" -H "X-Cancel-Deadline: $DEADLINE"`,
  typescript: `
const deadline = serverTime + 600;
const cancel = { orderHash, trader: wallet.address, deadline };
const cancelSignature = await wallet.signTypedData(orderDomain, signedActions.cancel.types, cancel);
const cancelled = await fetch(\`\${url}/api/v1/orders/\${orderHash}?marketId=\${market.id}\`, {
  method: 'DELETE', headers: { 'X-Cancel-Signature': cancelSignature, 'X-Cancel-Deadline': String(deadline) },
});
if (!cancelled.ok) throw new Error(await cancelled.text());
console.log(await cancelled.json());`,
}];

/** The quick start as a part of an HTML page, for a service at this URL. */
export function quickStartHtml(url: string): string {
  return [
    '<main class="quick-start">',
    '<h1>Quick start</h1>',
    '<p>Each column is one program: run its blocks one after the other in bash, or put them into one file, <code>quick-start.mts</code> or <code>quick-start.py</code>. '
    + `In an empty folder, ${RUN}. ${RUN_PYTHON}. Below is every endpoint.</p>`,
    ...STEPS.map(({ title, text, ...ways }, index) => [
      `<h2>${index + 1}. ${escaped(title)}</h2>`,
      `<p>${escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')}</p>`,
      `<div class="ways">${LANGUAGES.map(([key, name, language]) => block(name, language, ways[key].replaceAll(LOCAL_URL, url))).join('')}</div>`,
    ].join('\n')),
    '</main>',
  ].join('\n');
}

/** How the TypeScript is run: by Node alone where it strips types, else by a package that does. */
const RUN = '<code>npm install ethers@6</code>, and then <code>node quick-start.mts</code> with Node 22.18 or later, or '
  + '<code>npx tsx quick-start.mts</code> with Node 20';

/** The Python is the client's, which does by itself what the others show. */
const RUN_PYTHON = 'For Python, <code>pip install ./client/python</code> in the exchange\'s sources';

const LANGUAGES = [['curl', 'curl', 'bash'], ['typescript', 'TypeScript', 'typescript'], ['python', 'Python', 'python']] as const;

function block(name: string, language: string, code: string): string {
  return `<figure><figcaption>${name}</figcaption><pre><code class="language-${language}">${escaped(code.trim())}\n</code></pre></figure>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** The style of that part. */
export const QUICK_START_CSS = `
.quick-start { max-width: 1460px; margin: 0 auto; padding: 20px; font-family: sans-serif; color: #3b4151; line-height: 1.5; }
.quick-start h2 { margin: 1.6em 0 0.2em; font-size: 1.1em; }
.quick-start p { margin: 0.3em 0 0.8em; max-width: 60em; }
.quick-start .ways { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(32em, 100%), 1fr)); gap: 12px; }
.quick-start figure { margin: 0; min-width: 0; border: 1px solid #d8dde7; border-radius: 4px; background: #fff; }
.quick-start figcaption { padding: 6px 12px; border-bottom: 1px solid #d8dde7; font-size: 0.8em; font-weight: bold; }
.quick-start pre { margin: 0; padding: 12px; overflow-x: auto; font-size: 0.8em; line-height: 1.45; }
.quick-start code { font-family: monospace; }
`;
