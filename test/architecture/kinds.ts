/** A test's kind, the word before `.test.ts`, says what it needs; this holds the name to what the file starts. */
import { KINDS, kindOf, type Kind } from '../run/kinds.js';
import { isOneOf, type Rule, type Source } from './project.js';

/** What starts something. A test starts it by importing one of these, or a file of test/ that does. */
const STARTERS = {
  Postgres: ['test/support/postgres', 'stack/embedded-postgres'],
  chain: ['stack/chain/anvil', 'stack/chain/dev-chain', 'stack/chain/development'],
  Kafka: ['test/support/kafka-broker'],
  service: ['test/support/service-process'],
  EventStoreDB: ['test/support/eventstore-process'],
  geth: ['test/support/geth'],
  auditor: ['test/support/python-auditor', 'test/support/java-consumer'],
  client: ['test/support/python-client', 'test/support/client-packages'],
  prover: ['test/support/forge', 'test/support/provers'],
} as const;

type Started = keyof typeof STARTERS;

interface Bounds {
  /** It must start one of these; empty: it may start nothing. */
  readonly needs: readonly Started[];
  readonly may: readonly Started[];
}

const BOUNDS: Readonly<Record<Kind, Bounds>> = {
  unit: { needs: [], may: [] },
  slow: { needs: [], may: [] },
  services: { needs: ['Postgres'], may: ['Postgres', 'EventStoreDB'] },
  chain: { needs: ['chain'], may: ['Postgres', 'chain'] },
  kafka: { needs: ['Kafka'], may: ['Postgres', 'chain', 'Kafka'] },
  crash: { needs: ['service'], may: ['Postgres', 'chain', 'Kafka', 'service', 'EventStoreDB'] },
  eventstore: { needs: ['EventStoreDB'], may: ['Postgres', 'chain', 'Kafka', 'service', 'EventStoreDB'] },
  // What acts on a chain of geth's acts on the other one, too.
  geth: { needs: ['geth'], may: ['Postgres', 'chain', 'service', 'geth'] },
  auditors: { needs: ['auditor'], may: ['Postgres', 'chain', 'Kafka', 'auditor'] },
  clients: { needs: ['client'], may: ['Postgres', 'chain', 'service', 'client'] },
  solidity: { needs: [], may: [] },
  proofs: { needs: ['prover'], may: ['prover'] },
};

export const kinds: Rule = (project) => {
  const files = new Map(project.sources.map((source) => [source.path, source]));
  return project.sources.filter(({ path }) => path.endsWith('.test.ts')).flatMap((source) => findingsOf(source, files));
};

function findingsOf(source: Source, files: ReadonlyMap<string, Source>): string[] {
  const { path } = source;
  const [, stem = '', suffix] = /([^/]+?)(?:\.(\w+))?\.test\.ts$/.exec(path) ?? [];
  const kind = kindOf(path);
  if (kind === undefined) return [`${path} is of kind ${suffix}, which is none of ${Object.keys(KINDS).join(', ')}: name it ${nameFor(stem, startedBy(source, files))}`];
  const { needs, may } = BOUNDS[kind];
  const started = startedBy(source, files);
  const surplus = [...started].filter(([what]) => !may.includes(what));
  const missing = needs.length > 0 && !needs.some((what) => started.has(what));
  if (surplus.length === 0 && !missing) return [];
  const reasons = surplus.map(([what, by]) => `starts ${article(what)} through ${by.join(' -> ')}`);
  if (missing) reasons.push(`starts no ${needs.join(' or ')}`);
  return [`${path} is of kind ${kind}, but ${reasons.join(', and ')}: name it ${nameFor(stem, started)}${missing ? '' : ', or do without'}`];
}

/** What a test starts, and through which files. Only what a file of test/ imports counts: the sources import much that they do not start. */
function startedBy(source: Source, files: ReadonlyMap<string, Source>): Map<Started, string[]> {
  const started = new Map<Started, string[]>();
  const seen = new Set<string>();
  const waiting: (readonly [Source, string[]])[] = [[source, []]];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [file, through] = next;
    for (const { target, typeOnly } of file.imports) {
      if (target === undefined || typeOnly || seen.has(target)) continue;
      seen.add(target);
      for (const [what, starters] of Object.entries(STARTERS) as [Started, readonly string[]][]) {
        if (isOneOf(target, starters) && !started.has(what)) started.set(what, [...through, target]);
      }
      const imported = target.startsWith('test/') ? files.get(`${target}.ts`) : undefined;
      if (imported !== undefined) waiting.push([imported, [...through, target]]);
    }
  }
  return started;
}

function nameFor(stem: string, started: ReadonlyMap<Started, unknown>): string {
  const kind = started.has('prover') ? '.proofs' : started.has('geth') ? '.geth' : started.has('auditor') ? '.auditors' : started.has('client') ? '.clients' : started.has('service') ? '.crash' : started.has('Kafka') ? '.kafka' : started.has('chain') ? '.chain' : started.has('Postgres') ? '.services' : '';
  return `${stem}${kind}.test.ts${kind === '' ? ` (or ${stem}.slow.test.ts when it takes more than a second)` : ''}`;
}

function article(what: Started): string {
  return what === 'auditor' ? `an ${what}` : what === 'chain' || what === 'service' || what === 'client' || what === 'prover' ? `a ${what}` : what;
}
