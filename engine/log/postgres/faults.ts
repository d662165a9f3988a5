/** What Postgres's errors mean for who cannot connect. */
import { messageOf } from '../../report.js';

/** Of several addresses of a host, the first one's error tells enough. */
function firstOf(error: unknown): unknown {
  return error instanceof AggregateError ? error.errors[0] : error;
}

/** SQLSTATE, or the system's code; empty for another error. */
export function codeOf(error: unknown): string {
  return (firstOf(error) as { readonly code?: string } | undefined)?.code ?? '';
}

/**
 * What waiting cannot mend, and what to do: a user who is not let in (class 28 of SQLSTATE, or the driver's own
 * refusal), a missing database.
 */
export function hopelessFault(error: unknown): { readonly what: string; readonly todo: string } | undefined {
  const code = codeOf(error);
  const message = messageOf(firstOf(error));
  if (code.startsWith('28') || message.startsWith('SASL')) return { what: `does not let this user in (${message})`, todo: 'correct user and password' };
  if (code === '3D000') return { what: `is not there (${message})`, todo: 'create the database, or correct its name' };
  return undefined;
}

/** Why Postgres cannot be used now, as it may be later. */
export function passingFault(error: unknown): string {
  const code = codeOf(error);
  if (code === 'ECONNREFUSED') return 'it refuses connections (ECONNREFUSED)';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `its host is unknown (${code})`;
  if (code === '57P03') return `it is starting up or shutting down (${messageOf(firstOf(error))})`;
  if (code === 'ENOENT') return 'its socket is not there (ENOENT)';
  return `it cannot be used (${messageOf(error)})`;
}
