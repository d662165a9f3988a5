/** Where the pieces of a reader go: to whoever asks for the next one, and from some moment on to a sink as they come. */
import type { Sink } from '../../service/api/endpoint.js';

export type Piece = IteratorResult<Uint8Array, undefined>;

export interface Outlet {
  /** Whether the piece is taken at once. */
  hand(piece: Uint8Array): boolean;
  /** The next piece that is handed over. */
  next(): Promise<Piece>;
  /** From now on all goes to the sink, what waits first. */
  flow(to: Sink): void;
}

export interface OutletOptions {
  /** Takes the piece that has waited longest. */
  readonly take: () => Uint8Array | undefined;
  /** Whether nothing comes after what waits. */
  readonly isOver: () => boolean;
  /** Called when the sink has had everything. */
  readonly ended: () => void;
}

export function createOutlet({ take, isOver, ended }: OutletOptions): Outlet {
  let wake: ((piece: Piece) => void) | undefined;
  let sink: Sink | undefined;
  /** The sink takes nothing until it has drained. */
  let isFull = false;

  const write = (to: Sink, piece: Uint8Array): void => {
    if (to.write(piece)) return;
    isFull = true;
    to.onDrain(() => {
      isFull = false;
      pour(to);
    });
  };
  const pour = (to: Sink): void => {
    while (!isFull) {
      const piece = take();
      if (piece === undefined) break;
      write(to, piece);
    }
    if (isFull || !isOver()) return;
    to.end();
    ended();
  };
  return {
    hand(piece) {
      if (wake !== undefined) {
        const resolve = wake;
        wake = undefined;
        resolve({ done: false, value: piece });
        return true;
      }
      if (sink === undefined || isFull) return false;
      write(sink, piece);
      if (!isFull && isOver()) pour(sink);
      return true;
    },
    next: () => new Promise((resolve) => { wake = resolve; }),
    flow(to) {
      sink = to;
      pour(to);
    },
  };
}
