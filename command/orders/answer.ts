/** What the two order endpoints share: their answer, and what they ask of the rest of the exchange. */
import type { CancelOrder, PlaceOrder } from '../../engine/records/commands.js';
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { CommandRejected, RejectionCode } from '../../engine/records/events.js';
import { errors, RequestError, type ErrorCode } from '../../engine/records/errors.js';
import type { OrderView } from '../../engine/run/view.js';

/** A finished answer, status 200: JSON text that is sent as it is, and the log position that it is true at. */
export interface Answer {
  readonly body: string;
  readonly position?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A command in the log, and the engine's answer to it. */
export interface Submitted {
  readonly position: number;
  readonly outcome: CommandOutcome;
}

/**
 * Writes a command and waits for its outcome. `signal`: give up if the command has not been handed to the log yet. Throws
 * RequestError `overloaded` or `unavailable` (it was not taken) or `outcome_unknown` (it may be carried out).
 */
export type Submit<C = PlaceOrder | CancelOrder> = (command: C, signal?: AbortSignal) => Promise<Submitted>;

/** An order as the exchange knows it. Absent `asOf`: it is not known at which log position all this is true. */
export type KnownOrder = Omit<OrderView, 'asOf'> & Partial<Pick<OrderView, 'asOf'>>;

/**
 * Any order that was ever accepted, by its hash. An order whose acceptance has been answered must be found: where the read models
 * lag, ask the engine first. The status may lag.
 */
export type FindOrder = (orderHash: string) => Promise<KnownOrder | undefined>;

/** The outcome at a position of the past. */
export type OriginalOutcome = (position: number) => Promise<CommandOutcome>;

/** The engine's rejection as the error of the same name. Throws on a code that no order or cancel can get. */
export function rejectionError({ code, subject }: CommandRejected): RequestError {
  if (!isErrorCode(code)) throw new Error(`the engine rejected ${subject} with ${code}, which is no order's or cancel's`);
  return new RequestError(code);
}

function isErrorCode(code: RejectionCode): code is RejectionCode & ErrorCode {
  return Object.hasOwn(errors, code);
}
