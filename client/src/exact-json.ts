/** JSON with exact integers: amounts are bigints, and an integer that a number cannot hold is never rounded. */
import { isAmount } from './amount-fields.js';

const SPACE = /[ \t\n\r]*/y;
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
/** Deeper than any answer. */
const MAX_DEPTH = 100;

/**
 * The value of a JSON text. Integers in amount fields are bigints; other integers are numbers, or bigints where a
 * number would be rounded. Throws SyntaxError.
 */
export function parseJson(text: string): unknown {
  const reader = new Reader(text);
  const value = reader.value('', 0);
  reader.end();
  return value;
}

/** The JSON text of a value, with bigints as decimal strings, which the API takes wherever it takes an amount. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => typeof each === 'bigint' ? each.toString() : each);
}

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  /** `field`: the name of the field that the value is in. */
  value(field: string, depth: number): unknown {
    if (depth > MAX_DEPTH) throw this.fault('is nested too deeply');
    this.take(SPACE);
    switch (this.text[this.at]) {
      case '{': return this.object(depth);
      case '[': return this.array(field, depth);
      case '"': return this.string();
      case 't': case 'f': case 'n': return JSON.parse(this.must(WORD)) as boolean | null;
      default: return this.number(field);
    }
  }

  end(): void {
    this.take(SPACE);
    if (this.at < this.text.length) throw this.fault('goes on after its value');
  }

  private object(depth: number): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    this.items('}', () => {
      this.take(SPACE);
      const name = this.string();
      this.take(SPACE);
      if (this.text[this.at++] !== ':') throw this.fault('lacks a colon');
      entries.push([name, this.value(name, depth + 1)]);
    });
    return Object.fromEntries(entries);
  }

  private array(field: string, depth: number): unknown[] {
    const values: unknown[] = [];
    this.items(']', () => { values.push(this.value(field, depth + 1)); });
    return values;
  }

  /** What stands between commas, up to the bracket. */
  private items(close: string, item: () => void): void {
    this.at++;
    this.take(SPACE);
    if (this.text[this.at] === close) {
      this.at++;
      return;
    }
    for (;;) {
      item();
      this.take(SPACE);
      const next = this.text[this.at++];
      if (next === close) return;
      if (next !== ',') throw this.fault('lacks a comma or a bracket');
    }
  }

  /** Native parsing checks escapes and control characters. */
  private string(): string {
    return JSON.parse(this.must(STRING)) as string;
  }

  private number(field: string): number | bigint {
    const digits = this.must(NUMBER);
    if (/[.eE]/.test(digits)) return Number(digits);
    const number = Number(digits);
    return isAmount(field) || !Number.isSafeInteger(number) ? BigInt(digits) : number;
  }

  private take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  private must(pattern: RegExp): string {
    return this.take(pattern) ?? (() => { throw this.fault('is no JSON'); })();
  }

  private fault(what: string): SyntaxError {
    const around = this.text.slice(Math.max(0, this.at - 20), this.at + 20);
    return new SyntaxError(`the text ${what} at character ${this.at}: ${around}`);
  }
}
