/** The look for secrets in what services write finds each kind of them; it is the same look that every test's services are under. */
import assert from 'node:assert/strict';
import { creatorWallet, developmentAccounts, relayerWallet } from '../../stack/chain/dev-contracts.js';
import { secretsOf, spokenIn } from '../support/spoken-secrets.js';

const TOKEN = `pex_${'aB3_-'.repeat(9)}`;
const environment = {
  DATABASE_URL: 'postgresql://exchange:data%2Fbase-word@db/exchange', LOG_URL: 'esdb://reader:store-word@db:2113', KAFKA_PASSWORD: 'kafka-word',
  OPERATOR_KEY: `0x${'ab'.repeat(32)}`, PYTH_API_KEY: 'provider-key', LOG_LEVEL: 'debug', PATH: '/usr/bin:/bin', POSTGRES_PASSWORD: 'short',
};

describe('service: secrets in what is written', () => {
  const secrets = secretsOf(environment);
  const found = (line: string) => spokenIn(line, secrets);

  it('are found: keys in any case, passwords of URLs, words of brokers and providers, tokens', () => {
    assert.deepEqual(found(`{"url":"${environment.LOG_URL}"}`), ['LOG_URL']);
    assert.deepEqual(found('password data/base-word'), ['DATABASE_URL']);
    assert.deepEqual(found('with kafka-word and provider-key'), ['KAFKA_PASSWORD', 'PYTH_API_KEY']);
    assert.deepEqual(found(`key 0x${'AB'.repeat(32)}`), ['OPERATOR_KEY']);
    for (const line of [`{"msg":"GET /?token=${TOKEN}"}`, `Bearer token of this stack, with the scope relay: ${TOKEN}`]) assert.deepEqual(found(line), ['a bearer token']);
    for (const { address, privateKey } of [creatorWallet(), relayerWallet()]) assert.deepEqual(found(privateKey.slice(2)), [`key of ${address}`]);
  });

  it('are not found where there are none', () => {
    assert.deepEqual(found('{"level":"info","msg":"listening","url":"http://127.0.0.1:8080","database":"db/exchange","short":"short"}'), []);
    assert.deepEqual(found('The bearer token of this stack, with the scope relay, is in .data/token, which only you can read.'), []);
    assert.deepEqual(found(`0x${'ab'.repeat(20)}`), []);
    const [{ address, privateKey } = creatorWallet()] = developmentAccounts();
    assert.deepEqual(found(`  ${address}  ${privateKey}`), [], 'a line of the welcome');
    assert.deepEqual(found(`{"msg":"  ${address}  ${privateKey}"}`), [`key of ${address}`]);
  });
});
