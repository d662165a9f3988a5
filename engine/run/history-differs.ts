/** The error that ends a process whose engine does not agree with the history. */

/**
 * The log has another outcome than this program computes from the same commands. The process must stop: its state may
 * be wrong.
 */
export class HistoryDiffers extends Error {
  constructor({ position, recorded, computed }: {
    readonly position: number;
    readonly recorded: string;
    readonly computed: string;
  }) {
    super(`at position ${position} the log has digest ${recorded}, but this program computes ${computed} from the same commands: `
      + 'the log was altered, or a program with other rules wrote it');
    this.name = 'HistoryDiffers';
  }
}
