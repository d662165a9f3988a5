// Which tests run: all, or with TESTS set one kind of them (the word before `.test.ts`; without one it is a unit test), or the files
// whose path below test/ contains the text: TESTS=engine/facts.
// Slow tests start nothing, as unit tests, but take more than a second: long random histories, compiling the contracts, a test server of
// EventStoreDB.
// Tests on go-ethereum are there only when GETH names its program, which nobody has by installing the packages.
const { readdirSync } = require('node:fs');
const path = require('node:path');

const KINDS = ['slow', 'services', 'chain', 'kafka', 'crash', 'geth'];
const { TESTS: wanted = 'all', GETH: geth = '' } = process.env;
const isKind = ['unit', ...KINDS].includes(wanted);

const kindOf = (file) => KINDS.find((kind) => file.endsWith(`.${kind}.test.ts`)) ?? 'unit';
// From the sources, so that what an earlier build left in dist is not run.
const sources = readdirSync(path.join(__dirname, 'test'), { recursive: true }).filter((file) => file.endsWith('.test.ts'));
const named = sources.filter((file) => wanted === 'all' || (isKind ? kindOf(file) === wanted : file.includes(wanted))).sort();
if (named.length === 0) throw new Error(`TESTS is ${wanted}: expected all, unit, ${KINDS.join(', ')}, or a part of a test's path`);
const chosen = named.filter((file) => geth !== '' || kindOf(file) !== 'geth');
if (chosen.length === 0) throw new Error(`TESTS is ${wanted}: these tests need go-ethereum; .ci/geth builds it and prints its path, which GETH must name`);

module.exports = {
  'spec': chosen.map((file) => path.join('dist', 'test', file.replace(/\.ts$/, '.js'))),
  'timeout': 180_000,
  'exit': false,
  'forbid-only': true,
  'forbid-pending': true,
  'node-option': ['enable-source-maps'],
};
