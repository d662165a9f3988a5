/** The settings: defaults, every fault at once, secrets kept, what the development stack may do. */
import assert from 'node:assert/strict';
import type { ConfigError } from '../../service/config.js';
import { logUrlOf, parseConfig, publicConfig, settingsHelp, settingsMarkdown } from '../../service/config.js';
import { isLoopback } from '../../service/settings.js';

describe('service: configuration', () => {
  const roles = ['projections', 'engine', 'indexer', 'lane', 'feed', 'settlement', 'relayer', 'prices', 'query', 'api'];

  it('is the development stack on loopback when the environment says nothing', () => {
    const config = parseConfig({});
    assert.deepEqual(config, {
      host: '127.0.0.1', port: 8080, dataDir: '.data', databaseUrl: '', logLevel: 'info', trustProxy: 0, cancelAuth: 'open', chains: 'dev',
      chainPort: 8545, devDisputeWindowS: 7_200, exposureCheck: false, chainId: 31_337,
      chainName: 'Development chain', chainTestnet: true, settlementDomainName: 'Prediction Exchange Settlement',
      settlementAddress: '0x5fbdb2315678afecb367f032d93f642f64180aa3', catalogue: '', snapshotEvery: 200_000, maxQueuedOrders: 10_000,
      maxOpenOrders: 5_000, maxConnections: 10_000, maxConnectionsPerAddress: 2_500, metricsPort: undefined, metricsHost: '127.0.0.1',
      rateLimitWindowS: 60, rateLimitOrders: 0, rateLimitReads: 0, requestTimeoutMs: 10_000,
      quickAssets: ['BTC', 'ETH'], maxPriceStreams: 5_000, maxPriceStreamsPerAddress: 0,
      relayGasPerOwner: 20_000_000, relayGasPerToken: 1_000_000_000, keeperGraceS: 60,
      priceSources: ['simulated'], pythApiKey: '', pythUrl: 'https://hermes.pyth.network',
      coinbaseUrl: 'https://api.exchange.coinbase.com', coinbaseStreamUrl: 'wss://ws-feed.exchange.coinbase.com',
      binanceUrl: 'https://data-api.binance.vision', binanceStreamUrl: 'wss://data-stream.binance.vision', quickIntervalS: 900, quickAhead: 2,
      keepAliveTimeoutMs: 65_000, clockMaxJumpS: 10, clockAcceptAfterS: 600, minFreeDiskMb: 512,
      stopGraceMs: 0, stopTimeoutMs: 10_000, readyMaxLag: 10_000, queryDatabaseUrl: '', eventstoreUrl: '', logUrl: '', outboxUrl: '', allowUnsafePostgres: false,
      kafkaBrokers: [], kafkaTopic: 'fills.v1', kafkaTopicV2: 'fills.v2', kafkaGroup: 'settlement', kafkaSslCa: '', kafkaSsl: false, kafkaUsername: '', kafkaPassword: '', kafkaPasswordFile: '',
      kafkaMechanism: 'scram-sha-512', kafkaReplication: 3, kafkaMinInsync: 2, roles, processes: roles.map((role) => [role]),
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

  it('has prices of the assets that it is told, each once', () => {
    assert.deepEqual(parseConfig({ QUICK_ASSETS: 'ETH, SOL' }).quickAssets, ['ETH', 'SOL']);
    for (const QUICK_ASSETS of ['btc', 'BTC,BTC', ',', 'B', 'BTC/USD']) assert.throws(() => parseConfig({ QUICK_ASSETS }), /QUICK_ASSETS: expected/, QUICK_ASSETS);
    assert.equal(parseConfig({ MAX_CONNECTIONS: '1' }).maxPriceStreams, 1);
  });

  const httpUrls = ['PYTH_URL', 'COINBASE_URL', 'BINANCE_URL'];
  const webSocketUrls = ['COINBASE_STREAM_URL', 'BINANCE_STREAM_URL'];

  it('takes prices from servers of one\'s own, whose URLs are logged only where they are the public ones', () => {
    const own = {
      PYTH_URL: 'http://127.0.0.1:4000', COINBASE_URL: 'https://prices.example/coinbase', COINBASE_STREAM_URL: 'ws://[::1]:4001',
      BINANCE_URL: 'https://prices.example', BINANCE_STREAM_URL: 'wss://prices.example/hunter2/binance',
    };
    const { pythUrl, coinbaseUrl, coinbaseStreamUrl, binanceUrl, binanceStreamUrl } = parseConfig(own);
    assert.deepEqual([pythUrl, coinbaseUrl, coinbaseStreamUrl, binanceUrl, binanceStreamUrl], Object.values(own));
    const logged = (environment: Record<string, string>) => Object.entries(publicConfig(parseConfig(environment))).filter(([name]) => name in own);
    assert.deepEqual(logged(own), Object.keys(own).map((name) => [name, '(secret)']));
    const { COINBASE_STREAM_URL, BINANCE_STREAM_URL, ...rest } = Object.fromEntries(logged({}));
    assert.deepEqual([COINBASE_STREAM_URL, BINANCE_STREAM_URL], ['wss://ws-feed.exchange.coinbase.com', 'wss://data-stream.binance.vision']);
    assert.deepEqual(Object.keys(rest), httpUrls);
  });

  it('refuses a price server\'s URL to which no path can be added, and does not repeat it', () => {
    const faults = ['hunter2', '//hunter2', ':hunter2', '://', '://hunter2/', '://hunter2/a/', '://hunter2?a=b', '://hunter2#a', '://hunter2:99999', '://user:hunter2@host',
      '://hunter2@host', '://hunter2 host', '://hunter2\\host'];
    for (const [names, schemes, others, expected] of [
      [httpUrls, ['http', 'https'], ['ws', 'wss', 'ftp', 'HTTP'], 'http://host:port or https://host'],
      [webSocketUrls, ['ws', 'wss'], ['http', 'https', 'file', 'WSS'], 'ws://host:port or wss://host'],
    ] as const) {
      const values = [...schemes.flatMap((scheme) => faults.map((fault) => scheme + fault)), ...others.map((scheme) => `${scheme}://hunter2`), 'hunter2', 'hunter2:8080'];
      for (const value of values) {
        for (const name of names) {
          assert.throws(() => parseConfig({ [name]: value }), (error: ConfigError) => {
            assert.deepEqual(error.problems, [`${name}: expected ${expected}, without user, password, query and a slash at the end`], value);
            return true;
          });
        }
      }
    }
  });

  it('has an address for the metrics only together with a port', () => {
    const { metricsHost, metricsPort } = parseConfig({ METRICS_PORT: '9100', METRICS_HOST: '192.0.2.1' });
    assert.deepEqual([metricsHost, metricsPort], ['192.0.2.1', 9_100]);
    assert.throws(() => parseConfig({ METRICS_HOST: '192.0.2.1' }), /METRICS_HOST: has no effect without METRICS_PORT/);
  });

  it('settles on a chain of its own in the development stack, else on none, unless told', () => {
    const chainsOf = (environment: Record<string, string>) => parseConfig(environment).chains;
    assert.equal(chainsOf({}), 'dev');
    assert.equal(chainsOf({ HOST: '0.0.0.0' }), 'none');
    assert.equal(chainsOf({ DATABASE_URL: 'postgres://db/exchange' }), 'none');
    assert.equal(chainsOf({ DATABASE_URL: 'postgres://db/exchange', CHAINS: 'dev' }), 'dev');
    assert.equal(chainsOf({ CHAINS: 'none' }), 'none');
    assert.equal(chainsOf({ CHAINS: 'conf/chains.json' }), 'conf/chains.json');
    const config = parseConfig({ CHAIN_PORT: '0', EXPOSURE_CHECK: 'true', CHAIN_ID: '5', CHAIN_NAME: 'Mine' });
    assert.deepEqual([config.chainPort, config.exposureCheck, config.chainId, config.chainName], [0, true, 5, 'Mine']);
  });

  it('refuses what would have no effect on the chain that is asked for, and says where it would', () => {
    const domain = { CHAIN_TESTNET: 'true', SETTLEMENT_DOMAIN_NAME: 'Mine', SETTLEMENT_ADDRESS: `0x${'ab'.repeat(20)}` };
    const own = { ...domain, CHAIN_ID: '5', CHAIN_NAME: 'Mine' };
    const refused = (environment: Record<string, string>): string[] => {
      try {
        parseConfig(environment);
      } catch (error) {
        return (error as ConfigError).problems.map((each) => each.split(':')[0]!);
      }
      return [];
    };
    assert.deepEqual(refused({ ...own, CHAINS: 'dev' }), Object.keys(domain));
    assert.deepEqual(refused({ ...own, CHAINS: 'none' }), []);
    assert.deepEqual(refused({ ...own, CHAINS: 'none', EXPOSURE_CHECK: 'true' }), ['EXPOSURE_CHECK']);
    assert.deepEqual(refused({ ...own, CHAINS: 'chains.json' }).sort(), Object.keys(own).sort());
    assert.throws(() => parseConfig({ SETTLEMENT_ADDRESS: `0x${'ab'.repeat(20)}` }),
      /SETTLEMENT_ADDRESS: has no effect with CHAINS=dev, since the development chain has its own values: unset it, or set CHAINS$/m);
  });

  it('takes the log from EVENTSTORE_URL, LOG_URL or DATABASE_URL, and refuses two that differ without showing them', () => {
    const [store, other] = ['esdb://me:hunter2@host?tls=false', 'postgres://me:hunter2@db/log'];
    const logOf = (environment: Record<string, string>) => logUrlOf(parseConfig(environment), 'postgres://read/models');
    const given = [{}, { LOG_URL: other }, { LOG_URL: store }, { EVENTSTORE_URL: store }, { EVENTSTORE_URL: store, LOG_URL: store }];
    assert.deepEqual(given.map(logOf), ['postgres://read/models', other, store, store, store]);
    assert.equal(publicConfig(parseConfig({ EVENTSTORE_URL: store }))['EVENTSTORE_URL'], '(secret)');
    for (const [environment, message] of [
      [{ EVENTSTORE_URL: store, LOG_URL: other }, /EVENTSTORE_URL: LOG_URL names another log: unset the one of the two that is not meant/],
      [{ EVENTSTORE_URL: other }, /EVENTSTORE_URL: the URL cannot be read; give esdb:/],
      [{ EVENTSTORE_URL: `${store}&nodePreference=random` }, /EVENTSTORE_URL: nodePreference must be leader/],
      [{ LOG_URL: `${store}&tls=true` }, /LOG_URL: the options of the URL are/],
    ] as const) {
      assert.throws(() => parseConfig(environment), (error: ConfigError) => message.test(error.message) && !error.message.includes('hunter2'));
    }
  });

  it('logs only settings that count', () => {
    const all = Object.keys(publicConfig(parseConfig({ CHAINS: 'dev' })));
    const domain = ['CHAIN_TESTNET', 'SETTLEMENT_DOMAIN_NAME', 'SETTLEMENT_ADDRESS'];
    const missing = (environment: Record<string, string>, unused: Parameters<typeof publicConfig>[1] = []): string[] => {
      const shown = Object.keys(publicConfig(parseConfig(environment), unused));
      return [...all, ...domain].filter((name) => !shown.includes(name)).sort();
    };
    assert.deepEqual(missing({}), [...domain].sort(), 'the development chain has an address of its own');
    assert.deepEqual(missing({}, ['PROCESSES']), ['PROCESSES', ...domain].sort());
    assert.deepEqual(missing({ CHAINS: 'none' }), ['CHAIN_PORT', 'DEV_DISPUTE_WINDOW_S', 'EXPOSURE_CHECK']);
    assert.deepEqual(missing({ CHAINS: 'x.json' }), ['CATALOGUE', 'CHAIN_ID', 'CHAIN_NAME', 'CHAIN_PORT', 'DEV_DISPUTE_WINDOW_S', 'EXPOSURE_CHECK', ...domain].sort());
  });

  it('stops with every fault at once, and never prints a secret', () => {
    const environment = {
      HOST: 'http://x', PORT: '65536', DATABASE_URL: 'mysql://root:hunter2@db', LOG_LEVEL: 'loud', TRUST_PROXY: 'true', CANCEL_AUTH: 'no', CHAIN_ID: '0x1',
      CHAIN_TESTNET: 'yes', SETTLEMENT_ADDRESS: '0x12', SNAPSHOT_EVERY: '-1', MAX_QUEUED_ORDERS: '1e3', RATE_LIMIT_ORDERS: '1.5', CHAIN_NAME: 'a\nb',
      CHAINS: 'a\u0000', CHAIN_PORT: '70000', EXPOSURE_CHECK: '1',
    };
    assert.throws(() => parseConfig(environment), (error: ConfigError) => {
      assert.deepEqual(error.problems.map((each) => each.split(':')[0]).sort(), Object.keys(environment).sort());
      assert.doesNotMatch(error.message, /hunter2/);
      assert.match(error.message, /^The configuration is wrong in 16 places:\n {2}HOST: expected an IP address/);
      return true;
    });
  });

  it('takes every setting from its variable', () => {
    assert.deepEqual(
      [parseConfig({ PORT: '0' }).port, parseConfig({ TRUST_PROXY: '2' }).trustProxy, parseConfig({ CHAINS: 'none', CHAIN_TESTNET: 'false' }).chainTestnet],
      [0, 2, false],
    );
    assert.equal(parseConfig({ CHAINS: 'none', SETTLEMENT_ADDRESS: `0x${'AB'.repeat(20)}` }).settlementAddress, `0x${'ab'.repeat(20)}`);
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
