/** What the demonstration prints, how it waits, and how it checks: a check that fails ends it with one sentence. */
import { pause } from '../../engine/waiting.js';

/** A whole share, and a unit of the stablecoin. */
export const ONE = 1_000_000;

const POLL_MS = 50;
const PATIENCE_MS = 60_000;
/** Between two lines of a countdown that is not on a terminal. */
const TELL_EVERY_S = 10;

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The headline of a part, with the time since the start. */
export function step(title: string): void {
  say(`\n${String(Math.floor(performance.now() / 1_000)).padStart(3)} s  ${title}`);
}

/** An amount of shares or stablecoin. */
export function shown(amount: number | bigint): string {
  return (Number(amount) / ONE).toFixed(2);
}

/** A price that comes in units of 1e-8 USD. */
export function inUsd(price: number): string {
  return `${(price / 100 / ONE).toFixed(2)} USD`;
}

/** A moment that comes in Unix seconds. */
export function timeOf(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}

export function expect(what: string, actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`expected that ${what}: ${String(expected)}, not ${String(actual)}`);
}

/** The value. Throws an error that names it when it is missing. */
export function given<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`${what} is missing`);
  return value;
}

/** What `attempt` gives as soon as it gives something. Throws an error that says what was waited for. */
export async function until<T>(what: string | (() => string), attempt: () => Promise<T | undefined>): Promise<T> {
  for (const end = performance.now() + PATIENCE_MS; ;) {
    const found = await attempt();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`waited ${PATIENCE_MS / 1_000} s in vain: ${typeof what === 'string' ? what : what()}`);
    await pause(POLL_MS);
  }
}

/** Waits for so long. A terminal shows one line that counts down; a file or a pipe gets a line now and then. */
export async function countdown(what: string, seconds: number): Promise<void> {
  const { stdout } = process;
  const end = performance.now() + seconds * 1_000;
  const leftS = (): number => Math.ceil((end - performance.now()) / 1_000);
  for (let left = leftS(), told = Infinity; left > 0; left = leftS()) {
    if (stdout.isTTY) {
      stdout.write(`\r  ${what}: ${left} s left `);
    } else if (told - left >= TELL_EVERY_S) {
      say(`  ${what}: ${left} s left`);
      told = left;
    }
    await pause(Math.min(1_000, Math.max(1, end - performance.now())));
  }
  if (stdout.isTTY) stdout.write('\r\x1b[K');
}
