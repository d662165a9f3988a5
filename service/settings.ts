/** Parsers of settings: text from the environment to a value, or a SettingError that says what would be right. */
import { isIP } from 'node:net';
import { ADDRESS, isAddress } from '../engine/records/hex.js';

/** The text is not a value of this setting; the message says what is. */
export class SettingError extends Error {
  constructor(expected: string) {
    super(expected);
    this.name = 'SettingError';
  }
}

export type Parse<T> = (text: string) => T;

/** A whole number within bounds, both inclusive. */
export function integer(min: number, max: number): Parse<number> {
  return (text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) throw new SettingError(`expected a whole number of ${min} to ${max}`);
    return value;
  };
}

export function oneOf<const T extends string>(...values: readonly T[]): Parse<T> {
  return (text) => {
    const value = values.find((each) => each === text);
    if (value === undefined) throw new SettingError(`expected one of ${values.join(', ')}`);
    return value;
  };
}

export function flag(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new SettingError('expected true or false');
  return text === 'true';
}

/** Any text of 1 to `max` characters without control characters. */
export function text(max: number): Parse<string> {
  return (value) => {
    // eslint-disable-next-line no-control-regex
    if (value.length > max || /[\u0000-\u001f]/.test(value)) throw new SettingError(`expected at most ${max} characters, none of them control characters`);
    return value;
  };
}

/** An EVM address, lower-cased. */
export function address(value: string): string {
  if (!isAddress(value)) throw new SettingError(`expected an address: ${ADDRESS.meaning}`);
  return value.toLowerCase();
}

/** An IP address or host name to listen on. */
export function host(value: string): string {
  if (isIP(value) === 0 && !/^[a-zA-Z0-9]([a-zA-Z0-9.-]{0,252})$/.test(value)) {
    throw new SettingError('expected an IP address or a host name, without port or scheme');
  }
  return value;
}

/** A Postgres connection URI. The text never appears in the error: it may hold a password. */
export function databaseUrl(value: string): string {
  if (!/^postgres(ql)?:\/\//.test(value) || !URL.canParse(value)) {
    throw new SettingError('expected postgres://user:password@host:port/database');
  }
  return value;
}

/** A URL of the log: its scheme says which store it is. The text never appears in the error. */
export function logUrl(value: string): string {
  try {
    return databaseUrl(value);
  } catch {
    throw new SettingError('expected postgres://user:password@host:port/database, which is the one store of the log that is built in');
  }
}

/** How many reverse proxies stand in front: `false` for none. The eleventh is the front of `npm run start:roles`, which adds itself. */
export function proxies(value: string): number {
  if (value === 'false') return 0;
  try {
    return integer(0, 11)(value);
  } catch {
    throw new SettingError('expected false, or the number of proxies in front (1 to 10)');
  }
}

/** Whether only this machine can reach an address that is listened on. */
export function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}
