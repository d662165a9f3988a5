/** The settings: defaults, every fault at once, secrets kept, what the development stack may do. */
import assert from 'node:assert/strict';
import { logUrlOf, parseConfig, publicConfig, settingsHelp, settingsMarkdown, type ConfigError } from '../../service/config.js';
import { removedSettings } from '../../service/removed-settings.js';
import { isLoopback } from '../../service/settings.js';

describe('service: configuration', () => {
  const publicUrls = {
    pyth: 'https://hermes.pyth.network',
    coinbase: 'https://api.exchange.coinbase.com', coinbaseStream: 'wss://ws-feed.exchange.coinbase.com',
    binance: 'https://data-api.binance.vision', binanceStream: 'wss://data-stream.binance.vision',
  };
  const roles = ['projections', 'engine', 'indexer', 'lane', 'feed', 'settlement', 'relayer', 'prices', 'query', 'api'];

  it('is the development stack on loopback when the environment says nothing', () => {
    const config = parseConfig({});
    assert.deepEqual(config, {
      host: '127.0.0.1', port: 8080, dataDir: '.data', databaseUrl: '', logLevel: 'info', trustProxy: 0, cancelAuth: 'open', chains: 'dev',
      chainPort: 8545, devDisputeWindowS: 7_200, exposureCheck: false, chainId: 31_337, catalogue: '', snapshotEvery: 200_000, keepHistoryDays: undefined,
      plannedHalts: [], maxOpenOrders: 5_000, maxConnections: 10_000, maxConnectionsPerAddress: 2_500, metricsPort: undefined,
      rateLimitOrders: 0, rateLimitReads: 0, quickAssets: ['BTC', 'ETH'], maxPriceStreamsPerAddress: 0,
      relayGasPerOwner: 20_000_000, relayGasPerToken: 1_000_000_000,
      priceSources: ['simulated'], pythApiKey: '', priceUrls: publicUrls, quickIntervalS: 900, clockMaxJumpS: 10, minFreeDiskMb: 512,
      stopGraceMs: 0, queryDatabaseUrl: '', logUrl: '', outboxUrl: '', allowUnsafePostgres: false,
      kafkaBrokers: [], kafkaTopic: 'fills.v1', kafkaTopicV2: 'fills.v2', kafkaGroup: 'settlement', kafkaSsl: false, kafkaUsername: '', kafkaPassword: '',
      kafkaMechanism: 'scram-sha-512', kafkaReplication: 3, roles, processes: roles.map((role) => [role]),
    });
    assert.deepEqual(parseConfig({ PORT: '', HOST: ' ' }), config, 'an empty variable is an absent one');
  });

  it('asks for signed cancels and limits clients as soon as it is more than that', () => {
    assert.equal(parseConfig({ DATABASE_URL: 'postgres://db/exchange' }).cancelAuth, 'required');
    for (const CHAINS of ['chains.json', 'none']) assert.equal(parseConfig({ CHAINS }).cancelAuth, 'required', CHAINS);
    assert.equal(parseConfig({ CHAINS: 'dev' }).cancelAuth, 'open');
    const open = parseConfig({ HOST: '0.0.0.0' });
    assert.deepEqual([open.cancelAuth, open.rateLimitOrders, open.rateLimitReads], ['required', 6_000, 6_000]);
    assert.equal(open.maxPriceStreamsPerAddress, 64);
    assert.equal(parseConfig({ TRUST_PROXY: '1' }).rateLimitOrders, 6_000, 'behind a proxy the callers are others');
    assert.equal(parseConfig({ DATABASE_URL: 'postgres://db/exchange', CANCEL_AUTH: 'open' }).cancelAuth, 'open');
    for (const HOST of ['0.0.0.0', '::', '192.0.2.1', 'exchange.example']) {
      assert.throws(() => parseConfig({ HOST, CANCEL_AUTH: 'open' }), /CANCEL_AUTH: open lets anybody cancel/, HOST);
    }
    for (const host of ['127.0.0.1', '127.8.8.8', '::1', 'localhost']) assert.ok(isLoopback(host), host);
    for (const host of ['0.0.0.0', '::', '127.example.com', '128.0.0.1', '']) assert.ok(!isLoopback(host), host);
  });

  it('gives one client a part of the connections, and counts no addresses behind a proxy unless told', () => {
    const share = (environment: Record<string, string>) => parseConfig(environment).maxConnectionsPerAddress;
    const shares = ['1000', '200', '100', '10', '1'].map((MAX_CONNECTIONS) => share({ MAX_CONNECTIONS }));
    assert.deepEqual([share({ HOST: '0.0.0.0' }), ...shares], [2_500, 250, 64, 50, 5, 1]);
    const told = { MAX_CONNECTIONS_PER_ADDRESS: '9' };
    assert.deepEqual([share({ TRUST_PROXY: '1' }), share({ TRUST_PROXY: '1', ...told }), share(told)], [0, 9, 9]);
    assert.equal(share({ MAX_CONNECTIONS_PER_ADDRESS: '0' }), 0);
  });

  it('plans halts at the times that it is told, in UTC', () => {
    const halt = (given: string) => parseConfig({ PLANNED_HALTS: given }).plannedHalts;
    const [fromS, toS] = [Date.UTC(2026, 11, 1, 10) / 1_000, Date.UTC(2026, 11, 1, 10, 30, 15) / 1_000];
    assert.deepEqual(halt('2026-12-01T10:00Z/2026-12-01T10:30:15Z new database'), [{ fromS, toS, reason: 'new database' }]);
    assert.deepEqual(halt(' 2026-12-01T10:00Z/2026-12-01T10:30:15Z a ; 2028-02-29T00:00Z/2028-03-01T00:00Z b;').map(({ reason }) => reason), ['a', 'b']);
    const wrong = [
      'tonight', '2026-12-01T10:00Z', '2026-12-01T10:00Z/2026-12-01T10:30Z', '2026-12-01T10:00/2026-12-01T10:30 local', '2026-12-01T10:30Z/2026-12-01T10:30Z none',
      '2026-12-01T11:00Z/2026-12-01T10:30Z ends first', '2026-02-29T10:00Z/2026-03-01T10:30Z no such day', '2026-12-01T25:00Z/2026-12-02T10:30Z no such hour',
      '2026-12-01T10:00Z/2026-12-01T10:30Z good; bad', `2026-12-01T10:00Z/2026-12-01T10:30Z ${'x'.repeat(201)}`, '2026-12-01T10:00Z/2026-12-01T10:30Z a\nb',
    ];
    for (const given of wrong) assert.throws(() => halt(given), /PLANNED_HALTS: expected/, given);
  });

  it('has prices of the assets that it is told, each once', () => {
    assert.deepEqual(parseConfig({ QUICK_ASSETS: 'ETH, SOL' }).quickAssets, ['ETH', 'SOL']);
    for (const QUICK_ASSETS of ['btc', 'BTC,BTC', ',', 'B', 'BTC/USD']) assert.throws(() => parseConfig({ QUICK_ASSETS }), /QUICK_ASSETS: expected/, QUICK_ASSETS);
  });

  it('takes prices from servers of one\'s own, whose URLs are logged only where they are the public ones', () => {
    const own = {
      'pyth': 'http://127.0.0.1:4000', 'coinbase': 'https://prices.example/coinbase', 'coinbase-stream': 'ws://[::1]:4001',
      'binance': 'https://prices.example', 'binance-stream': 'wss://prices.example/hunter2/binance',
    };
    const PRICE_URLS = Object.entries(own).map(([name, url]) => `${name}=${url}`).join(', ');
    const { coinbase, 'coinbase-stream': coinbaseStream, binance, 'binance-stream': binanceStream, pyth } = own;
    assert.deepEqual(parseConfig({ PRICE_URLS }).priceUrls, { pyth, coinbase, coinbaseStream, binance, binanceStream });
    assert.deepEqual(parseConfig({ PRICE_URLS: `binance=${binance}` }).priceUrls, { ...publicUrls, binance });
    assert.equal(publicConfig(parseConfig({ PRICE_URLS }))['PRICE_URLS'], '(secret)');
    assert.deepEqual(publicConfig(parseConfig({}))['PRICE_URLS'], publicUrls);
  });

  it('refuses a price server\'s URL to which no path can be added, and does not repeat it', () => {
    const faults = ['hunter2', '//hunter2', ':hunter2', '://', '://hunter2/', '://hunter2/a/', '://hunter2?a=b', '://hunter2#a', '://hunter2:99999', '://user:hunter2@host',
      '://hunter2@host', '://hunter2\\host'];
    for (const [names, schemes, others, expected] of [
      [['pyth', 'coinbase', 'binance'], ['http', 'https'], ['ws', 'wss', 'ftp', 'HTTP'], 'http://host:port or https://host'],
      [['coinbase-stream', 'binance-stream'], ['ws', 'wss'], ['http', 'https', 'file', 'WSS'], 'ws://host:port or wss://host'],
    ] as const) {
      const values = [...schemes.flatMap((scheme) => faults.map((fault) => scheme + fault)), ...others.map((scheme) => `${scheme}://hunter2`), 'hunter2', 'hunter2:8080', ''];
      for (const value of values) {
        for (const name of names) {
          assert.throws(() => parseConfig({ PRICE_URLS: `${name}=${value}` }), (error: ConfigError) => {
            assert.deepEqual(error.problems, [`PRICE_URLS: ${name}: expected ${expected}, without user, password, query and a slash at the end`], value);
            return true;
          });
        }
      }
    }
    const names = 'PRICE_URLS: expected name=url, separated by commas or spaces, with the names pyth, coinbase, coinbase-stream, binance, binance-stream';
    for (const [PRICE_URLS, problem] of [
      ['https://hunter2', names], ['kraken=https://hunter2', names], ['pyth https://hunter2', names], ['toString=https://hunter2', names],
      ['pyth=https://hunter2 host', names], ['pyth=https://hunter2,pyth=https://other', 'PRICE_URLS: expected each name once'],
    ] as const) {
      assert.throws(() => parseConfig({ PRICE_URLS }), (error: ConfigError) => {
        assert.deepEqual(error.problems, [problem], PRICE_URLS);
        return true;
      });
    }
  });

  it('serves the metrics at a port of loopback, or at the address that is given with the port', () => {
    const metricsAt = (METRICS_PORT: string) => parseConfig({ METRICS_PORT }).metricsPort;
    assert.deepEqual(metricsAt('9100'), { host: '127.0.0.1', port: 9_100 });
    assert.deepEqual(metricsAt('192.0.2.1:0'), { host: '192.0.2.1', port: 0 });
    assert.deepEqual(metricsAt('[::]:9100'), { host: '::', port: 9_100 });
    assert.deepEqual(metricsAt('metrics.example:9100'), { host: 'metrics.example', port: 9_100 });
    for (const METRICS_PORT of ['65536', '-1', 'x', ':9100', '192.0.2.1:', '192.0.2.1', '::1:9100', '[::1]', '[x]:1', 'http://a:1', 'a b:1', '[1:2:3]:4']) {
      assert.throws(() => parseConfig({ METRICS_PORT }), /METRICS_PORT: expected a port from 0 to 65535, or host:port, not "/, METRICS_PORT);
    }
  });

  it('settles on a chain of its own in the development stack, else on none, unless told', () => {
    const chainsOf = (environment: Record<string, string>) => parseConfig(environment).chains;
    assert.equal(chainsOf({}), 'dev');
    assert.equal(chainsOf({ HOST: '0.0.0.0' }), 'none');
    assert.equal(chainsOf({ DATABASE_URL: 'postgres://db/exchange' }), 'none');
    assert.equal(chainsOf({ DATABASE_URL: 'postgres://db/exchange', CHAINS: 'dev' }), 'dev');
    assert.equal(chainsOf({ CHAINS: 'none' }), 'none');
    assert.equal(chainsOf({ CHAINS: 'conf/chains.json' }), 'conf/chains.json');
    const config = parseConfig({ CHAIN_PORT: '0', EXPOSURE_CHECK: 'true', CHAIN_ID: '5' });
    assert.deepEqual([config.chainPort, config.exposureCheck, config.chainId], [0, true, 5]);
  });

  it('refuses what would have no effect on the chain that is asked for, and says where it would', () => {
    const own = { CHAIN_ID: '5' };
    const refused = (environment: Record<string, string>): string[] => {
      try {
        parseConfig(environment);
      } catch (error) {
        return (error as ConfigError).problems.map((each) => each.split(':')[0]!);
      }
      return [];
    };
    assert.deepEqual(refused({ ...own, CHAINS: 'dev', EXPOSURE_CHECK: 'true' }), []);
    assert.deepEqual(refused({ ...own, CHAINS: 'none' }), []);
    assert.deepEqual(refused({ ...own, CHAINS: 'none', EXPOSURE_CHECK: 'true' }), ['EXPOSURE_CHECK']);
    assert.deepEqual(refused({ ...own, CHAINS: 'chains.json', EXPOSURE_CHECK: 'true' }), ['EXPOSURE_CHECK', 'CHAIN_ID']);
    assert.throws(() => parseConfig({ CHAIN_ID: '5', CHAINS: 'chains.json' }),
      /CHAIN_ID: has no effect with CHAINS=chains\.json, since the chains file describes each chain: unset it, or set CHAINS$/m);
  });

  it('takes the log from LOG_URL or DATABASE_URL, and refuses what is neither a Postgres nor an EventStoreDB without showing it', () => {
    const [store, other] = ['esdb://me:hunter2@host?tls=false', 'postgres://me:hunter2@db/log'];
    const logOf = (environment: Record<string, string>) => logUrlOf(parseConfig(environment), 'postgres://read/models');
    assert.deepEqual([{}, { LOG_URL: other }, { LOG_URL: store }].map(logOf), ['postgres://read/models', other, store]);
    assert.equal(publicConfig(parseConfig({ LOG_URL: store }))['LOG_URL'], '(secret)');
    for (const [environment, message] of [
      [{ LOG_URL: 'mysql://me:hunter2@db/log' }, /LOG_URL: expected postgres:.* or esdb:/],
      [{ LOG_URL: 'esdb://me:hunter2@' }, /LOG_URL: the URL cannot be read; give esdb:/],
      [{ LOG_URL: `${store}&nodePreference=random` }, /LOG_URL: nodePreference must be leader/],
      [{ LOG_URL: `${store}&tls=true` }, /LOG_URL: the options of the URL are/],
    ] as const) {
      assert.throws(() => parseConfig(environment), (error: ConfigError) => message.test(error.message) && !error.message.includes('hunter2'));
    }
  });

  it('logs only settings that count', () => {
    const all = Object.keys(publicConfig(parseConfig({ CHAINS: 'dev' })));
    const missing = (environment: Record<string, string>, unused: Parameters<typeof publicConfig>[1] = []): string[] => {
      const shown = Object.keys(publicConfig(parseConfig(environment), unused));
      return all.filter((name) => !shown.includes(name)).sort();
    };
    assert.deepEqual(missing({}), []);
    assert.deepEqual(missing({}, ['PROCESSES']), ['PROCESSES']);
    assert.deepEqual(missing({ CHAINS: 'none' }), ['CHAIN_PORT', 'DEV_DISPUTE_WINDOW_S', 'EXPOSURE_CHECK']);
    assert.deepEqual(missing({ CHAINS: 'x.json' }), ['CATALOGUE', 'CHAIN_ID', 'CHAIN_PORT', 'DEV_DISPUTE_WINDOW_S', 'EXPOSURE_CHECK']);
  });

  it('stops with every fault at once, and never prints a secret', () => {
    const environment = {
      HOST: 'http://x', PORT: '65536', DATABASE_URL: 'mysql://root:hunter2@db', LOG_LEVEL: 'loud', TRUST_PROXY: 'true', CANCEL_AUTH: 'no', CHAIN_ID: '0x1',
      SNAPSHOT_EVERY: '-1', MAX_OPEN_ORDERS: '1e3', RATE_LIMIT_ORDERS: '1.5', CATALOGUE: 'a\nb', CHAINS: 'a\u0000', CHAIN_PORT: '70000',
      EXPOSURE_CHECK: '1', METRICS_HOST: 'hunter2',
    };
    assert.throws(() => parseConfig(environment), (error: ConfigError) => {
      assert.deepEqual(error.problems.map((each) => each.split(':')[0]).sort(), Object.keys(environment).sort());
      assert.doesNotMatch(error.message, /hunter2/);
      assert.match(error.message, /^The configuration is wrong in 15 places:\n {2}METRICS_HOST: is no longer a setting/);
      return true;
    });
  });

  it('refuses each setting that there is no more, says what to do instead, and does not show what was given', () => {
    const removed = [
      'EVENTSTORE_URL', 'KAFKA_SSL_CA', 'KAFKA_PASSWORD_FILE', 'KAFKA_MIN_INSYNC', 'CHAIN_NAME', 'CHAIN_TESTNET', 'SETTLEMENT_DOMAIN_NAME', 'SETTLEMENT_ADDRESS',
      'MAX_QUEUED_ORDERS', 'METRICS_HOST', 'RATE_LIMIT_WINDOW_S', 'MAX_PRICE_STREAMS', 'PYTH_URL', 'COINBASE_URL', 'COINBASE_STREAM_URL', 'BINANCE_URL',
      'BINANCE_STREAM_URL', 'KEEPER_GRACE_S', 'QUICK_AHEAD', 'REQUEST_TIMEOUT_MS', 'KEEP_ALIVE_TIMEOUT_MS', 'STOP_TIMEOUT_MS', 'CLOCK_ACCEPT_AFTER_S', 'READY_MAX_LAG',
    ];
    const problems = removedSettings(() => true);
    assert.deepEqual(problems.map((each) => each.split(':')[0]), removed);
    const names = [...settingsMarkdown().matchAll(/^\| `(\w+)`/gm)].map(([, name = '']) => name);
    assert.deepEqual(removed.filter((name) => names.includes(name)), []);
    for (const [i, name] of removed.entries()) {
      assert.throws(() => parseConfig({ [name]: 'hunter2' }), (error: ConfigError) => {
        assert.deepEqual(error.problems, [problems[i]]);
        assert.doesNotMatch(error.message, /hunter2/);
        return true;
      });
      assert.match(problems[i]!, /: is no longer a setting: .*(?:unset|give )/);
      // What the sentence names instead is a setting.
      const instead = problems[i]!.slice(name.length).match(/\b[A-Z]+(?:_[A-Z]+)+\b/g) ?? [];
      assert.deepEqual(instead.filter((each) => !names.includes(each)), [], name);
    }
    assert.deepEqual(parseConfig({ METRICS_HOST: ' ', PYTH_URL: '' }), parseConfig({}), 'an empty variable is an absent one');
  });

  it('takes every setting from its variable', () => {
    assert.deepEqual(
      [parseConfig({ PORT: '0' }).port, parseConfig({ TRUST_PROXY: '2' }).trustProxy, parseConfig({ KAFKA_BROKERS: 'a:1', KAFKA_SSL: 'true' }).kafkaSsl],
      [0, 2, true],
    );
  });

  it('shows a secret only as given, and describes every setting in both tables', () => {
    const shown = publicConfig(parseConfig({ DATABASE_URL: 'postgres://u:hunter2@db/x' }));
    assert.equal(shown['DATABASE_URL'], '(secret)');
    for (const name of [...Object.keys(shown), 'CHAIN_PORT', 'EXPOSURE_CHECK']) {
      assert.match(settingsHelp(), new RegExp(`^${name} +\\S.*\\. Default: `, 'm'));
      assert.match(settingsMarkdown(), new RegExp(`^\\| \`${name}\` \\| .+ \\| \\S.*\\. \\|$`, 'm'));
    }
  });
});
