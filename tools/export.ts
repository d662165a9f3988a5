/** `npm run tool -- export --url URL --out FILE`: writes the history of a running exchange to a file that `npm run audit -- --file` reads. */
import { Command } from 'commander';
import { stopIfAsked } from './audit/difference.js';
import { printable } from './audit/printable.js';
import { createProgress } from './audit/progress.js';
import { exportHistory } from './audit/source/export.js';
import { openService } from './audit/source/service-source.js';
import { httpUrl } from '../service/settings.js';
import { EXIT_CODES, runProgram } from './audit/exit-codes.js';
import { argument } from './terminal/tool.js';

const program = new Command('export')
  .description('Writes the whole history as NDJSON, after a first line that has the number of records and the signing domains.')
  .requiredOption('--url <url>', 'a running exchange', argument(httpUrl))
  .requiredOption('--out <path>', 'the file, which is there only when it is whole; gzip where the name ends in .gz')
  .addHelpText('after', EXIT_CODES)
  .action(async ({ url, out }: { readonly url: string; readonly out: string }) => {
    const progress = createProgress({ sink: process.stderr, nowMs: () => performance.now(), what: 'records' });
    const interrupted = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => { interrupted.abort(); });
    const source = await openService({
      url, signal: interrupted.signal, report(text) {
        progress.end();
        process.stderr.write(`${printable(text)}\n`);
      },
    });
    const { records, sha256 } = await exportHistory(source, out, (position) => {
      stopIfAsked(interrupted.signal, 'the history was written: there is no file');
      progress.update(position, source.length);
    });
    progress.end();
    process.stdout.write(`${out}: ${records} records, SHA-256 of the text ${sha256}\n`);
  });
void runProgram(program, process.argv);
