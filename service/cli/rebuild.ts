/** `npm run rebuild -- NAME`: makes a read model again from position 0 while the old one serves, compares both, and swaps. */
import { Command } from 'commander';
import { openLog } from '../../engine/log/open-log.js';
import { projections } from '../../projections/catalogue.js';
import { rebuild } from '../../projections/rebuild.js';
import { parseConfig } from '../config.js';
import { sharedDatabaseOf } from '../embedded/database-of.js';

const names = projections.map(({ name }) => name);

await new Command('rebuild')
  .description('Makes read models again from position 0, compares them with the ones that serve, and swaps them in.')
  .argument('<name...>', `which: ${names.join(', ')}; or all`)
  .action(async (asked: string[]) => {
    const unknown = asked.filter((name) => name !== 'all' && !names.includes(name));
    if (unknown.length > 0) throw new Error(`no read model is called ${unknown.join(', ')}; there are ${names.join(', ')}`);
    await rebuildAll(asked.includes('all') ? names : asked);
  })
  .parseAsync();

async function rebuildAll(asked: readonly string[]): Promise<void> {
  const config = parseConfig(process.env);
  const database = await sharedDatabaseOf(config);
  const log = await openLog(config.logUrl || database.url);
  try {
    for (const projection of projections.filter(({ name }) => asked.includes(name))) {
      const { position, differingRows } = await rebuild({ url: database.url, log, projection });
      const compared = differingRows === null ? 'nothing to compare with' : `${differingRows} rows differed from the ones that served`;
      process.stdout.write(`${projection.name}: rebuilt from ${position} outcomes; ${compared}\n`);
      if (differingRows !== null && differingRows > 0) process.exitCode = 1;
    }
  } finally {
    await log.close();
    await database.close();
  }
}
