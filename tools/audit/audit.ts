/** An audit: everything that a history says, from position 0, against this program's engine, its signatures, the chains and the read models. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Rpc } from '../../command/chain/chain.js';
import { formatDigest } from '../../engine/records/codec.js';
import { projections } from '../../projections/catalogue.js';
import type { ChainTail } from './chain/chain-tail.js';
import { createChainAudit, type ChainAudit } from './chain/chain-audit.js';
import { finalBlock } from './chain/chain-reader.js';
import { openPositionStore, type PositionStore } from './chain/position-store.js';
import { checkBelongs, loadCheckpoint, saveCheckpoint } from './checkpoint.js';
import type { AuditOptions, AuditEnd } from './audit-options.js';
import { CannotAudit, Differs, earlier, stopIfAsked, type Difference } from './difference.js';
import { findings } from './findings.js';
import { openIdStore, type IdStore } from './records/id-store.js';
import { compareTables } from './read-models/compare-tables.js';
import { pinReadModels, type LiveReadModels } from './read-models/live-read-models.js';
import { rebuildFrom } from './read-models/rebuilt-read-models.js';
import { namedRepeat, repeatedId } from './records/repeated-records.js';
import { createReplay, settled, type Replay } from './replay.js';
import type { AuditReport } from './report.js';
import { unsupportedSync } from './synced-by-history.js';
import { createSignaturePool, type SignaturePool } from './signatures/signature-pool.js';
import type { AuditSource } from './source/source.js';

const CHECKPOINT_EVERY = 500_000;

/** Makes all checks that the options allow. Throws CannotAudit when one that was asked for cannot be made. */
export async function audit(options: AuditOptions): Promise<AuditReport> {
  const began = performance.now();
  const { source, threads } = options;
  const signatures = threads === 0 || source.described === undefined ? undefined : createSignaturePool(source.described.domains, threads);
  const places = openPlaces(options);
  try {
    const ended = await run(options, signatures, places);
    return findings(options, ended, (performance.now() - began) / 1_000);
  } finally {
    places.close();
    await signatures?.close();
  }
}

/** The audit's own files, by position of the history: beside the checkpoint, or in a folder that is deleted at the end. */
interface Places {
  open(length: number): Opened;
  close(): void;
}

interface Opened {
  /** Undefined when no chain is compared. */
  readonly store: PositionStore | undefined;
  readonly ids: IdStore;
}

function openPlaces({ rpcs, checkpoint }: AuditOptions): Places {
  const opened: { close(): void }[] = [];
  const keep = checkpoint !== undefined;
  const directory = keep ? undefined : mkdtempSync(join(tmpdir(), 'prediction-exchange-audit-'));
  const open = <T extends { close(): void }>(what: 'positions' | 'ids', length: number, work: (path: string) => T): T => {
    try {
      const store = work(checkpoint === undefined ? join(directory ?? tmpdir(), what) : `${checkpoint.path}.${what}`);
      opened.push(store);
      return store;
    } catch (cause) {
      const why = (cause as Error).message;
      throw new CannotAudit(length === 0
        ? `${checkpoint === undefined ? 'a temporary file' : `the checkpoint ${checkpoint.path}`} cannot be written: its file of ${what}: ${why}`
        : `the file of ${what} beside the checkpoint cannot be used (${why}): delete the checkpoint to begin at position 0`, { cause });
    }
  };
  return {
    open: (length) => ({
      store: rpcs === undefined || rpcs.size === 0 ? undefined : open('positions', length, (path) => openPositionStore({ path, length, keep })),
      ids: open('ids', length, (path) => openIdStore({ path, length, keep })),
    }),
    close() {
      for (const store of opened) store.close();
      if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function run(options: AuditOptions, signatures: SignaturePool | undefined, places: Places): Promise<AuditEnd> {
  const { source, rpcs = new Map<number, Rpc>(), checkpoint, unsignedCancels = false, patienceMs, passedOverAnchors = new Set<string>() } = options;
  const passedOver = { passOverAnchors: [...passedOverAnchors], passOverFills: [...options.passedOverFills ?? []] };
  const compared = [...rpcs].map(([chainId, rpc]) => ({ rpc, patienceMs, chain: { ...chainNamed(source, chainId), ...passedOver } }));
  const heads = new Map(await Promise.all(compared.map(async (each) => [each.chain.chainId, await finalBlock(each)] as const)));
  const scope = scopeOf(options);
  const kept = checkpoint === undefined ? undefined : await loadCheckpoint(checkpoint.path, scope);
  if (checkpoint !== undefined && kept !== undefined) await checkBelongs(checkpoint.path, kept, source);
  const { store, ids } = places.open(kept?.position ?? 0);
  if (kept !== undefined && store !== undefined && kept.position > 0 && store.digestAt(kept.position - 1) !== kept.digest) {
    throw new CannotAudit('the file of positions beside the checkpoint is of another history: delete both to begin at position 0');
  }
  let chains: readonly ChainAudit[] = [];
  const replay = createReplay((view) => {
    chains = store === undefined
      ? []
      : compared.map(({ chain, rpc }) => createChainAudit({
          chain, rpc, view, store, patienceMs, kept: kept?.chains.find(({ chainId }) => chainId === chain.chainId),
        }));
    return {
      signatures, store, ids, passedOverAnchors, cancelsAreSigned: source.described?.cancelAuth === 'required' && !unsignedCancels,
      chainOf: (chainId) => chains.find((each) => each.chainId === chainId),
    };
  }, kept);
  const save = checkpoint === undefined
    ? undefined
    : async (): Promise<void> => {
      store?.flush();
      ids.flush();
      const { engine, counts, synced, relays } = replay;
      await saveCheckpoint(checkpoint.path, engine, { scope, counts, synced, relays, chains: chains.map((chain) => chain.progress()) });
    };
  // Also shows at once that the file can be written.
  if (kept === undefined) await save?.();
  const auditing: Auditing = { options, replay, chains, signatures, ids, save, heads };
  return { ...await toTheEnd(auditing), replay, chains, resumedAt: kept?.position ?? 0 };
}

interface Auditing {
  readonly options: AuditOptions;
  readonly replay: Replay;
  readonly chains: readonly ChainAudit[];
  readonly signatures: SignaturePool | undefined;
  readonly ids: IdStore;
  readonly save: (() => Promise<void>) | undefined;
  /** The last final block of each chain at the start: whatever it anchors, the history has had by then. */
  readonly heads: ReadonlyMap<number, number>;
}

/** The replay, then what is left of the chains, then the read models: each only while nothing differs. */
async function toTheEnd(auditing: Auditing): Promise<Pick<AuditEnd, 'difference' | 'tails' | 'rows' | 'historyFrom'>> {
  const { options: { source, databaseUrl } } = auditing;
  let live: LiveReadModels | undefined;
  const tails = new Map<number, ChainTail>();
  let rows = 0;
  try {
    let difference = await replayTo(auditing, source.length);
    if (difference === undefined && databaseUrl !== undefined) {
      live = await pinReadModels(databaseUrl, projections);
      difference = await replayTo(auditing, await endFor(live, auditing));
    }
    difference ??= await finishChains(auditing, tails);
    if (difference === undefined && live !== undefined) ({ rows, difference } = await compareReadModels(live, auditing));
    return { difference, tails, rows, historyFrom: live?.horizon.position ?? 0 };
  } finally {
    await live?.close();
  }
}

/** The first difference up to a position, of whatever kind. */
async function replayTo(auditing: Auditing, to: number | undefined): Promise<Difference | undefined> {
  const { options: { source, onProgress, signal, checkpoint }, replay, chains, signatures, ids, save } = auditing;
  let savedAt = replay.view.position;
  let found: Difference | undefined;
  try {
    for await (const lines of source.lines(replay.view.position, to)) {
      await replay.take(lines);
      for (const chain of chains) await chain.room();
      onProgress?.('records', replay.view.position, to);
      const isDue = save !== undefined && replay.view.position - savedAt >= (checkpoint?.everyRecords ?? CHECKPOINT_EVERY);
      if (!isDue && signal?.aborted !== true) continue;
      found = await settled(undefined, signatures, chains);
      if (found !== undefined) return found;
      await save?.();
      savedAt = replay.view.position;
      if (signal?.aborted === true) throw interrupted(savedAt, checkpoint?.path);
    }
  } catch (error) {
    if (!(error instanceof Differs)) {
      if (error instanceof CannotAudit && replay.view.position > savedAt) await keepWhatWasChecked(auditing);
      throw error;
    }
    found = await namedRepeat(error.difference, ids, source);
  }
  found = await settled(found, signatures, chains) ?? await repeatedId(ids, source);
  found = earlier(found, await unsupported(replay, source, found));
  if (found === undefined) {
    if (replay.view.position > savedAt) await save?.();
    return undefined;
  }
  // What a chain contradicts may be what led to this difference.
  for (const chain of chains) chain.catchUp();
  return await settled(found, signatures, chains);
}

/** What the history says of holdings, by its own facts. What differs already is told, whatever the source does not tell any more. */
async function unsupported(replay: Replay, source: AuditSource, found: Difference | undefined): Promise<Difference | undefined> {
  try {
    const difference = await unsupportedSync(replay.synced, source);
    if (difference === undefined) replay.syncedCompared();
    return difference;
  } catch (error) {
    if (found === undefined || !(error instanceof CannotAudit)) throw error;
    return undefined;
  }
}

/** The source has failed: what was checked until then is not lost. */
async function keepWhatWasChecked({ signatures, chains, save }: Auditing): Promise<void> {
  if (save === undefined) return;
  if (await settled(undefined, signatures, chains).catch(() => null) === undefined) await save();
}

function interrupted(position: number, path: string | undefined): CannotAudit {
  return new CannotAudit(`interrupted at position ${position}; ${path === undefined ? 'without --checkpoint the next audit begins anew' : `the same command goes on from ${path}`}`);
}

/** How far the replay must go for the read models, which go on meanwhile. */
async function endFor({ projections: pinned }: LiveReadModels, { options: { source }, replay: { view } }: Auditing): Promise<number> {
  const furthest = Math.max(...pinned.map(({ position }) => position));
  if (furthest <= view.position) return view.position;
  if (source.newLength === undefined) {
    throw new CannotAudit(`the read models are at position ${furthest}, and ${source.name} ends at ${view.position}: export the history again, or audit with --url`);
  }
  const length = await source.newLength();
  if (length >= furthest) return furthest;
  throw new CannotAudit(`the read models are at position ${furthest}, and ${source.name} ends at ${length}: they were made from another history`);
}

async function finishChains(auditing: Auditing, tails: Map<number, ChainTail>): Promise<Difference | undefined> {
  const { options, replay: { view }, chains, heads } = auditing;
  let first: Difference | undefined;
  for (const chain of chains) {
    try {
      const head = heads.get(chain.chainId) ?? 0;
      const { difference, tail } = await chain.finish(view.position, head, (block) => options.onProgress?.('blocks', block, head));
      first = earlier(first, difference);
      tails.set(chain.chainId, tail);
      if (difference === undefined) await mustReach(options, chain.chainId, tail);
    } catch (error) {
      if (error instanceof Differs) first = earlier(first, error.difference);
      else if (first === undefined) throw error;
    }
  }
  return first;
}

/** What was anchored before the audit began must be in the service's history by now, or soon: an engine may record its outcomes a little later. */
async function mustReach({ source, patienceMs = 30_000, onProgress, signal }: AuditOptions, chainId: number, { anchored }: ChainTail): Promise<void> {
  if (anchored === undefined || source.newLength === undefined) return;
  const end = performance.now() + patienceMs;
  let length = await source.newLength();
  for (; length <= anchored && performance.now() < end; length = await source.newLength()) {
    onProgress?.('tail', length, anchored + 1);
    stopIfAsked(signal, `the service was to show position ${anchored}, which chain ${chainId} anchors`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  if (length > anchored) return;
  throw new Differs({
    check: 'anchors', place: { position: anchored, chainId }, what: `chain ${chainId} anchors position ${anchored}, and the history ends at position ${length - 1}`,
    means: 'Records were removed from the end of the history after they were anchored; or somebody else had an operator\'s key.', expected: anchored, found: length - 1,
  });
}

async function compareReadModels(live: LiveReadModels, { options: { source, onProgress, signal }, replay }: Auditing) {
  const goOn = (): void => { stopIfAsked(signal, 'the read models were compared; everything else agrees'); };
  const audited = { length: replay.view.position, digest: formatDigest(replay.engine.digest) };
  const rebuilt = await rebuildFrom({
    source, projections: live.projections, horizon: live.horizon, audited, onProgress(position) {
      goOn();
      onProgress?.('read models', position, audited.length);
    },
  });
  try {
    return await compareTables(live.session, rebuilt.session, { projections: live.projections, goOn });
  } finally {
    await rebuilt.close();
  }
}

function chainNamed({ name, described }: AuditSource, chainId: number) {
  const chain = described?.chains.find((each) => each.chainId === chainId);
  if (chain !== undefined) return chain;
  throw new CannotAudit(`--rpc ${chainId}: ${name} names no contracts on chain ${chainId}; its chains are ${described?.chains.map((each) => each.chainId).join(', ') ?? ''}`);
}

/** What must be the same for an audit to go on from a checkpoint. */
function scopeOf({
  source: { described }, rpcs, threads, unsignedCancels = false, passedOverAnchors = new Set(), passedOverFills = new Set(),
}: AuditOptions): string {
  return JSON.stringify({
    signatures: threads !== 0, unsignedCancels, passedOverAnchors: [...passedOverAnchors].sort(), passedOverFills: [...passedOverFills].sort(),
    cancelAuth: described?.cancelAuth, domains: described?.domains,
    chains: described?.chains.filter(({ chainId }) => rpcs?.has(chainId) === true)
      .map(({ chainId, contracts, startBlock }) => ({ chainId, contracts, startBlock })),
  });
}
