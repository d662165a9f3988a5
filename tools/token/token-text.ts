/** Bearer tokens as text for operators and as JSON for programs; never with the hash. */
import type { IssuedToken } from '../../service/access/issue-token.js';
import type { StoredToken } from '../../service/access/token-store.js';

const HEAD = ['ID', 'NAME', 'STATE', 'SCOPES', 'ISSUED', 'EXPIRES', 'LAST USED'];

/** A table with one line per token; times in UTC. */
export function tokenTable(tokens: readonly StoredToken[]): string {
  const rows = [HEAD, ...tokens.map((token) => [
    String(token.id), token.name, token.state, token.scopes.join(' '), minuteOf(token.createdAt), minuteOf(token.expiresAt), minuteOf(token.lastUsedAt),
  ])];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ').trimEnd()).join('\n');
}

/** Times are ISO 8601 in UTC, null where there is none. */
export function storedJson({ id, name, state, scopes, createdAt, expiresAt, revokedAt, lastUsedAt }: StoredToken): Record<string, unknown> {
  return { id, name, state, scopes, createdAt, expiresAt, revokedAt, lastUsedAt };
}

/** The same with the token itself. */
export function issuedJson({ text, stored }: IssuedToken): Record<string, unknown> {
  return { ...storedJson(stored), token: text };
}

function minuteOf(time: Date | null): string {
  return time === null ? 'never' : `${time.toISOString().slice(0, 16).replace('T', ' ')}Z`;
}
