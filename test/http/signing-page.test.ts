/** docs/signing.md: its vector is what the service makes of the order, and its table says of every error what to do. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createSignerRecovery, signatureBytes } from '../../command/signing/recover.js';
import { createKeccak256, prepareDomain, type OrderDomain, type OrderFields } from '../../command/signing/typed-data.js';
import { toHex } from '../../engine/records/hex.js';
import { errors } from '../../service/api/errors.js';

const page = readFileSync('docs/signing.md', 'utf8');

describe('docs/signing.md', () => {
  it('has a vector that the service takes', async () => {
    const { domain, order, digest, signature } = JSON.parse(/```json\n([^]*?)```/.exec(page)![1]!) as {
      domain: OrderDomain; order: OrderFields; digest: string; signature: string;
    };
    const keccak256 = await createKeccak256();
    const given = prepareDomain(keccak256, domain).orderDigest(order);
    assert.equal(toHex(given), digest);
    assert.deepEqual((await createSignerRecovery(keccak256)).recover(given, signatureBytes(signature)!), { ok: true, signer: order.trader });
  });

  it('says of every error what to do, with its status, and to send again exactly what may pass', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \| (\d+) \| (retry|sign again|give up) \| (.*) \|$/gm)].map(([, code, status, what]) => [code, status, what === 'retry']);
    assert.deepEqual(rows, Object.entries(errors).map(([code, { status, retry }]) => [code, String(status), retry]));
  });
});
