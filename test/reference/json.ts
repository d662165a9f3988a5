/**
 * A second JSON parser, written from RFC 8259 alone: what a body means, to compare with what the service understands. One pass over the bytes,
 * with a stack instead of recursion. Undefined: not JSON in UTF-8.
 */

/** As `parseJsonObject` gives it: safe integers are numbers, larger ones of up to 78 digits bigints, every other number NaN. */
export type JsonValue = null | boolean | string | number | bigint | JsonValue[] | { [name: string]: JsonValue };

interface Open {
  readonly into: JsonValue[] | Record<string, JsonValue>;
  key: string | undefined;
}

class NotJson extends Error {}

export function referenceJson(bytes: Uint8Array): JsonValue | undefined {
  const text = Buffer.from(bytes).toString('utf8');
  // What is not UTF-8 has become U+FFFD, and comes back as other bytes.
  if (!Buffer.from(text, 'utf8').equals(bytes)) return undefined;
  try {
    return new Reader(text).document();
  } catch (error) {
    if (error instanceof NotJson) return undefined;
    throw error;
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  document(): JsonValue {
    const stack: Open[] = [];
    for (;;) {
      let value = this.opened(stack);
      if (value === undefined) continue;
      // A value is complete: it goes where it belongs, and may complete what it is in.
      for (;;) {
        const open = stack.at(-1);
        this.space();
        if (open === undefined) return this.at === this.text.length ? value : this.fail();
        place(open, value);
        if (this.takes(',')) {
          if (!Array.isArray(open.into)) open.key = this.key();
          break;
        }
        if (!this.takes(Array.isArray(open.into) ? ']' : '}')) this.fail();
        value = stack.pop()!.into;
      }
    }
  }

  /** The next value when it is complete at once; undefined after an opening bracket with something behind it. */
  private opened(stack: Open[]): JsonValue | undefined {
    this.space();
    if (this.takes('[')) {
      this.space();
      if (this.takes(']')) return [];
      stack.push({ into: [], key: undefined });
      return undefined;
    }
    if (this.takes('{')) {
      this.space();
      if (this.takes('}')) return {};
      stack.push({ into: {}, key: this.key() });
      return undefined;
    }
    if (this.text[this.at] === '"') return this.string();
    for (const [word, value] of [['true', true], ['false', false], ['null', null]] as const) if (this.takes(word)) return value;
    return this.number();
  }

  private key(): string {
    this.space();
    const key = this.string();
    this.space();
    return this.takes(':') ? key : this.fail();
  }

  private string(): string {
    if (!this.takes('"')) this.fail();
    let value = '';
    for (;;) {
      const letter = this.text[this.at++];
      if (letter === undefined || letter < ' ') return this.fail();
      if (letter === '"') return value;
      value += letter === '\\' ? this.escaped() : letter;
    }
  }

  private escaped(): string {
    const letter = this.text[this.at++] ?? this.fail();
    if (letter !== 'u') return new Map([...'"\\/bfnrt'].map((each, i) => [each, '"\\/\b\f\n\r\t'[i]])).get(letter) ?? this.fail();
    const digits = this.text.slice(this.at, this.at += 4);
    return /^[\da-f]{4}$/i.test(digits) ? String.fromCharCode(Number.parseInt(digits, 16)) : this.fail();
  }

  private number(): number | bigint {
    NUMBER.lastIndex = this.at;
    const [token = this.fail()] = NUMBER.exec(this.text) ?? [];
    this.at += token.length;
    if (!/^-?\d{1,78}$/.test(token)) return NaN;
    return Number.isSafeInteger(Number(token)) ? Number(token) : BigInt(token);
  }

  private space(): void {
    while (' \t\n\r'.includes(this.text[this.at] ?? 'x')) this.at++;
  }

  private takes(word: string): boolean {
    const is = this.text.startsWith(word, this.at);
    if (is) this.at += word.length;
    return is;
  }

  private fail(): never {
    throw new NotJson();
  }
}

function place({ into, key }: Open, value: JsonValue): void {
  if (Array.isArray(into)) into.push(value);
  // The last of equal names counts; `__proto__` is a name like others.
  else Object.defineProperty(into, key ?? '', { value, enumerable: true, configurable: true, writable: true });
}
