/** The exchange's time, ticking, and how times are shown. */
import { effect, signal } from '@preact/signals';
import { configuration } from './exchange.js';

/** How far the exchange's clock is ahead of this machine's, in seconds. */
let aheadS = 0;

const machineS = (): number => Date.now() / 1_000;

/** The exchange's time in whole Unix seconds. */
export const nowS = signal(Math.floor(machineS()));

effect(() => {
  if (configuration.value !== undefined) aheadS = configuration.value.serverTime - machineS();
  tick();
});

function tick(): void {
  nowS.value = Math.floor(machineS() + aheadS);
}

setInterval(tick, 1_000);

const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

/** A day with its time, as this browser writes it. */
export const shownTime = (unixS: number): string => DAY_AND_TIME.format(unixS * 1_000);

/** The time within a day, to the second. */
export const shownClock = (unixS: number): string => TIME.format(unixS * 1_000);

/** A span in its two largest units: `3 d 4 h`, `12 min 5 s`. */
export function shownSpan(seconds: number): string {
  const left = Math.max(0, Math.floor(seconds));
  const parts = [
    [Math.floor(left / 86_400), 'd'], [Math.floor(left / 3_600) % 24, 'h'], [Math.floor(left / 60) % 60, 'min'],
    [left % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return '0 s';
  const largest = parts.slice(first, first + 2).filter(([count]) => count > 0);
  return largest.map(([count, unit]) => `${count} ${unit}`).join(' ');
}

/** How far a time is away, in words. */
export function shownDistance(unixS: number, fromS: number): string {
  return unixS >= fromS ? `in ${shownSpan(unixS - fromS)}` : `${shownSpan(fromS - unixS)} ago`;
}
