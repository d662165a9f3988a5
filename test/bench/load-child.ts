/** The load generator's process: takes one run's options as a message, answers with its result, and ends. */
import { type LoadOptions, runLoad } from './load.js';

process.once('message', (options: LoadOptions) => {
  runLoad(options)
    .then((result) => ({ result }), (error: unknown) => ({ error: String(error) }))
    .then((message) => { process.send!(message, () => { process.disconnect(); }); })
    .catch(() => { process.exit(1); });
});
