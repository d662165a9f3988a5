/** The supervisor over real processes: starts again what ends, gives up what cannot run, stops in order, and lists what lives. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processesOf, rolesOf } from '../../service/role-settings.js';
import { rolesFile } from '../../stack/supervision/roles-file.js';
import { supervise, type LiveProcess, type Managed, type Supervisor } from '../../stack/supervision/supervisor.js';

const FOREVER = 'setInterval(() => undefined, 1_000); process.stdout.write("up");';
/** A process that tells what it serves, and waits to be forgotten before it ends. */
const SERVING = `const tell = (told) => process.send({ serves: [], standsBy: [], leaves: false, ...told });
  process.on("SIGTERM", () => { tell({ leaves: true });
    process.on("message", (said) => { if (said === "forgotten") process.exit(0); }); }); tell({ serves: ["engine"] }); ${FOREVER}`;
const STUBBORN = `process.on("SIGTERM", () => undefined); ${FOREVER}`;

describe('service: the supervisor', () => {
  let running: Supervisor | undefined;
  let lists: (readonly LiveProcess[])[];
  let said: string[];
  /** The processes that have said that they are up, by their numbers. */
  let up: Set<number>;
  afterEach(() => running?.stop());

  interface Options { readonly stopTimeoutMs?: number; readonly forget?: (process: Managed) => Promise<void> }

  function start(managed: readonly Managed[], scripts: (role: string) => string, options: Options = {}): Supervisor {
    const { stopTimeoutMs = 5_000, forget = async () => undefined } = options;
    [lists, said, up] = [[], [], new Set()];
    return running = supervise({
      managed, stopTimeoutMs, forget, hopeless: 78, now: () => performance.now(),
      changed: (live) => { lists.push(live); },
      report: (level, { role, what }) => { said.push(`${level} ${role}: ${what}`); },
      spawn({ role }) {
        const child = spawn(process.execPath, ['-e', scripts(role)], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
        child.stdout!.once('data', () => { up.add(child.pid!); });
        return child;
      },
    });
  }

  async function until<T>(what: string, find: () => T | undefined | false): Promise<T> {
    for (let tries = 0; tries < 4_000; tries++) {
      const found = find();
      if (found !== undefined && found !== false) return found;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`never came: ${what}\n${said.join('\n')}`);
  }

  const engines: Managed[] = [{ role: 'engine', port: 1 }, { role: 'engine', port: 2 }];

  it('starts again what was killed, under another process number and at the same port', async () => {
    const supervisor = start(engines, () => FOREVER);
    await until('both are up', () => up.size === 2);
    const [first, second] = supervisor.live() as [LiveProcess, LiveProcess];
    process.kill(first.pid, 'SIGKILL');
    const reborn = await until('it lives again', () => supervisor.live().find(({ port, pid }) => port === 1 && pid !== first.pid));
    assert.deepEqual(supervisor.live(), [{ role: 'engine', port: 1, pid: reborn.pid, serves: [], standsBy: [] }, second]);
    assert.ok(lists.some((live) => live.length === 1 && live[0]!.pid === second.pid), 'the list told of its death');
    assert.ok(said.includes('warn engine: ended by itself (SIGKILL); restarting'));
  });

  const serving = (supervisor: Supervisor): LiveProcess[] => supervisor.live().filter(({ serves }) => serves.includes('engine'));

  it('knows for which roles each process takes requests, and forgets it when the process ends', async () => {
    const supervisor = start(engines, () => SERVING);
    await until('both serve', () => serving(supervisor).length === 2);
    const [first] = supervisor.live() as [LiveProcess, LiveProcess];
    process.kill(first.pid, 'SIGKILL');
    const reborn = await until('it lives again', () => supervisor.live().find(({ port, pid }) => port === 1 && pid !== first.pid));
    assert.deepEqual(reborn.serves, []);
    await until('it serves again', () => serving(supervisor).length === 2);
  });

  it('lets a process that leaves end only when nothing that was sent to it is unanswered', async () => {
    const leaving: number[] = [];
    let answered: () => void = () => undefined;
    const supervisor = start(engines, () => SERVING, { forget: ({ port }) => new Promise((resolve) => {
      leaving.push(port);
      answered = resolve;
    }) });
    await until('both serve', () => serving(supervisor).length === 2);
    const [first] = supervisor.live() as [LiveProcess, LiveProcess];
    process.kill(first.pid, 'SIGTERM');
    await until('it leaves', () => leaving.length === 1);
    assert.deepEqual([leaving, serving(supervisor).map(({ port }) => port), supervisor.live().length], [[1], [2], 2]);
    answered();
    await until('it is started again', () => supervisor.live().some(({ port, pid }) => port === 1 && pid !== first.pid));
    assert.ok(said.includes('warn engine: ended by itself (0); restarting'));
  });

  it('restarts one process after the other, each when the one before serves again', async () => {
    let most = 0;
    const supervisor = start(engines, () => SERVING, { forget: async () => { most = Math.max(most, 2 - serving(supervisor).length); } });
    await until('both serve', () => serving(supervisor).length === 2);
    const before = supervisor.live().map(({ pid }) => pid);
    lists = [];
    await supervisor.restart();
    assert.deepEqual(lists.map((live) => live.map(({ port }) => port)), [[2], [1, 2], [1], [1, 2]]);
    assert.deepEqual([most, serving(supervisor).length, supervisor.live().filter(({ pid }) => before.includes(pid))], [1, 2, []]);
    assert.equal(said.some((line) => line.startsWith('warn')), false, 'none ended by itself');
  });

  it('gives up a restart when it is stopped', async () => {
    const supervisor = start(engines, (role) => `${SERVING.replace('tell({ serves', 'if (process.env.NONE) tell({ serves')} // ${role}`);
    await until('both live', () => up.size === 2);
    const restarted = supervisor.restart();
    await until('one has been restarted', () => said.filter((line) => line === 'info engine: started').length === 3);
    await supervisor.stop();
    await restarted;
    assert.deepEqual(supervisor.live(), []);
  });

  it('waits ever longer before it starts again what ends at once', async () => {
    start([{ role: 'api', port: 1 }], () => 'process.exit(3)');
    await until('four deaths', () => said.filter((line) => line.includes('ended by itself (3)')).length >= 4);
    const waits = said.flatMap((line) => /in (\d+) ms/.exec(line)?.[1] ?? []).map(Number);
    assert.deepEqual(waits.slice(0, 3), [100, 200, 400]);
  });

  it('gives up when a process says that starting it again cannot help', async () => {
    const supervisor = start([{ role: 'api', port: 1 }], () => 'process.exit(78)');
    await assert.rejects(supervisor.failed, /^HopelessProcess: the api process ended with code 78/);
    assert.deepEqual(supervisor.live(), []);
  });

  it('stops the last one first, waits for each, and kills what does not end', async () => {
    const managed = ['engine', 'query', 'api'].map((role, i) => ({ role, port: i }));
    const supervisor = start(managed, (role) => role === 'query' ? STUBBORN : FOREVER, { stopTimeoutMs: 300 });
    await until('all are up', () => up.size === 3);
    await supervisor.stop();
    assert.deepEqual(lists.slice(-3).map((live) => live.map(({ role }) => role)), [['engine', 'query'], ['engine'], []]);
    assert.ok(said.includes('error query: did not end within 300 ms: killing it'));
    assert.equal(said.some((line) => line.startsWith('warn')), false, 'nothing was started again');
  });

  it('stops while it waits to start something again', async () => {
    const supervisor = start([{ role: 'api', port: 1 }], () => 'process.exit(3)');
    await until('it waits', () => said.some((line) => line.includes('in 400 ms')));
    await supervisor.stop();
    const starts = said.filter((line) => line.includes('started')).length;
    assert.equal(said.filter((line) => line.includes('started')).length, starts);
  });
});

describe('service: roles.json', () => {
  let directory: string;
  before(async () => { directory = await mkdtemp(join(tmpdir(), 'roles-')); });
  after(() => rm(directory, { recursive: true }));

  it('is a list of role, pid and port, always whole, and goes with the stack', async () => {
    const file = rolesFile(directory);
    file.write([{ role: 'engine', pid: 7, port: 8 }]);
    file.write([{ role: 'settlement+lane', pid: 9, port: 10 }, { role: 'api', pid: 11, port: 12 }]);
    assert.deepEqual(await readdir(directory), ['roles.json'], 'nothing half-written is left');
    assert.deepEqual(JSON.parse(await readFile(join(directory, 'roles.json'), 'utf8')), [
      { role: 'settlement+lane', pid: 9, port: 10 }, { role: 'api', pid: 11, port: 12 },
    ]);
    file.remove();
    assert.deepEqual(await readdir(directory), []);
  });
});

describe('service: settings that name roles', () => {
  const all = ['projections', 'engine', 'indexer', 'lane', 'feed', 'settlement', 'relayer', 'prices', 'query', 'api'];

  it('are lists in any order, with commas or spaces', () => {
    assert.deepEqual(rolesOf('api query'), ['query', 'api']);
    assert.deepEqual(rolesOf('engine,api'), ['engine', 'api']);
    assert.deepEqual(rolesOf(all.toReversed().join(', ')), all);
    assert.deepEqual(rolesOf('all'), all);
    assert.deepEqual(processesOf('api engine engine lane+settlement'), [['api'], ['engine'], ['engine'], ['lane', 'settlement']]);
  });

  it('are refused with what would be right', () => {
    assert.throws(() => rolesOf('api,baker'), /there is no role "baker"; the roles are projections, engine, indexer, lane, feed, settlement, relayer, prices, query, api/);
    assert.throws(() => rolesOf('api api'), /a process cannot have the role api twice/);
    assert.throws(() => rolesOf(','), /expected one or more of the roles/);
    assert.throws(() => processesOf('api engine+engine'), /a process cannot have the role engine twice/);
    assert.throws(() => processesOf('api ++'), /expected one or more of the roles/);
  });
});
