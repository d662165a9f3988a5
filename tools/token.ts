/** `npm run tool -- token issue|list|revoke`: the bearer tokens of the exchange. Exit codes: 1 when it cannot be done, 2 for wrong arguments. */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { messageOf } from '../engine/report.js';
import { REMEMBERED_MS } from '../service/access/authenticate.js';
import { issueToken } from '../service/access/issue-token.js';
import { SCOPES, type Scope } from '../service/api/scopes.js';
import { openTokenStore, type TokenStore } from '../service/access/token-store.js';
import { nameOf, scopesOf, secondsOf } from './token/token-arguments.js';
import { issuedJson, storedJson, tokenTable } from './token/token-text.js';
import { parseConfig, type Config } from '../service/config.js';
import { toolDatabase } from './terminal/database.js';
import { argument } from './terminal/tool.js';

const FAILED = 1;
const WRONG_ARGUMENTS = 2;

interface IssueOptions {
  readonly name: string;
  readonly scope: readonly Scope[];
  readonly expiresIn?: number;
  readonly json?: true;
}

const program = new Command('token')
  .description('Issues, lists and revokes bearer tokens. It uses DATABASE_URL, or the embedded Postgres of DATA_DIR.')
  .exitOverride(({ exitCode }) => { process.exit(exitCode === 0 ? 0 : WRONG_ARGUMENTS); });

program.command('issue').description('Issues a bearer token and prints it, this once: only its hash is stored.')
  .requiredOption('--name <name>', 'who or what uses it: a letter, then letters, digits and . _ @ -', argument(nameOf))
  .requiredOption('--scope <scope>', `what it allows, once for each scope: ${SCOPES.join(', ')}`, scopeArgument)
  .option('--expires-in <time>', 'how long it is valid, such as 12h or 30d (units s, m, h, d); without it, until it is revoked', argument(secondsOf))
  .option('--json', 'print one JSON object')
  .action(issue);

program.command('list').description('Lists all bearer tokens, also those that have expired or are revoked; never their texts.')
  .option('--json', 'print one JSON object')
  .action(list);

program.command('revoke').description('Revokes a bearer token.')
  .argument('<id-or-name>', 'as list shows it')
  .option('--json', 'print one JSON object')
  .action(revoke);

void program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = FAILED;
});

function issue({ name, scope, expiresIn, json }: IssueOptions): Promise<void> {
  return withStore(async (store) => {
    const issued = await issueToken(store, { name, scopes: scope, expiresInS: expiresIn });
    if (json) return print(JSON.stringify(issuedJson(issued)));
    // The token alone on standard output, so that a shell can take it.
    print(issued.text);
    process.stderr.write(`${tokenTable([issued.stored])}\nKeep the bearer token now: only its hash is stored. Requests send it as Authorization: Bearer TOKEN.\n`);
  });
}

function list({ json }: { readonly json?: true }): Promise<void> {
  return withStore(async (store) => {
    const tokens = await store.list();
    if (json) return print(JSON.stringify({ tokens: tokens.map(storedJson) }));
    print(tokens.length === 0 ? 'There are no bearer tokens.' : tokenTable(tokens));
  });
}

function revoke(idOrName: string, { json }: { readonly json?: true }): Promise<void> {
  return withStore(async (store) => {
    const revoked = await store.revoke(idOrName);
    if (revoked.length === 0) {
      const known = (await store.list()).some(({ id, name }) => String(id) === idOrName || name === idOrName);
      if (!known) throw new Error(`no bearer token has the id or name ${JSON.stringify(idOrName)}: npm run tool -- token list shows all`);
    }
    if (json) return print(JSON.stringify({ revoked: revoked.map(storedJson) }));
    if (revoked.length === 0) return print(`${idOrName} was revoked before.`);
    for (const { id, name } of revoked) print(`Bearer token ${id} (${name}) is revoked: within ${REMEMBERED_MS / 1_000} seconds no process takes it any more.`);
  });
}

async function withStore(work: (store: TokenStore) => Promise<void>): Promise<void> {
  const config = parseConfig(process.env);
  await checkDatabase(config);
  const database = await toolDatabase(config);
  const store = openTokenStore({ url: database.url, connections: 1 });
  try {
    await work(store);
  } finally {
    await store.close();
    await database.close();
  }
}

/** Throws unless there is a database: a mistyped DATA_DIR should not bring a new one into being. */
async function checkDatabase({ databaseUrl, dataDir }: Config): Promise<void> {
  if (databaseUrl !== '') return;
  const isThere = await access(join(dataDir, 'postgres')).then(() => true, () => false);
  if (!isThere) throw new Error(`${dataDir} has no database yet: start the exchange there first (npm start), or set DATA_DIR or DATABASE_URL`);
}

/** Adds the scope to those of earlier options. */
function scopeArgument(text: string, earlier: readonly Scope[] = []): readonly Scope[] {
  return argument(scopesOf(earlier))(text);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
