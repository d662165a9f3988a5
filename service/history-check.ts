/** Refuses a configuration under which the history's orders would mean something else: another chain, another signing domain. */
import { toHex } from '../command/hex.js';
import type { PreparedDomain } from '../command/typed-data.js';
import { decodeCommand } from '../engine/codec.js';
import type { Log } from '../engine/log.js';
import type { State } from '../engine/state.js';

/** The history was written with other settings; the message says which to set back. */
export class ForeignHistory extends Error {
  constructor(what: string) {
    super(`${what}: set it back, or start with an empty database (and DATA_DIR)`);
    this.name = 'ForeignHistory';
  }
}

/**
 * Throws ForeignHistory when the history has markets on another chain, or when its oldest remembered order does not have the hash
 * that the domain gives it: the order hash is the domain's and the order's digest.
 */
export async function checkHistory({ state, log, domain }: { state: State; log: Log; domain: PreparedDomain }): Promise<void> {
  const { chainId } = domain.domain;
  const foreign = state.markets.find((market) => market.chainId !== chainId);
  if (foreign !== undefined) throw new ForeignHistory(`CHAIN_ID is ${chainId}, but the history has markets on chain ${foreign.chainId}`);
  const { value: slot } = state.orders.slots().next();
  if (slot === undefined) return;
  const [record] = await log.read('commands', state.orders.number(slot), 1);
  const command = decodeCommand(record!.data);
  if (command.kind !== 'PlaceOrder' || toHex(domain.orderDigest(command)) === command.orderHash) return;
  throw new ForeignHistory('SETTLEMENT_DOMAIN_NAME or SETTLEMENT_ADDRESS is not the one that the orders of the history were signed for');
}
