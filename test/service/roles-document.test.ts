/** The page about the roles, held against the program: its table says what each role says of itself. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { ROLE_NAMES, ROLES } from '../../service/process/roles.js';

describe('service: docs/roles.md', () => {
  it('has the table of the roles, in their order of starting', async () => {
    const rows = ROLE_NAMES.map((name) => `| \`${name}\` | ${ROLES[name].reads} | ${ROLES[name].writes} |`);
    const table = ['| role | reads | writes |', '|---|---|---|', ...rows].join('\n');
    assert.ok((await readFile('docs/roles.md', 'utf8')).includes(`\n${table}\n`), `docs/roles.md does not have this table:\n${table}`);
  });
});
