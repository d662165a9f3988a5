/**
 * The outcomes for readers of the past, page by page. Readers who are at the same place read the log once, and none of
 * them keeps a page while its client takes what it has: so many readers hold no more than a few pages together.
 */
import { LogUnavailable, type Log, type LogRecord } from '../../engine/log/log.js';
import { createTurns } from '../turns.js';

export interface Pages {
  /**
   * Outcomes from the position on, at least one, for one turn at most `turn`. `crowd`: so many readers are on their
   * way. Throws LogUnavailable, also when there is none.
   */
  from(position: number, asked: { readonly turn: number; readonly crowd: number }): Promise<readonly LogRecord[]>;
}

const PAGE_RECORDS = 1_000;
/**
 * With more readers than there are pages, which would take them from each other, each reads only as much as it takes in
 * one turn.
 */
const PAGES = 8;

export function createPages(log: Pick<Log, 'read'>): Pages {
  /** The one used last is at the end. */
  const kept: (readonly LogRecord[])[] = [];
  const coming = new Map<string, Promise<readonly LogRecord[]>>();
  // The follower of the present reads by the same connections.
  const turns = createTurns(2);

  const keep = (page: readonly LogRecord[]): void => {
    kept.push(page);
    if (kept.length > PAGES) kept.shift();
  };
  const read = async (position: number, records: number): Promise<readonly LogRecord[]> => {
    const page = await log.read('outcomes', position, records);
    if (page.length === 0) throw new LogUnavailable(false);
    keep(page);
    return page;
  };

  return {
    async from(position, { turn, crowd }) {
      const at = kept.findIndex((each) => {
        const offset = position - (each[0]?.position ?? Infinity);
        return offset >= 0 && offset < each.length;
      });
      const [page] = at < 0 ? [] : kept.splice(at, 1);
      if (page !== undefined) {
        kept.push(page);
        const offset = position - (page[0]?.position ?? 0);
        return page.slice(offset, offset + turn);
      }
      const records = crowd > PAGES ? turn : PAGE_RECORDS;
      const key = `${position} ${records}`;
      let reading = coming.get(key);
      if (reading === undefined) {
        reading = turns(() => read(position, records)).finally(() => { coming.delete(key); });
        coming.set(key, reading);
      }
      return (await reading).slice(0, turn);
    },
  };
}
