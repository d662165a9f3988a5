// node .ci/licences.mjs: names the licence of every package that is shipped, as package-lock.json has it, and fails for one that is not allowed.
import console from 'node:console';
import { readFileSync } from 'node:fs';
import process from 'node:process';

// Each lets anybody use, change and pass on the package with a notice.
const ALLOWED = ['MIT', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0'];

/** Whether an SPDX expression of AND and OR, of which one level of brackets is understood, can be met. */
function isAllowed(expression) {
  const terms = expression.replace(/^\((.*)\)$/, '$1');
  return terms.split(' OR ').some((choice) => choice.split(' AND ').every((licence) => ALLOWED.includes(licence)));
}

const { packages } = JSON.parse(readFileSync(process.argv[2] ?? 'package-lock.json', 'utf8'));
const byLicence = new Map();
const refused = [];
for (const [path, { dev, version, license = 'none named' }] of Object.entries(packages)) {
  if (path === '' || dev) continue;
  const name = `${path.replace(/^.*node_modules\//, '')}@${version}`;
  byLicence.set(license, [...byLicence.get(license) ?? [], name]);
  if (!isAllowed(license)) refused.push(`${name}: ${license}`);
}
for (const [licence, names] of [...byLicence].sort(([, a], [, b]) => b.length - a.length)) console.log(`${licence} (${names.length}): ${names.join(', ')}`);
if (byLicence.size === 0) throw new Error('no package is named');
if (refused.length > 0) {
  console.error(`Not allowed by .ci/licences.mjs:\n${refused.join('\n')}`);
  process.exit(1);
}
