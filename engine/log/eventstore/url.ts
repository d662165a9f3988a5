/** The URL of a log in EventStoreDB (KurrentDB): `esdb://user:password@host:port?tls=true&streamPrefix=exchange`. */

export interface EventStoreAddress {
  /**
   * `host:port` of each node. One without `discover` is the server itself; otherwise the cluster's members are asked
   * for the leader.
   */
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly discover: boolean;
  readonly tls: boolean;
  readonly user: { readonly name: string; readonly password: string } | undefined;
  /** Files in PEM: the authority that signed the server's certificate, and this client's certificate with its key. */
  readonly tlsCAFile: string | undefined;
  readonly userCertFile: string | undefined;
  readonly userKeyFile: string | undefined;
  /** The streams are `PREFIX-commands` and `PREFIX-outcomes`. */
  readonly streamPrefix: string;
}

/**
 * The URL names no log in EventStoreDB. The message says what is wrong without showing the URL, which may hold a
 * password.
 */
export class BadEventStoreUrl extends Error {
  constructor(what: string) {
    super(`${what}; give esdb://user:password@host:2113, esdb+discover://user:password@host:2113 for a cluster, or esdb://host:2113?tls=false`);
    this.name = 'BadEventStoreUrl';
  }
}

const SCHEME = /^(?:esdb|kurrentdb)(\+discover)?:\/\//i;
const PARTS = /^(?:(?<name>[^:@/?#]+):(?<password>[^@/?#]*)@)?(?<nodes>[^@/?#]+)\/?(?:\?(?<options>[^#]*))?$/;
const NODE = /^(?<host>[a-zA-Z0-9._-]+|\[[0-9a-fA-F:.]+\])(?::(?<port>\d{1,5}))?$/;
const DEFAULT_PORT = 2_113;

/** What may stand behind the `?`. Other options of the client either break a promise of the log or have no effect. */
const OPTIONS = ['tls', 'tlsCAFile', 'userCertFile', 'userKeyFile', 'nodePreference', 'streamPrefix'] as const;
type Option = typeof OPTIONS[number];

/** A stream whose name begins with `$` belongs to the server. */
const PREFIX = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$/;

/** Whether the URL is meant to name a log in EventStoreDB, rightly or wrongly. */
export function namesEventStore(url: string): boolean {
  return SCHEME.test(url);
}

/**
 * Parses it here, since the client's own parser puts the whole URL into its errors and warnings. Throws
 * BadEventStoreUrl.
 */
export function parseEventStoreUrl(url: string): EventStoreAddress {
  const scheme = SCHEME.exec(url);
  const parts = PARTS.exec(scheme === null ? '' : url.slice(scheme[0].length))?.groups;
  if (parts === undefined) throw new BadEventStoreUrl('the URL cannot be read');
  const nodes = (parts['nodes'] ?? '').split(',').map(nodeOf);
  const given = optionsOf(parts['options'] ?? '');
  if ((given.get('nodePreference') ?? 'leader').toLowerCase() !== 'leader') {
    throw new BadEventStoreUrl('nodePreference must be leader, or be left out: other nodes answer reads from the past');
  }
  if (given.has('userCertFile') !== given.has('userKeyFile')) throw new BadEventStoreUrl('userCertFile and userKeyFile are given together or not at all');
  const tls = given.get('tls') ?? 'true';
  if (tls !== 'true' && tls !== 'false') throw new BadEventStoreUrl('tls is true or false');
  const streamPrefix = given.get('streamPrefix') ?? 'exchange';
  if (!PREFIX.test(streamPrefix)) throw new BadEventStoreUrl('streamPrefix is 1 to 100 letters, digits, dots, dashes and underscores, the first a letter or digit');
  return {
    nodes, discover: scheme?.[1] !== undefined || nodes.length > 1, tls: tls === 'true', streamPrefix,
    user: parts['name'] === undefined ? undefined : { name: decoded(parts['name']), password: decoded(parts['password'] ?? '') },
    tlsCAFile: given.get('tlsCAFile'), userCertFile: given.get('userCertFile'), userKeyFile: given.get('userKeyFile'),
  };
}

/** Hosts and streams: what the URL names, without its secrets. */
export function placeOfEventStore({ nodes, streamPrefix }: EventStoreAddress): string {
  return `${nodes.map(({ host, port }) => `${host}:${port}`).join(',')}, streams ${streamPrefix}-*`;
}

function nodeOf(text: string): { host: string; port: number } {
  const { host, port } = NODE.exec(text)?.groups ?? {};
  const number = Number(port ?? DEFAULT_PORT);
  if (host === undefined || number < 1 || number > 65_535) throw new BadEventStoreUrl('the URL has a host or a port that cannot be read');
  return { host, port: number };
}

function optionsOf(query: string): ReadonlyMap<Option, string> {
  const given = new Map<Option, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    const option = OPTIONS.find((each) => each.toLowerCase() === name.toLowerCase());
    if (option === undefined || given.has(option)) throw new BadEventStoreUrl(`the options of the URL are ${OPTIONS.join(', ')}, each once`);
    if (value === '') throw new BadEventStoreUrl(`the option ${option} has no value`);
    given.set(option, value);
  }
  return given;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new BadEventStoreUrl('user or password cannot be decoded: write special characters as %40 and so on');
  }
}
