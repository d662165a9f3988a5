/** Refuses settings that do not fit the recorded history: another chain, or another signing domain of its orders. */
import type { Log } from '../../engine/log/log.js';
import { decodeCommand } from '../../engine/records/codec.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import { toHex } from '../../engine/records/hex.js';
import type { EngineView } from '../../engine/run/view.js';
import type { PreparedDomain } from './typed-data.js';

/** The history was written with other settings. The message names the setting to set back. */
export class ForeignHistory extends Error {
  constructor(what: string) {
    super(`${what}: set it back, or start with an empty database and an empty DATA_DIR`);
    this.name = 'ForeignHistory';
  }
}

export interface HistoryParts {
  readonly view: Pick<EngineView, 'markets' | 'chains' | 'rememberedOrder'>;
  readonly log: Log;
  /** The signing domain of each chain that the settings name. */
  readonly domains: readonly PreparedDomain[];
  /** Whether orders settle on a chain; false with CHAINS=none. */
  readonly settles: boolean;
}

/**
 * Throws ForeignHistory in three cases: the history has markets on a chain that the settings do not name; the history
 * was settled on a chain and the settings name none, or the other way round; the oldest remembered order of a chain has
 * another hash than the chain's signing domain gives it (the order hash is the EIP-712 digest of domain and order).
 */
export async function checkHistory({ view, log, domains, settles }: HistoryParts): Promise<void> {
  const markets = [...view.markets()];
  checkChains(markets.map(({ chainId }) => chainId), domains.map(({ domain }) => domain.chainId));
  // A market that was recorded from a chain has tokens; a market of the catalogue has none.
  const other = markets.find(({ tokens }) => (tokens !== undefined) !== settles);
  if (other !== undefined && settles) {
    throw new ForeignHistory(`CHAINS names a chain to settle on, but market ${other.marketId} of the history was opened without a chain (CHAINS=none)`);
  }
  const settled = [...view.chains()];
  if (other !== undefined || (!settles && settled.length > 0)) {
    throw new ForeignHistory(`CHAINS is none, but the history settles on chain ${other?.chainId ?? settled.join(', ')}`);
  }
  for (const domain of domains) await checkRemembered(domain, { view, log });
}

/** Throws ForeignHistory when there is a market on a chain that the settings do not name. */
export function checkChains(ofMarkets: Iterable<number>, named: readonly number[]): void {
  for (const chainId of ofMarkets) {
    if (named.includes(chainId)) continue;
    throw new ForeignHistory(`the history has markets on chain ${chainId}, but the settings (CHAINS, CHAIN_ID) name only ${named.join(', ')}`);
  }
}

/**
 * Throws ForeignHistory when an order of the domain's chain was signed for another domain: each of its fills would fail
 * on the chain.
 */
export function checkOrder(domain: PreparedDomain, order: PlaceOrder): void {
  if (toHex(domain.orderDigest(order)) === order.orderHash) return;
  const { chainId, name, verifyingContract } = domain.domain;
  throw new ForeignHistory(`the orders of the history were signed for another name or settlement contract on chain ${chainId} than `
    + `${JSON.stringify(name)} and ${verifyingContract} (CHAINS)`);
}

async function checkRemembered(domain: PreparedDomain, { view, log }: Pick<HistoryParts, 'view' | 'log'>): Promise<void> {
  const number = view.rememberedOrder(domain.domain.chainId);
  const [record] = number === undefined ? [] : await log.read('commands', number, 1);
  if (record === undefined) return;
  const command = decodeCommand(record.data);
  if (command.kind === 'PlaceOrder') checkOrder(domain, command);
}
