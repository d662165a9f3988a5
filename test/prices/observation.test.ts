/** The providers' numbers as integers of 1e-8 USD: exact for every number of digits, and nothing else is taken for a price. */
import { deepEqual, equal, throws } from 'node:assert/strict';
import fc from 'fast-check';
import { checkNames, decimalE8, isoTimeMs, jsonObject, mantissaE8, positive, timeMs, type SourceName } from '../../command/prices/observation.js';
import { firstPerSecond } from '../../command/prices/price-source.js';

const digits = (maxLength: number): fc.Arbitrary<string> => fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength }).map((each) => each.join(''));
const E8 = 10n ** 8n;

describe('prices: numbers of providers', () => {
  it('decimals are exact up to eight digits, and cut off after that', () => {
    deepEqual(['61409.93', '1', '0.00000001', '0.000000019', '007.5', '92233720368.54775807'].map(decimalE8), [
      6_140_993_000_000n, 100_000_000n, 1n, 1n, 750_000_000n, 2n ** 63n - 1n]);
    fc.assert(fc.property(digits(10), digits(20), (whole, fraction) => {
      equal(decimalE8(`${whole}.${fraction}`), BigInt(whole) * E8 + BigInt(fraction.padEnd(8, '0').slice(0, 8)));
    }));
  });

  it('mantissa and exponent are a decimal number', () => {
    const cases = [['6140993501000', -8, 6_140_993_501_000n], ['5', 0, 500_000_000n], ['5', 2, 50_000_000_000n], ['5', -9, 0n], ['59', -9, 5n], ['0', 40, 0n]] as const;
    for (const [mantissa, exponent, expected] of cases) equal(mantissaE8(mantissa, exponent), expected);
    fc.assert(fc.property(fc.bigInt({ min: 0n, max: 10n ** 12n }), fc.integer({ min: -20, max: 5 }), (mantissa, exponent) => {
      const scaled = exponent >= -8 ? mantissa * 10n ** BigInt(exponent + 8) : mantissa / 10n ** BigInt(-8 - exponent);
      if (scaled < 2n ** 63n) equal(mantissaE8(String(mantissa), exponent), scaled);
    }));
  });

  it('what is not a price in the right form is refused', () => {
    const decimals: readonly unknown[] = [
      '', ' 1', '1 ', '+1', '-1', '1.', '.5', '1e5', '1,5', '0x10', 'Infinity', 'NaN', '١', 1, null, undefined, {}, ['1'], '1'.repeat(21), `1.${'1'.repeat(21)}`,
      '92233720368.54775808',
    ];
    for (const given of decimals) throws(() => decimalE8(given), { name: 'BadMessage' }, String(given));
    for (const given of ['', '-1', '1.0', '1e5', 5, null, '1'.repeat(21)]) throws(() => mantissaE8(given, -8), { name: 'BadMessage' }, String(given));
    for (const exponent of ['-8', 1.5, NaN, Infinity, 41, -41, null]) throws(() => mantissaE8('1', exponent), { name: 'BadMessage' }, String(exponent));
    throws(() => mantissaE8('9223372036854775808', -8), { name: 'BadMessage' });
    throws(() => positive(0n), { name: 'BadMessage', message: 'a price of zero' });
  });

  it('times are milliseconds since the Unix epoch', () => {
    equal(timeMs(1_800_000_000_000), 1_800_000_000_000);
    for (const given of [0, -1, 1.5, NaN, Infinity, 9e15, '1800000000000', null]) throws(() => timeMs(given), { name: 'BadMessage' });
    deepEqual(['2027-01-15T08:00:00Z', '2027-01-15T08:00:00.1Z', '2027-01-15T08:00:00.123999Z'].map(isoTimeMs), [1_800_000_000_000, 1_800_000_000_100, 1_800_000_000_123]);
    for (const given of ['2027-01-15', '2027-01-15T08:00:00', '2027-01-15T08:00:00+01:00', '2027-13-15T08:00:00Z', 'now', 1_800_000_000_000]) {
      throws(() => isoTimeMs(given), { name: 'BadMessage' });
    }
  });

  it('what a provider sends is shown shortly, and without control characters', () => {
    throws(() => jsonObject(`{\u001b[31m\n${'x'.repeat(1_000)}`), { message: `not JSON: {?[31m?${'x'.repeat(113)}` });
  });
});

describe('prices: lists of observations', () => {
  it('are thinned to the first of each second', () => {
    const at = (publishedAtMs: number) => ({ asset: 'BTC', source: 'coinbase', priceE8: BigInt(publishedAtMs), publishedAtMs }) as const;
    deepEqual(firstPerSecond([5_999, 1_500, 1_001, 2_000, 1_002, 5_998].map(at)), [1_001, 2_000, 5_998].map(at));
    deepEqual(firstPerSecond([]), []);
  });

  it('come from real sources or from the simulated one, never from both', () => {
    checkNames(['pyth', 'coinbase', 'binance']);
    checkNames(['simulated']);
    for (const names of [['pyth', 'simulated'], ['simulated', 'binance']] as const satisfies SourceName[][]) throws(() => { checkNames(names); }, /simulated prices cannot be mixed/);
    throws(() => { checkNames(['pyth', 'pyth']); }, /name one twice/);
  });
});
