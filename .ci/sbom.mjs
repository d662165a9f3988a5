// node .ci/sbom.mjs: prints a CycloneDX document of the packages that are shipped, checked against package-lock.json:
// `npm sbom --omit=dev` itself leaves out packages that something of the development needs too.
import { execFileSync } from 'node:child_process';
import console from 'node:console';
import { readFileSync } from 'node:fs';
import process from 'node:process';

const document = JSON.parse(execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], { encoding: 'utf8', maxBuffer: 2 ** 28 }));
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const nameOf = (path, { name = path.replace(/^.*node_modules\//, ''), version }) => `${name}@${version}`;
const shipped = new Set(Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev).map(([path, each]) => nameOf(path, each)));
document.components = document.components.filter(({ name, version }) => shipped.has(`${name}@${version}`));
const hashed = new Set(Object.entries(packages).filter(([path, { integrity }]) => path !== '' && integrity !== undefined).map(([path, each]) => nameOf(path, each)));
const references = new Set([document.metadata.component['bom-ref'], ...document.components.map((each) => each['bom-ref'])]);
document.dependencies = document.dependencies.filter(({ ref }) => references.has(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => references.has(each)) }));

const listed = new Set(document.components.map(({ name, version }) => `${name}@${version}`));
const faults = [...shipped].filter((each) => !listed.has(each)).map((each) => `${each} is not listed`);
for (const { name, purl, licenses, hashes, type, 'bom-ref': ref } of document.components) {
  if (type !== 'library' || !ref || !purl?.startsWith('pkg:npm/') || !licenses?.length) faults.push(`${name} lacks its URL or licence`);
  if (!hashes?.length && hashed.has(ref)) faults.push(`${name} lacks its hash`);
}
if (document.bomFormat !== 'CycloneDX' || !/^1\.\d$/.test(document.specVersion) || listed.size === 0) faults.push('it is no CycloneDX document');
if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exit(1);
}
console.log(JSON.stringify(document, undefined, 2));
