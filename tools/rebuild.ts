/** `npm run tool -- rebuild NAME`: rebuilds a read model from position 0 while the old one serves, compares both, and swaps them. */
import { Command } from 'commander';
import { openLog } from '../engine/log/open-log.js';
import { projections } from '../projections/catalogue.js';
import { rebuild } from '../projections/rebuild.js';
import { logUrlOf, parseConfig } from '../service/config.js';
import { toolDatabase } from './terminal/database.js';
import { toolAction } from './terminal/tool.js';

const names = projections.map(({ name }) => name);

void new Command('rebuild')
  .description('Rebuilds read models from log position 0, compares them with those in use, and replaces those.')
  .argument('<name...>', `read models: ${names.join(', ')}; or all`)
  .action(toolAction(async (asked: string[]) => {
    const unknown = asked.filter((name) => name !== 'all' && !names.includes(name));
    if (unknown.length > 0) throw new Error(`there is no read model ${unknown.join(', ')}; the read models are ${names.join(', ')}`);
    await rebuildAll(asked.includes('all') ? names : asked);
  }, process.env))
  .parseAsync();

async function rebuildAll(asked: readonly string[]): Promise<void> {
  const config = parseConfig(process.env);
  const database = await toolDatabase(config);
  const log = await openLog(logUrlOf(config, database.url));
  try {
    for (const projection of projections.filter(({ name }) => asked.includes(name))) {
      const { position, differingRows } = await rebuild({ url: database.url, log, projection });
      const compared = differingRows === null ? 'there was no old read model to compare with' : `${differingRows} rows differed from the old read model`;
      process.stdout.write(`${projection.name}: rebuilt from ${position} command outcomes; ${compared}\n`);
      if (differingRows !== null && differingRows > 0) process.exitCode = 1;
    }
  } finally {
    await log.close();
    await database.close();
  }
}
