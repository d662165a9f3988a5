/** What the relay sender reads and writes of the history: through the replica, and with commands of its own. */
import { LogUnavailable, RecordsLost, type Log } from '../../engine/log/log.js';
import { encodeCommand, writerIds } from '../../engine/run/new-record.js';
import { RequestError } from '../../engine/records/errors.js';
import type { Replica } from '../../engine/run/replica.js';
import type { ChainWatch } from '../chain/chain-watch.js';
import type { RelayHistory } from './sender.js';

export interface RelayHistoryParts {
  readonly log: Log;
  /** Of this process: no other one has it. */
  readonly writerId: string;
  readonly replica: Pick<Replica, 'view' | 'outcomeOf'>;
  readonly watch: Pick<ChainWatch, 'catchUp'>;
}

export function relayHistory(chainId: number, { log, writerId, replica, watch }: RelayHistoryParts): RelayHistory {
  const idOf = writerIds(`${writerId}:relays:${chainId}`);
  let commands = 0;
  return {
    open: () => replica.view.openRelays(chainId),
    nextBlock: () => replica.view.cursor(chainId)?.nextBlock ?? 0,
    catchUp: () => watch.catchUp(),
    async record(command) {
      try {
        const record = { id: idOf(commands++), data: encodeCommand(command) };
        const position = await log.append('commands', [record]);
        const { events } = await replica.outcomeOf(position, record.id);
        return { position, taken: events.every(({ type }) => type !== 'CommandRejected') };
      } catch (error) {
        if (error instanceof LogUnavailable) throw new RequestError('relay_unavailable', 'the log does not answer');
        if (error instanceof RecordsLost) throw new RequestError('relay_unavailable', 'the log has lost records');
        throw error;
      }
    },
  };
}
