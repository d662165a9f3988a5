// Says which POST operations of the document have not succeeded once: accepted.mjs URL FILE, a count of 2xx by operation. Exit code 1 for any.
import console from 'node:console';
import { readFileSync } from 'node:fs';
import process from 'node:process';

const [url, file] = process.argv.slice(2);
const accepted = JSON.parse(readFileSync(file, 'utf8'));
const { paths } = await (await globalThis.fetch(`${url}/openapi.json`)).json();
const operations = Object.entries(paths).filter(([, methods]) => 'post' in methods).map(([path]) => `POST ${path}`);
const never = operations.filter((operation) => !(accepted[operation] > 0));
for (const operation of operations) console.log(`${String(accepted[operation] ?? 0).padStart(5)} of 2xx: ${operation}`);
if (operations.length === 0 || never.length > 0) {
  console.error(`no request of Schemathesis has succeeded at ${never.join(', ') || 'any POST'}: .ci/schemathesis.d/hooks.py signs them`);
  process.exitCode = 1;
}
