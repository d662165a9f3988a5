// What CI runs: each step's name and its command for the shell.

/** Without these nothing else can run: a failure ends the run. */
export const FIRST = {
  install: 'npm ci',
  compile: 'npm run --silent build',
};

/** At each push. */
export const ALWAYS = {
  'lint': 'npm run --silent lint',
  'licences of packages': 'node .ci/licences.mjs',
  'list of packages': 'mkdir -p .build && node .ci/sbom.mjs >.build/sbom.json',
  'known weaknesses of packages': '.ci/audit',
  'npm test': 'npm test',
  'what an order and a fill cost, in counts': 'npm run --silent bench -- counts',
  'npm start against its OpenAPI document': '.ci/contract',
  'npm start, npm run demo': '.ci/smoke',
};

/**
 * Instead of these where nothing but documents has changed since all of them passed: every test without needs, which hold documents to the code,
 * and the others that read one. A document is text that no program reads.
 */
export const DOCUMENTS = {
  command: 'TESTS=unit,contracts/gas,kafka/acls,system/trader-pages npm test',
  are: (file) => /\.md$|^docs\/pictures\/|^docs\/performance-run\.txt$/.test(file),
};
/** The name of the record that all of ALWAYS has passed. */
export const ALL_BUT_DOCUMENTS = 'all but documents';

const TOOLCHAIN = ['package.json', 'package-lock.json', 'tsconfig.json'];
const BUILD = [...TOOLCHAIN, 'tools/run.mjs', 'tools/bundle.mjs'];
const STACKS = ['service/process/', 'stack/', 'projections/thread/', '.ci/serving'];
const COMMAND = ['feed', 'indexer', 'lane', 'orders', 'prices', 'relayer', 'settlement'].map((room) => `command/${room}`);
const ROLES = ['engine', ...COMMAND, 'projections', 'query'].flatMap((context) => [`${context}/role.ts`, `${context}/role-state.ts`]);

/** At a push that changes one of the files that a part covers: paths of files, or of folders with a closing slash. */
export const LONG = {
  'go-ethereum': {
    command: 'TESTS=geth npm test',
    covers: [
      ...BUILD, 'contracts-abi/', 'command/chain/', 'command/indexer/', 'command/lane/', 'service/chains-file.ts', 'service/chains-of.ts', 'tools/deploy/', '.ci/geth',
      'test/support/geth.ts', 'test/harness/lane-world.ts', 'test/support/deployed-chain.ts', 'test/support/exchange-on-chain.ts',
      'test/lane/lane.geth.test.ts', 'test/system/chain-faults.geth.test.ts', 'test/system/demo.geth.test.ts', 'test/system/exchange.geth.test.ts',
    ],
  },
  'Node 24': {
    command: 'TESTS=unit .ci/node24 npm test && TESTS=system/development.crash .ci/node24 npm test && .ci/node24 .ci/roles',
    covers: [...BUILD, ...STACKS, '.ci/node24', '.ci/roles', 'test/system/development.crash.test.ts', 'test/support/service-process.ts'],
  },
  'Kafka 4': {
    command: 'KAFKA_VERSION=4.1.1 TESTS=kafka npm test',
    covers: [
      ...BUILD, 'command/feed/', 'service/process/fill-feed.ts', 'service/kafka-settings.ts', 'docs/kafka.md',
      'docs/events/consumer.mjs', 'docs/events/settlement-worker.mjs',
      'test/kafka/', 'test/support/kafka-pom.xml', 'test/support/kafka-broker.ts', 'test/support/kafka-jars.ts',
      'test/support/kafka-scene.ts', 'test/support/kafka-client.ts', 'test/support/example-consumer.ts', '.ci/java',
    ],
  },
  'auditors': {
    command: 'TESTS=auditors npm test',
    covers: [
      ...BUILD, 'docs/auditing/', 'docs/auditing.md', 'engine/', 'command/signing/', 'command/feed/', 'query/', 'service/api/', '.ci/python',
      'test/kafka/java-consumer.auditors.test.ts', 'test/system/python-auditor.auditors.test.ts', 'test/support/python-auditor.ts',
      'test/support/java-consumer.ts',
    ],
  },
  'clients': {
    command: 'TESTS=clients npm test',
    covers: [
      ...BUILD, 'client/', 'command/orders/', 'command/relayer/', 'command/signing/', 'query/', 'service/api/', 'service/http/', 'docs/laptop.md',
      '.ci/python-client', '.ci/client.mjs', 'test/client/', 'test/clients/', 'test/system/quick-start.clients.test.ts', 'test/support/python-client.ts',
      'test/support/client-packages.ts', 'test/harness/exchange.ts', 'test/harness/mortal-processes.ts',
    ],
  },
  // These start no program of the bundle.
  'contracts from their sources': {
    command: 'TESTS=solidity npm test',
    covers: [...TOOLCHAIN, 'contracts-abi/', 'test/contracts/artifacts.solidity.test.ts'],
  },
  // Random histories by forge, from a seed that is printed, and planted bugs that they must find.
  'contracts under random histories': {
    command: 'TESTS=contracts/histories npm test',
    covers: [
      ...TOOLCHAIN, 'contracts-abi/', 'test/contracts/forge/', 'test/contracts/histories.proofs.test.ts', 'test/support/forge.ts', 'test/support/planted-bugs.ts',
      '.ci/solc',
    ],
  },
  // Halmos and Slither.
  'contracts proven and analysed': {
    command: 'TESTS=contracts/arithmetic,contracts/findings npm test',
    covers: [
      ...TOOLCHAIN, 'contracts-abi/', 'test/contracts/forge/', 'test/contracts/arithmetic.proofs.test.ts', 'test/contracts/findings.proofs.test.ts',
      'test/support/forge.ts', 'test/support/planted-bugs.ts', 'test/support/provers.ts', 'test/support/explained-findings.ts', '.ci/solc', '.ci/provers',
    ],
  },
  'EventStoreDB': {
    command: 'TESTS=eventstore npm test',
    covers: [
      ...BUILD, ...ROLES, 'engine/log/', 'engine/run/', 'engine/running-role.ts', 'service/process/', 'test/support/',
      'test/log/', 'test/harness/mortal-processes.ts', 'test/system/roles-under-kills.ts', 'test/system/roles.eventstore.test.ts',
    ],
  },
  'demo on its own stack': {
    command: 'npm run --silent demo',
    covers: [...BUILD, ...STACKS, 'tools/demo.ts', 'tools/demo/', 'command/relayer/', 'contracts-abi/'],
  },
};
