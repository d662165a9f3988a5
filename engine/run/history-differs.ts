/** The error that ends a process whose engine does not agree with the history. */

/** The recorded history and this program compute different outcomes from the same commands: nothing may be built on top of that. */
export class HistoryDiffers extends Error {
  constructor({ position, recorded, computed }: { readonly position: number; readonly recorded: string; readonly computed: string }) {
    super(`at position ${position} the history has digest ${recorded}, but its commands give ${computed}: `
      + 'the log was altered, or this program\'s rules are not the ones that wrote it');
    this.name = 'HistoryDiffers';
  }
}
