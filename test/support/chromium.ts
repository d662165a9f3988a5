/** A real Chromium without a window, which runs a page of a test; the page tells the test what it sees. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { json } from 'node:stream/consumers';
import { within } from './until.js';

export interface Page {
  /** The page's own origin. */
  readonly origin: string;
  close(): Promise<void>;
}

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking',
  '--disable-background-timer-throttling', '--disable-component-update', '--remote-debugging-port=0',
];

/** Runs the script in a page of an origin of its own. Its function `tell(what)` hands JSON values to `told`, in their order. */
export async function openPage(script: string, told: (what: unknown) => void): Promise<Page> {
  const program = chromiumProgram();
  const server = createServer((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(pageOf(script));
      return;
    }
    void json(request).then((what) => {
      told(what);
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await within('the page\'s server listens', once(server, 'listening'));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const profile = await mkdtemp(join(tmpdir(), 'prediction-exchange-chromium-'));
  // A process group of its own: Chromium has many processes, and Debian starts it by a shell.
  const browser = spawn(program, [...FLAGS, `--user-data-dir=${profile}`, `${origin}/`], { detached: true, stdio: 'ignore' });
  const ended = once(browser, 'exit');
  await within('Chromium starts', once(browser, 'spawn'));
  const kill = (): void => {
    try {
      process.kill(-browser.pid!, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  };
  // When mocha ends before the page is closed.
  process.once('exit', kill);
  return {
    origin,
    async close() {
      process.off('exit', kill);
      kill();
      await within('Chromium has ended', ended);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
}

/** The program that CHROMIUM names, or one of the usual names in PATH. Throws Error when there is none: no test is left out for that. */
export function chromiumProgram(): string {
  const { CHROMIUM: named = '', PATH: path = '' } = process.env;
  const found = named === '' ? path.split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name))).find(canRun) : named;
  if (found === undefined || !canRun(found)) {
    throw new Error(`${named === '' ? 'there is no Chromium' : `CHROMIUM=${named} cannot be run`}: .ci/chromium installs it on Debian; elsewhere CHROMIUM names its program`);
  }
  return found;
}

function canRun(program: string): boolean {
  try {
    accessSync(program, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function pageOf(script: string): string {
  return `<!doctype html><meta charset="utf-8"><title>test</title><script type="module">
    let before = Promise.resolve();
    const tell = (what) => { before = before.then(() => fetch('/', { method: 'POST', body: JSON.stringify(what) })); };
    addEventListener('error', ({ message }) => tell({ failed: message }));
    addEventListener('unhandledrejection', ({ reason }) => tell({ failed: String(reason) }));
    ${script}
  </script>`;
}
