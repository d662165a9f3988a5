/** A port of this machine that nobody listens on, for a service that keeps its address through restarts. */
import { createServer } from 'node:net';

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const { port } = server.address() as { readonly port: number };
  await new Promise((resolve) => { server.close(resolve); });
  return port;
}
