/** The floor of the order benchmark: the real server with parsing, validation and signature check, but neither log nor engine. */
import { createKeccak256, prepareDomain, type OrderDomain } from '../../command/signing/typed-data.js';
import { createOrderPlacing, createPlaceOrder } from '../../command/orders/place-order.js';
import { createSignerRecovery } from '../../command/signing/recover.js';
import { serve } from '../../service/api/endpoint.js';
import { countedOrders } from '../../command/orders/role.js';
import { orderEndpoints } from '../../command/orders/endpoints.js';
import { createApp } from '../../service/http/app.js';
import { TIMEOUTS, createServer, listen } from '../../service/http/server.js';
import { createLogger } from '../../service/logger.js';
import { createMetrics, requestObserver } from '../../service/status/metrics.js';

const domain = JSON.parse(process.argv[2]!) as OrderDomain;
const keccak256 = await createKeccak256();
const prepared = prepareDomain(keccak256, domain);
const metrics = createMetrics();
let position = 0;
const orders = countedOrders(metrics, {
  placeOrder: createPlaceOrder(createOrderPlacing({
    view: { market: () => ({ chainId: domain.chainId }), order: () => undefined, refusalOf: () => undefined, refusalByBook: () => undefined,
      time: 0, suspendedUntil: () => 0,
      openOrderCount: () => 0 },
    caughtUp: () => Promise.resolve(),
    maxOpenOrders: 1, minSizeOf: () => 1, domainOf: () => prepared, permitDigestOf: () => undefined, exposureOf: () => undefined,
    recovery: await createSignerRecovery(keccak256),
    submit: (command) => Promise.resolve({
      position: position++,
      outcome: { at: command.at, events: [{ type: 'OrderAccepted', v: 1, ...(command as never as object) } as never] },
    }),
    findOrder: () => Promise.resolve(undefined), originalOutcome: () => Promise.reject(new Error('there is no history')), now: Date.now,
  })),
  cancelOrder: () => Promise.reject(new Error('nothing to cancel')),
});
const nothing = () => Promise.reject(new Error('there is no history'));
const routes = serve(orderEndpoints, {
  ...orders, placeOrders: nothing, cancelOrders: nothing, cancelAll: nothing, cancelAfter: nothing, reduceOrder: nothing, syncPosition: nothing,
});
const app = createApp({
  routes, pages: {}, trustProxy: 0, now: () => performance.now(), limiters: {}, waitForPosition: () => Promise.resolve(),
  observer: requestObserver(metrics, createLogger({ logLevel: 'fatal' })),
});
const server = createServer(app, { ...TIMEOUTS, maxConnections: 1_000, maxConnectionsPerAddress: 0 });
process.send!({ port: await listen(server, { host: '127.0.0.1', port: 0 }) });
