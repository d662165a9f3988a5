/** The rule about the kinds of tests can fail, and says how to rename. */
import { kinds } from './kinds.js';
import { accepts, finds } from './verdicts.js';

const POSTGRES = 'import { testDatabase } from "../support/postgres.js";';
const CHAIN = 'import { startAnvil } from "../../stack/chain/anvil.js";';
const GETH = 'import { startGeth } from "../support/geth.js";';
const KAFKA = 'import { startBroker } from "../support/kafka-broker.js";';
const SERVICE = 'import { startService } from "../support/service-process.js";';

describe('architecture: kinds of tests can be wrong', () => {
  const stack = { 'test/support/stack.ts': 'import "./postgres.js";', 'test/support/postgres.ts': '' };

  it('when a unit test starts something, itself or through a support', () => {
    finds(kinds, { 'test/lane/a.test.ts': POSTGRES }, /^test\/lane\/a\.test\.ts is of kind unit, but starts Postgres through test\/support\/postgres: name it a\.services\.test\.ts, or do without$/);
    finds(kinds, { ...stack, 'test/lane/a.test.ts': 'import { stack } from "../support/stack.js";' }, /through test\/support\/stack -> test\/support\/postgres: name it a\.services/);
    finds(kinds, { 'test/lane/a.test.ts': CHAIN }, /starts a chain .*: name it a\.chain\.test\.ts/);
    finds(kinds, { 'test/lane/a.slow.test.ts': `${POSTGRES}${SERVICE}` }, /of kind slow, but starts Postgres .*, and starts a service .*: name it a\.crash\.test\.ts/);
  });

  it('when one of services has no Postgres, or a chain', () => {
    finds(kinds, { 'test/lane/a.services.test.ts': '' }, /of kind services, but starts no Postgres: name it a\.test\.ts \(or a\.slow\.test\.ts/);
    finds(kinds, { 'test/lane/a.services.test.ts': `${POSTGRES}${CHAIN}` }, /of kind services, but starts a chain .*: name it a\.chain\.test\.ts/);
  });

  it('when one of a chain or a crash has none', () => {
    finds(kinds, { 'test/lane/a.chain.test.ts': POSTGRES }, /of kind chain, but starts no chain: name it a\.services\.test\.ts$/);
    finds(kinds, { 'test/lane/a.crash.test.ts': `${POSTGRES}${CHAIN}` }, /of kind crash, but starts no service: name it a\.chain\.test\.ts$/);
  });

  it('when one on geth is not named so, or starts none', () => {
    finds(kinds, { 'test/lane/a.crash.test.ts': `${SERVICE}${GETH}` }, /of kind crash, but starts geth through test\/support\/geth: name it a\.geth\.test\.ts, or do without$/);
    finds(kinds, { 'test/lane/a.geth.test.ts': CHAIN }, /of kind geth, but starts no geth: name it a\.chain\.test\.ts$/);
  });

  it('when one with a prover is not named so, or has none', () => {
    finds(kinds, { 'test/contracts/a.test.ts': 'import { forge } from "../support/forge.js";' }, /starts a prover .*: name it a\.proofs\.test\.ts/);
    finds(kinds, { 'test/contracts/a.proofs.test.ts': '' }, /of kind proofs, but starts no prover: name it a\.test\.ts/);
  });

  it('when one with Kafka is not named so, or has none', () => {
    finds(kinds, { 'test/lane/a.services.test.ts': `${POSTGRES}${KAFKA}` }, /of kind services, but starts Kafka through test\/support\/kafka-broker: name it a\.kafka\.test\.ts, or do without$/);
    finds(kinds, { 'test/lane/a.chain.test.ts': `${CHAIN}${KAFKA}` }, /starts Kafka .*: name it a\.kafka\.test\.ts/);
    finds(kinds, { 'test/lane/a.kafka.test.ts': POSTGRES }, /of kind kafka, but starts no Kafka: name it a\.services\.test\.ts$/);
  });

  it('when one of an auditor is not named so, or has none', () => {
    finds(kinds, { 'test/lane/a.kafka.test.ts': `${KAFKA}import { consoleConsumed } from "../support/java-consumer.js";` }, /of kind kafka, but starts an auditor .*: name it a\.auditors\.test\.ts/);
    finds(kinds, { 'test/lane/a.auditors.test.ts': CHAIN }, /of kind auditors, but starts no auditor: name it a\.chain\.test\.ts$/);
  });

  it('when one of a client in another language, or with its packages, is not named so, or has none', () => {
    finds(kinds, { 'test/client/a.crash.test.ts': `${SERVICE}import { runPython } from "../support/python-client.js";` }, /of kind crash, but starts a client .*: name it a\.clients\.test\.ts/);
    finds(kinds, { 'test/client/a.clients.test.ts': POSTGRES }, /of kind clients, but starts no client: name it a\.services\.test\.ts$/);
  });

  it('when there is no such kind', () => {
    finds(kinds, { 'test/lane/a.quick.test.ts': '' }, /of kind quick, which is none of unit, slow, services, kafka, chain, crash, eventstore, geth, auditors, clients, solidity, proofs: name it a\.test\.ts/);
  });

  it('and are right otherwise', () => {
    accepts(kinds, { 'test/lane/a.test.ts': '', 'test/lane/b.slow.test.ts': '', 'test/lane/a.services.test.ts': POSTGRES, 'test/lane/a.crash.test.ts': SERVICE });
    accepts(kinds, { 'test/lane/a.geth.test.ts': `${POSTGRES}${SERVICE}${GETH}` });
    accepts(kinds, { 'test/lane/a.kafka.test.ts': `${POSTGRES}${CHAIN}${KAFKA}`, 'test/lane/a.crash.test.ts': `${SERVICE}${KAFKA}` });
    accepts(kinds, { 'test/lane/a.chain.test.ts': CHAIN, 'test/lane/b.chain.test.ts': `${POSTGRES}${CHAIN}` });
    accepts(kinds, { ...stack, 'test/lane/a.test.ts': 'import type { Stack } from "../support/stack.js";' });
  });
});
