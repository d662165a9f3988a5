/** The faulty link of a log in Postgres: a TCP proxy that knows an append by the name of its statement. */
import type { FaultyLink } from './faulty-link.js';
import { startTcpProxy, type Fate } from './tcp-proxy.js';

/** `url` is the database's own; the log is to be opened with the returned one. */
export async function startPostgresLink(url: string): Promise<FaultyLink & { readonly url: string }> {
  const through = new URL(url);
  const proxy = await startTcpProxy({ host: through.hostname, port: Number(through.port) });
  through.port = String(proxy.port);
  let fates: Fate[] = [];
  const link: FaultyLink & { readonly url: string } = {
    url: through.href,
    next(...next) { fates = next; },
    get replied() { return proxy.replied; },
    set replied(replied) { proxy.replied = replied; },
    met: () => undefined,
    refuse: () => { proxy.refuse(); },
    accept: () => { proxy.accept(); },
    release: () => proxy.release(),
    close: () => proxy.close(),
  };
  proxy.fate = (request) => {
    const fate = request.includes('log_append') ? fates.shift() ?? 'pass' : 'pass';
    if (fate !== 'pass') link.met();
    return fate;
  };
  return link;
}
