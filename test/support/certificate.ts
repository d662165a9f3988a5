/** A certificate for a server of the tests: self-signed, so that it is also the authority to trust. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

export interface Certificate {
  /** Both in PEM. */
  readonly certificate: string;
  readonly key: string;
}

/** Tags of ASN.1's DER encoding. */
const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT = 0x06;
const UTF8 = 0x0c;
const UTC_TIME = 0x17;
const DNS_NAME = 0x82;
const IP_ADDRESS = 0x87;
const EXTENSIONS = 0xa3;
const TRUE = Buffer.from([0x01, 0x01, 0xff]);
const VERSION_3 = Buffer.from([0xa0, 0x03, INTEGER, 0x01, 0x02]);

const ECDSA_WITH_SHA256 = '2a8648ce3d040302';
const COMMON_NAME = '550403';
const BASIC_CONSTRAINTS = '551d13';
const SUBJECT_ALTERNATIVE_NAME = '551d11';
const DAY_MS = 86_400_000;

/** For one host by its name or its IPv4 address; valid since yesterday, for a year. See RFC 5280. */
export function makeCertificate(host: string): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(SEQUENCE, object(ECDSA_WITH_SHA256));
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, object(COMMON_NAME), der(UTF8, Buffer.from('a test server')))));
  const now = Date.now();
  const names = der(SEQUENCE, isIPv4(host) ? der(IP_ADDRESS, Buffer.from(host.split('.').map(Number))) : der(DNS_NAME, Buffer.from(host)));
  const content = der(SEQUENCE,
    VERSION_3, der(INTEGER, Buffer.from([1]), randomBytes(8)), algorithm, name,
    der(SEQUENCE, time(now - DAY_MS), time(now + 365 * DAY_MS)),
    name, publicKey.export({ type: 'spki', format: 'der' }),
    der(EXTENSIONS, der(SEQUENCE,
      der(SEQUENCE, object(BASIC_CONSTRAINTS), TRUE, der(OCTET_STRING, der(SEQUENCE, TRUE))),
      der(SEQUENCE, object(SUBJECT_ALTERNATIVE_NAME), der(OCTET_STRING, names)))));
  const whole = der(SEQUENCE, content, algorithm, der(BIT_STRING, Buffer.from([0]), sign('sha256', content, privateKey)));
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64').replace(/.{64}/g, '$&\n').trimEnd()}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function object(identifier: string): Buffer {
  return der(OBJECT, Buffer.from(identifier, 'hex'));
}

/** As YYMMDDHHMMSSZ. */
function time(ms: number): Buffer {
  return der(UTC_TIME, Buffer.from(`${new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14)}Z`));
}
