/** The auditor of docs/auditing, as its reader runs it: a Python process, and a front of the API that shows a history which was tampered with. */
import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHash } from 'node:crypto';

const AUDITOR = 'docs/auditing/audit.py';

export interface Audited {
  readonly code: number;
  readonly output: string;
}

/** Runs the auditor. `PYTHON` names a Python with the packages of docs/auditing/requirements.txt; absent: python3. Throws when there is none. */
export async function audit(...given: readonly string[]): Promise<Audited> {
  const program = process.env['PYTHON'] ?? 'python3';
  return await new Promise((resolve, reject) => {
    execFile(program, ['-B', AUDITOR, ...given], { timeout: 120_000 }, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`;
      if (error !== null && (typeof error.code !== 'number' || /ModuleNotFoundError/.test(stderr))) {
        reject(new Error(`${program} cannot run ${AUDITOR}: PYTHON=$(.ci/python) names a Python that can: ${error.message}`));
      } else resolve({ code: error === null ? 0 : Number(error.code), output });
    });
  });
}

/** One line of the history, without its end. */
export interface Line {
  readonly position: number;
  readonly command: string;
  readonly outcome: string;
  /** 64 hex digits. */
  readonly digest: string;
}

const PARTS = /^(\{"position":)\d+(,"id":"[^"]*","command":)(.*)(,"outcome":)(\{"at":.*\})(,"digest":"0x)([0-9a-f]{64})"\}$/;

export interface TamperedApi {
  readonly url: string;
  /** What to show instead of the lines from now on. */
  show(tampered: (lines: readonly string[]) => readonly string[], breaksOff?: boolean): void;
  /** Whether the history is refused from now on, as by a limit on requests. */
  refuse(refuses: boolean): void;
  close(): Promise<void>;
}

/** Passes requests on, but for those for the history. */
export async function tamperedApi(api: string): Promise<TamperedApi> {
  let change: (lines: readonly string[]) => readonly string[] = (lines) => lines;
  let isBroken = false;
  let isRefused = false;
  const server: Server = createServer((request, response) => {
    void (async () => {
      const asksForEvents = request.url?.startsWith('/api/v1/events') === true;
      if (asksForEvents && isRefused) return response.writeHead(429).end('{"code":"rate_limited"}');
      const answer = await fetch(`${api}${request.url}`, { headers: { Accept: request.headers.accept ?? '*/*' } });
      const text = await answer.text();
      const position = answer.headers.get('X-Log-Position');
      response.writeHead(answer.status, { ...position !== null && { 'X-Log-Position': position } });
      if (!asksForEvents) return response.end(text);
      const shown = change(text.split('\n').slice(0, -1)).map((line) => `${line}\n`).join('');
      if (isBroken) response.write(shown, () => { response.destroy(); }); else response.end(shown);
    })();
  });
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    show: (tampered, breaksOff = false) => {
      change = tampered;
      isBroken = breaksOff;
    },
    refuse: (refuses) => { isRefused = refuses; },
    close: () => new Promise((resolve) => {
      server.close(() => { resolve(); });
      server.closeAllConnections();
    }),
  };
}

/** The line with other contents. */
export function rewritten(line: string, change: (line: Line) => Partial<Line>): string {
  const [, head, id, command = '', middle, outcome = '', tail, digest = ''] = PARTS.exec(line) ?? [];
  const now = { position: (JSON.parse(line) as Line).position, command, outcome, digest };
  const next = { ...now, ...change(now) };
  return `${head}${next.position}${id}${next.command}${middle}${next.outcome}${tail}${next.digest}"}`;
}

/** The lines with the positions and digests of an honest history of these commands and outcomes: what a forger who can compute would show. */
export function forged(lines: readonly string[]): string[] {
  let digest = Buffer.alloc(32);
  return lines.map((line, position) => rewritten(line, ({ command, outcome }) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(command));
    digest = createHash('sha256').update(digest).update(length).update(command).update(outcome).digest();
    return { position, digest: digest.toString('hex') };
  }));
}
