/** An audit's checkpoint: the engine's state, how far everything was checked, and what was counted; one file, replaced atomically. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { formatDigest } from '../../engine/records/codec.js';
import type { Engine } from '../../engine/run/stepping.js';
import type { Restored } from '../../engine/run/snapshot-state.js';
import { decodeSnapshot, encodeSnapshot } from '../../engine/run/snapshot.js';
import { viewOf } from '../../engine/run/view.js';
import { replaceDurably } from '../../service/machine/durable-files.js';
import type { ChainProgress } from './chain/chain-audit.js';
import type { OpenRelayRecord } from './chain/relays.js';
import type { RecordedSync } from './chain/synced-positions.js';
import { CannotAudit, Differs } from './difference.js';
import type { AuditSource } from './source/source.js';

/** What the audit has counted itself. */
export interface Counts {
  readonly ids: number;
  readonly events: number;
  readonly orderSignatures: number;
  readonly cancelSignatures: number;
  /** Cancels that the history has without a signature, and not from the chain. */
  readonly unsignedCancels: number;
  readonly matchedFills: number;
  readonly settledFills: number;
  readonly failedFills: number;
  readonly relays: number;
  readonly permits: number;
  readonly syncedPositions: number;
}

export interface AuditCheckpoint {
  /** The next position, and the digest before it. */
  readonly position: number;
  readonly digest: string;
  /** What was checked, and against which domains and contracts: an audit with other checks may not go on from here. */
  readonly scope: string;
  readonly counts: Counts;
  readonly chains: readonly ChainProgress[];
  /** Holdings that the history must support, and that were not compared yet. */
  readonly synced: readonly RecordedSync[];
  /** Requests to the relayer that have not ended. */
  readonly relays: readonly OpenRelayRecord[];
}

const FORMAT = 'prediction-exchange audit checkpoint 3';
const CHECKSUM_BYTES = 32;

/** Throws CannotAudit when the file cannot be written. */
export async function saveCheckpoint(path: string, engine: Engine, parts: Pick<AuditCheckpoint, 'scope' | 'counts' | 'chains' | 'synced' | 'relays'>): Promise<void> {
  const head: AuditCheckpoint = { position: viewOf(engine).position, digest: formatDigest(engine.digest), ...parts };
  const body = Buffer.concat([Buffer.from(`${FORMAT}\n${JSON.stringify(head)}\n`), encodeSnapshot(engine)]);
  await replaceDurably(path, Buffer.concat([createHash('sha256').update(body).digest(), body])).catch((cause: unknown) => {
    throw new CannotAudit(`the checkpoint ${path} cannot be written: ${(cause as Error).message}`, { cause });
  });
}

/** Undefined where there is no file. Throws CannotAudit for a file that is damaged, or that other checks or another program wrote. */
export async function loadCheckpoint(path: string, scope: string): Promise<(AuditCheckpoint & { readonly restored: Restored }) | undefined> {
  const data = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new CannotAudit(`the checkpoint ${path} cannot be read: ${error.message}`, { cause: error });
  });
  if (data === undefined) return undefined;
  const refuse = (why: string): never => { throw new CannotAudit(`the checkpoint ${path} cannot be used: ${why}; delete it to begin at position 0`); };
  const body = data.subarray(CHECKSUM_BYTES);
  if (!createHash('sha256').update(body).digest().equals(data.subarray(0, CHECKSUM_BYTES))) return refuse('it is damaged');
  const [formatEnd, headEnd] = [body.indexOf('\n'), body.indexOf('\n', FORMAT.length + 1)];
  if (body.toString('utf8', 0, formatEnd) !== FORMAT) return refuse('another version of this program wrote it');
  const head = JSON.parse(body.toString('utf8', formatEnd + 1, headEnd)) as AuditCheckpoint;
  if (head.scope !== scope) return refuse('it belongs to an audit with other checks, or of an exchange with other contracts or signing domains');
  const restored = decodeSnapshot(Buffer.from(body.subarray(headEnd + 1)));
  if (restored === undefined) return refuse('a version of this program with other rules wrote it');
  return { ...head, restored };
}

const DIGEST_AT_END = /,"digest":"(0x[0-9a-f]{64})"\}$/;

/** Throws CannotAudit unless the source has the checkpoint's digest before its position. */
export async function checkBelongs(path: string, { position, digest }: Pick<AuditCheckpoint, 'position' | 'digest'>, source: AuditSource): Promise<void> {
  if (position === 0) return;
  const found = await digestBefore(source, position);
  if (found === digest) return;
  throw new CannotAudit(`the checkpoint ${path} is of another history: it has digest ${digest} at position ${position - 1}, and ${source.name} has ${found ?? 'no such position'}; `
    + 'if this history was audited before, it was rewritten since: keep the checkpoint, and audit from position 0 with another one');
}

async function digestBefore(source: AuditSource, position: number): Promise<string | undefined> {
  if (source.length !== undefined && position > source.length) return undefined;
  try {
    for await (const [line] of source.lines(position - 1, position)) return DIGEST_AT_END.exec(line?.toString() ?? '')?.[1];
  } catch (error) {
    if (!(error instanceof Differs)) throw error;
  }
  return undefined;
}
