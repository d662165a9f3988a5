/** The program of an EventStoreDB test server in a process of its own: `FILE PORT`. Sends its port when it listens. */
import { startEventStoreServer } from './eventstore-server.js';

const [file, port] = process.argv.slice(2);
const server = await startEventStoreServer({ file, port: Number(port) });
process.send?.(server.port);
process.on('disconnect', () => { process.exit(); });
