/** Server-sent events, as the HTML standard has them, from the bytes of an answer. */

export interface ServerEvent {
  /** The last event id so far, also where a comment has set it. */
  readonly id: string | undefined;
  /** Undefined where only the id has changed. */
  readonly data: string | undefined;
}

/** Takes text as it comes, in any pieces, and returns the events that are complete. */
export class EventParser {
  private rest = '';
  private data: string[] = [];
  private id: string | undefined;
  private isIdNew = false;
  private isFirst = true;

  take(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    let text = this.rest + piece;
    if (this.isFirst && text !== '') {
      this.isFirst = false;
      if (text.startsWith('\uFEFF')) text = text.slice(1);
    }
    // A carriage return at the end may be the first half of a line's end.
    const lines = text.split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') this.field(line);
      else if (this.data.length > 0 || this.isIdNew) events.push(this.event());
    }
    return events;
  }

  private field(line: string): void {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') this.data.push(value);
    if (name === 'id' && !value.includes('\0')) [this.id, this.isIdNew] = [value, true];
  }

  private event(): ServerEvent {
    const data = this.data.length === 0 ? undefined : this.data.join('\n');
    [this.data, this.isIdNew] = [[], false];
    return { id: this.id, data };
  }
}
