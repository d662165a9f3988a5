/**
 * What waits for the readers of a process. They may leave so much together, what several of them wait for counted once,
 * since it is one buffer; where it is more, whoever has left the most is cut off. So slow readers take no more memory,
 * however many they are.
 */

export const BYTES_OF_ALL = 64_000_000;

export interface Backlog {
  /** What one reader leaves. `cutOff` is called when others need the room: the reader ends, and releases everything. */
  open(cutOff: () => void): Leftovers;
  /** How many bytes wait, those that several wait for counted once. */
  bytes(): number;
}

export interface Leftovers {
  /** The piece waits for the reader. */
  hold(piece: Uint8Array): void;
  /** It does not wait any more, if it did. */
  release(piece: Uint8Array): void;
}

interface Own {
  readonly pieces: Set<Uint8Array>;
  bytes: number;
  readonly cutOff: () => void;
}

export function createBacklog(most: number = BYTES_OF_ALL): Backlog {
  /** How many readers wait for a piece. */
  const holders = new Map<Uint8Array, number>();
  const waiting = new Set<Own>();
  let bytes = 0;

  const makeRoom = (): void => {
    while (bytes > most && waiting.size > 0) [...waiting].reduce((a, b) => b.bytes > a.bytes ? b : a).cutOff();
  };
  return {
    bytes: () => bytes,
    open(cutOff) {
      const own: Own = { pieces: new Set(), bytes: 0, cutOff };
      return {
        hold(piece) {
          const others = holders.get(piece) ?? 0;
          holders.set(piece, others + 1);
          if (others === 0) bytes += piece.length;
          own.pieces.add(piece);
          own.bytes += piece.length;
          waiting.add(own);
          makeRoom();
        },
        release(piece) {
          if (!own.pieces.delete(piece)) return;
          own.bytes -= piece.length;
          if (own.pieces.size === 0) waiting.delete(own);
          const others = (holders.get(piece) ?? 1) - 1;
          if (others > 0) {
            holders.set(piece, others);
            return;
          }
          holders.delete(piece);
          bytes -= piece.length;
        },
      };
    },
  };
}
