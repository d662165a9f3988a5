/** Parsers of settings: each turns text from the environment into a value, or throws a SettingError that says what was expected. */
import { isIP } from 'node:net';
import type { PlannedHalt } from '../command/orders/planned-halts.js';
import { BadEventStoreUrl, namesEventStore, parseEventStoreUrl } from '../engine/log/eventstore/url.js';

/** The text is not a value of this setting. The message says what was expected. */
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
    if (!(value >= min && value <= max)) throw new SettingError(`expected a whole number from ${min} to ${max}`);
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

/** A list, separated by commas or spaces, in which nothing is twice. `none` is the empty list. */
export function list<T>(parse: Parse<T>): Parse<readonly T[]> {
  return (text) => {
    if (text === 'none') return [];
    const values = text.split(/[\s,]+/).filter((each) => each !== '').map(parse);
    if (values.length === 0) throw new SettingError('expected a list, or none');
    if (new Set(values).size < values.length) throw new SettingError('expected a list that names each once');
    return values;
  };
}

/** The URL of a server over HTTP, to which paths are added. */
export const httpUrl = urlOf('http', 'https');

/** The URL of a server over WebSocket, to which paths are added. */
export const webSocketUrl = urlOf('ws', 'wss');

/** The text never appears in the error: a path may hold a key. A user or password is refused, since `fetch` refuses it in every request. */
function urlOf(scheme: string, secureScheme: string): Parse<string> {
  return (value) => {
    const parsed = /^[a-z]+:\/\/[^\s?#\\]*[^\s?#\\/]$/.test(value) && URL.canParse(value) ? new URL(value) : undefined;
    if (parsed === undefined || ![scheme, secureScheme].includes(parsed.protocol.slice(0, -1)) || parsed.username !== '' || parsed.password !== '') {
      throw new SettingError(`expected ${scheme}://host:port or ${secureScheme}://host, without user, password, query and a slash at the end`);
    }
    return value;
  };
}

/** An IP address or host name to listen on. */
export function host(value: string): string {
  if (isIP(value) === 0 && !/^[a-zA-Z0-9]([a-zA-Z0-9.-]{0,252})$/.test(value)) {
    throw new SettingError('expected an IP address or a host name, without port or scheme');
  }
  return value;
}

/** Where a server listens; port 0 is any free one. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** `port` of the host `usual`, or `host:port`; an IPv6 address is in brackets. */
export function hostPort(usual: string): Parse<HostPort> {
  return (value) => {
    const { bracketed, name = usual, port = '' } = /^(?:(?:\[(?<bracketed>[0-9a-fA-F.]*:[0-9a-fA-F:.]*)\]|(?<name>[^:]*)):)?(?<port>\d+)$/.exec(value)?.groups ?? {};
    try {
      return { host: host(bracketed ?? name), port: integer(0, 65_535)(port) };
    } catch {
      throw new SettingError('expected a port from 0 to 65535, or host:port');
    }
  };
}

/** The text that `hostPort` reads. */
export function hostPortText({ host: name, port }: HostPort): string {
  return `${isIP(name) === 6 ? `[${name}]` : name}:${port}`;
}

/** A Postgres connection URI. The text never appears in the error: it may hold a password. */
export function databaseUrl(value: string): string {
  if (!/^postgres(ql)?:\/\//.test(value) || !URL.canParse(value)) {
    throw new SettingError('expected postgres://user:password@host:port/database');
  }
  return value;
}

/** The URL of a log in EventStoreDB (KurrentDB). The text never appears in the error: it may hold a password. */
function eventStoreUrl(value: string): string {
  try {
    parseEventStoreUrl(value);
    return value;
  } catch (error) {
    if (error instanceof BadEventStoreUrl) throw new SettingError(error.message);
    throw error;
  }
}

/** The URL of the log; its scheme names the store. The text never appears in the error: it may hold a password. */
export function logUrl(value: string): string {
  if (namesEventStore(value)) return eventStoreUrl(value);
  try {
    return databaseUrl(value);
  } catch {
    throw new SettingError('expected postgres://user:password@host:port/database, or esdb://user:password@host:2113 for an EventStoreDB (KurrentDB)');
  }
}

/** Halts as `FROM/TO REASON`, separated by semicolons; FROM and TO are ISO 8601 in UTC, to the minute or the second. */
export function plannedHalts(value: string): readonly PlannedHalt[] {
  return value.split(';').map((each) => each.trim()).filter((each) => each !== '').map((each) => {
    const [, from = '', to = '', reason = ''] = /^(\S+)\/(\S+)\s+(\S.{0,199})$/.exec(text(300)(each)) ?? [];
    const [fromS, toS] = [secondsOf(from), secondsOf(to)];
    // With a time that is none, this is not so either.
    if (!(fromS < toS)) throw new SettingError('expected FROM/TO REASON with FROM before TO, as 2026-12-01T10:00Z/2026-12-01T10:30Z new database');
    return { fromS, toS, reason };
  });
}

/** NaN for what is not a time in UTC. */
function secondsOf(value: string): number {
  const [, minute, second = '00'] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(\d\d))?Z$/.exec(value) ?? [];
  const ms = Date.parse(`${minute}:${second}Z`);
  // A day that the month does not have becomes one of the next month.
  return Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(`${minute}:${second}`) ? NaN : ms / 1_000;
}

/** The number of trusted proxies in front of the service; `false` is 0. */
export function proxies(value: string): number {
  if (value === 'false') return 0;
  try {
    return integer(0, 10)(value);
  } catch {
    throw new SettingError('expected false, or the number of proxies in front of the service (1 to 10)');
  }
}

/** Whether only this machine can reach a server that listens on the host. */
export function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}
