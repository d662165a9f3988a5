/** Signer recovery: both backends against ethers, and every signature that must be refused. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { SigningKey, Wallet, computeAddress, getBytes, id, toBeHex, zeroPadValue } from 'ethers';
import fc from 'fast-check';
import { createKeccak256, orderTypes, prepareDomain, type Keccak256 } from '../../command/signing/typed-data.js';
import { toHex } from '../../engine/records/hex.js';
import {
  createSignerRecovery, loaders, normalSignature, type Backend, type RecoverKey, type RecoveryFailure, type SignerRecovery,
} from '../../command/signing/recover.js';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const key = new SigningKey(id('a trader'));
const address = computeAddress(key).toLowerCase();
const digest = getBytes(id('a digest'));
const signed = key.sign(digest);

const word = (value: bigint | string) => zeroPadValue(typeof value === 'string' ? value : toBeHex(value), 32).slice(2);
const signature = (r: bigint | string, s: bigint | string, v: number) => Buffer.from(`${word(r)}${word(s)}${v.toString(16).padStart(2, '0')}`, 'hex');
const otherV = signed.v === 27 ? 28 : 27;

/** No point of the curve has this x: 5^3 + 7 is not a square modulo its prime. */
const NO_POINT = 5n;

const refused: readonly [string, Buffer, RecoveryFailure][] = [
  ['nothing', Buffer.alloc(0), 'length'],
  ['64 bytes (EIP-2098)', signature(signed.r, signed.s, 27).subarray(0, 64), 'length'],
  ['66 bytes', Buffer.concat([signature(signed.r, signed.s, signed.v), Buffer.alloc(1)]), 'length'],
  ['v of 2', signature(signed.r, signed.s, 2), 'v'],
  ['v of 26', signature(signed.r, signed.s, 26), 'v'],
  ['v of 29', signature(signed.r, signed.s, 29), 'v'],
  ['v of 255', signature(signed.r, signed.s, 255), 'v'],
  ['all zero', Buffer.alloc(65), 'r'],
  ['r of 0', signature(0n, signed.s, 27), 'r'],
  ['r of n', signature(ORDER, signed.s, 27), 'r'],
  ['r of 2^256-1', signature(2n ** 256n - 1n, signed.s, 27), 'r'],
  ['s of 0', signature(signed.r, 0n, 27), 's'],
  ['s of n', signature(signed.r, ORDER, 27), 's'],
  ['s of 2^256-1', signature(signed.r, 2n ** 256n - 1n, 27), 's'],
  ['the same signature with high s', signature(signed.r, ORDER - BigInt(signed.s), otherV), 'high_s'],
  ['s of n/2 rounded up', signature(signed.r, ORDER / 2n + 1n, 27), 'high_s'],
  ['s of n-1', signature(signed.r, ORDER - 1n, 27), 'high_s'],
  ['an r of no point', signature(NO_POINT, signed.s, 27), 'no_key'],
];

/** Where the package brings its library along; elsewhere the service runs on WebAssembly. */
const hasNative = ['linux-x64', 'darwin-arm64', 'win32-x64'].includes(`${process.platform}-${process.arch}`);
const backends: readonly Backend[] = hasNative ? ['native', 'wasm'] : ['wasm'];

for (const backend of backends) {
  describe(`signer recovery, ${backend}`, () => {
    let recovery: SignerRecovery;
    before(async () => { recovery = await createSignerRecovery(await createKeccak256(), [backend]); });

    it('says which backend it is', () => { assert.equal(recovery.backend, backend); });

    for (const [name, bytes, failure] of refused) {
      it(`refuses ${name}`, () => { assert.deepEqual(recovery.recover(digest, bytes), { ok: false, failure }); });
    }

    for (const v of [signed.v, signed.v - 27]) {
      it(`takes v of ${v}`, () => { assert.deepEqual(recovery.recover(digest, signature(signed.r, signed.s, v)), { ok: true, signer: address }); });
    }

    it('takes the largest s that is low', () => {
      assert.equal(recovery.recover(digest, signature(signed.r, ORDER / 2n, 27)).ok, true);
    });

    it('finds another signer when v or the digest is another', () => {
      for (const found of [recovery.recover(digest, signature(signed.r, signed.s, otherV)), recovery.recover(getBytes(id('b')), getBytes(signed.serialized))]) {
        assert.equal(found.ok, true);
        assert.notEqual(found.ok && found.signer, address);
      }
    });
  });
}

describe('signer recovery', () => {
  let keccak256: Keccak256;
  let first: SignerRecovery;
  let wasm: SignerRecovery;
  before(async () => {
    keccak256 = await createKeccak256();
    first = await createSignerRecovery(keccak256);
    wasm = await createSignerRecovery(keccak256, ['wasm']);
  });

  it('agrees between backends, and with ethers where there is a signer, on random keys, digests and broken signatures', () => {
    const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
    const aBreak = fc.option(fc.record({ at: fc.integer({ min: 0, max: 63 }), by: fc.integer({ min: 1, max: 255 }) }));
    fc.assert(fc.property(bytes(32), bytes(32), aBreak, (secret, message, broken) => {
      fc.pre(BigInt(toHex(secret)) > 0n && BigInt(toHex(secret)) < ORDER);
      const signer = new SigningKey(toHex(secret));
      const made = getBytes(signer.sign(message).serialized);
      if (broken !== null) made[broken.at]! ^= broken.by;
      const found = first.recover(message, made);
      assert.deepEqual(found, wasm.recover(message, made));
      if (broken === null) assert.deepEqual(found, { ok: true, signer: computeAddress(signer).toLowerCase() });
      else assert.notDeepEqual(found, { ok: true, signer: computeAddress(signer).toLowerCase() });
    }), { numRuns: 150 });
  });

  it('finds the wallet that signed an order with signTypedData', async () => {
    const domain = { name: 'Settlement', version: '1', chainId: 137, verifyingContract: `0x${'c0'.repeat(20)}` } as const;
    const wallet = new Wallet(id('another trader'));
    const order = {
      marketId: id('a market'), trader: wallet.address.toLowerCase(), side: 1, outcome: 0, price: 999_999, size: '18446744073709551615',
      nonce: '9007199254740993', expiration: '18446744073709551615',
    } as const;
    const made = await wallet.signTypedData(domain, { Order: [...orderTypes.Order] }, { ...order, makerFeeRecipient: `0x${'0'.repeat(40)}` });
    const found = first.recover(prepareDomain(keccak256, domain).orderDigest(order), getBytes(made));
    assert.deepEqual(found, { ok: true, signer: order.trader });
  });

  it('writes v as 27 or 28, whichever way it came', () => {
    const forms = [0, 27, 1, 28].map((v) => normalSignature(signature(1n, 2n, v)).slice(-4));
    assert.deepEqual(forms, ['021b', '021b', '021c', '021c']);
  });

  it('passes over a native library that does not load or that errs', async () => {
    const good = await loaders.wasm();
    const flawed: (() => Promise<RecoverKey>)[] = [
      () => Promise.reject(new Error('no native build was found')),
      () => Promise.resolve(() => undefined),
      () => Promise.resolve((rs, _, message) => good(rs, 1, message)),
      () => Promise.resolve(() => { throw new Error('a crash'); }),
    ];
    for (const loadFlawed of flawed) {
      const found = await createSignerRecovery(keccak256, ['native', 'wasm'], { native: loadFlawed, wasm: () => Promise.resolve(good) });
      assert.equal(found.backend, 'wasm');
      assert.deepEqual(found.recover(digest, getBytes(signed.serialized)), { ok: true, signer: address });
    }
  });

  it('is native where the library is, and never by elliptic', async () => {
    assert.equal(first.backend, backends[0]);
    const loaded = await loadedByRecovery();
    assert.deepEqual(loaded.filter((path) => path.includes('elliptic')), []);
    assert.equal(loaded.filter((path) => /secp256k1.*\.node$/.test(path)).length, hasNative ? 1 : 0, 'native libraries loaded');
  });

  it('does not start without a backend that works', async () => {
    await assert.rejects(createSignerRecovery(() => new Uint8Array(32)), (error: AggregateError) => {
      assert.equal(error.message, 'no secp256k1 backend works here (tried native, wasm)');
      assert.deepEqual(error.errors.map(String), [
        'Error: secp256k1 (native) does not recover a known signer', 'Error: secp256k1 (wasm) does not recover a known signer',
      ]);
      return true;
    });
  });
});

/** The CommonJS modules that a process has loaded when it has recovered a signer: a process of its own, since other test files load more here. */
async function loadedByRecovery(): Promise<readonly string[]> {
  const module = (path: string) => JSON.stringify(new URL(`../../command/signing/${path}.js`, import.meta.url).href);
  const program = `
    import { createRequire } from 'node:module';
    import { createSignerRecovery } from ${module('recover')};
    import { createKeccak256 } from ${module('typed-data')};
    await createSignerRecovery(await createKeccak256());
    console.log(JSON.stringify(Object.keys(createRequire(${module('recover')}).cache)));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  return JSON.parse(stdout) as string[];
}
