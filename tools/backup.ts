/** `npm run tool -- backup write FILE`: backs up the log while the exchange runs, checks a backup, and restores one into an empty log. */
import { Command } from 'commander';
import type { Log } from '../engine/log/log.js';
import { openLog } from '../engine/log/open-log.js';
import { checkBackup, restoreBackup, writeBackup, type Replayed, type RestoredLog } from './backup/backup.js';
import { parseConfig, logUrlOf } from '../service/config.js';
import { toolDatabase } from './terminal/database.js';
import { toolAction } from './terminal/tool.js';

const program = new Command('backup').description('Backs up the log, which is all that cannot be computed anew. A FILE that ends in .gz is compressed.');

program.command('write <FILE>').description('writes a backup, also of an exchange that runs')
  .action(toolAction(async (file: string) => {
    const { commands, outcomes } = await withLog((log) => writeBackup(log, file));
    process.stdout.write(`${file}: ${commands} commands and ${outcomes} outcomes\n`);
  }, process.env));
program.command('check <FILE>').description('replays a backup, and compares every digest')
  .action(toolAction(async (file: string) => { process.stdout.write(`${file} is whole: ${textOf(await checkBackup(file))}\n`); }, process.env));
program.command('restore <FILE>').description('checks a backup, and appends it to the log of the settings, which must be empty; completes a restore of the same FILE that was interrupted')
  .action(toolAction(async (file: string) => {
    const restored = await withLog((log) => restoreBackup(log, file));
    process.stdout.write(`restored ${textOf(restored)}${earlierText(restored)}\n`);
  }, process.env));
void program.parseAsync();

async function withLog<T>(work: (log: Log) => Promise<T>): Promise<T> {
  const config = parseConfig(process.env);
  const database = await toolDatabase(config);
  const log = await openLog(logUrlOf(config, database.url));
  try {
    return await work(log);
  } finally {
    await log.close();
    await database.close();
  }
}

function textOf({ commands, outcomes, digest }: Replayed): string {
  return `${commands} commands and ${outcomes} outcomes, digest ${digest}`;
}

/** What an interrupted restore had done already. */
function earlierText({ found: { commands, outcomes } }: RestoredLog): string {
  return commands === 0 ? '' : `; ${commands} of the commands and ${outcomes} of the outcomes were there already, by a restore that was interrupted`;
}
