/** The rules about imports can fail: arrows, circles, the engine's state. */
import { arrows } from './arrows.js';
import { circles } from './circles.js';
import { engineState } from './engine-state.js';
import { accepts, finds } from './verdicts.js';

const importing = (target: string) => `import { x } from '${target}.js';`;

describe('architecture: arrows can fail', () => {
  it('between the folders of the top level', () => {
    finds(arrows, { 'engine/rules/decide.ts': importing('../../command/y') }, /^engine\/rules\/decide\.ts:1 imports command\/y: engine\/rules may import engine\/rules\/\*, /);
    finds(arrows, { 'projections/a.ts': '\nexport { x } from "../query/y.js";' }, /^projections\/a\.ts:2 .* because read models are folded/);
    finds(arrows, { 'command/a.ts': 'const x = await import("../service/config.js");' }, /command may import command\/\*, contracts-abi\/\*,/);
    finds(arrows, { 'service/a.ts': 'import type { X } from "../test/x.js";' }, /service may import/);
    finds(arrows, { 'service/a.ts': 'type X = import("../test/x.js").X;' }, /service may import/);
    finds(arrows, { 'contracts-abi/a.ts': importing('../engine/records/hex') }, /contracts-abi may import contracts-abi\/\* because/);
    finds(arrows, { 'engine/log/a.ts': 'import x from "../../package.json";' }, /in no folder of the project/);
    finds(arrows, { 'deploy/a.ts': importing('../engine/waiting') }, /its folder has no row in ARROWS/);
    accepts(arrows, { 'service/http/a.ts': importing('../../command/a') });
    accepts(arrows, { 'test/a.ts': importing('../tools/a') });
    accepts(arrows, { 'query/a.ts': `${importing('../engine/records/fields')} import y from "pg";` });
  });

  it('for what others may take from the engine', () => {
    for (const from of ['command/orders/a.ts', 'service/process/a.ts']) {
      for (const inside of ['rules/decide', 'book/book']) finds(arrows, { [from]: importing(`../../engine/${inside}`) }, /may import .*engine\/run\/\*/);
      for (const open of ['records/fields', 'log/log', 'run/view', 'waiting', 'rules/limits']) accepts(arrows, { [from]: importing(`../../engine/${open}`) });
    }
    for (const from of ['query/a.ts', 'projections/a.ts']) {
      for (const hidden of ['rules/limits', 'run/view', 'log/tail', 'book/book']) finds(arrows, { [from]: importing(`../engine/${hidden}`) }, /may import .*engine\/log\/log,/);
      for (const open of ['records/fields', 'log/log', 'waiting']) accepts(arrows, { [from]: importing(`../engine/${open}`) });
    }
  });

  it('within the engine', () => {
    const forbidden = [
      ['records', 'rules/limits'], ['records', 'log/log'], ['records', 'book/book'], ['log', 'records/fields'], ['book', 'rules/state'],
      ['rules', 'log/log'], ['rules', 'run/engine'], ['rules', 'waiting'],
    ] as const;
    for (const [from, to] of forbidden) finds(arrows, { [`engine/${from}/a.ts`]: importing(`../${to}`) }, new RegExp(`engine/${from} may import `));
    finds(arrows, { 'engine/waiting.ts': importing('./log/log') }, /engine may import engine\/waiting, engine\/reactor, .* because/);
    for (const [from, to] of [['log', 'waiting'], ['rules', 'book/book'], ['run', 'rules/state'], ['run', 'waiting']] as const) {
      accepts(arrows, { [`engine/${from}/a.ts`]: importing(`../${to}`) });
    }
  });

  it('within command: the lane is above its users, and signing serves all', () => {
    for (const user of ['settlement', 'relayer', 'prices', 'quick']) {
      finds(arrows, { 'command/lane/a.ts': importing(`../${user}/b`) }, /the lane is above its users/);
      accepts(arrows, { [`command/${user}/a.ts`]: importing('../lane/b') });
    }
    finds(arrows, { 'command/relayer/a.ts': importing('../settlement/b') }, /do not know each other/);
    finds(arrows, { 'command/indexer/a.ts': importing('../lane/b') }, /sends nothing/);
    for (const other of ['orders', 'chain', 'lane']) finds(arrows, { 'command/signing/a.ts': importing(`../${other}/b`) }, /command\/signing may import/);
    accepts(arrows, { 'command/orders/a.ts': importing('../signing/b') });
  });

  it('for the roles: each knows its context, and nothing of the process that starts it', () => {
    for (const role of ['engine/role.ts', 'projections/role.ts', 'query/role.ts']) {
      finds(arrows, { [role]: importing('../service/process/b') }, / may import /);
      finds(arrows, { [role]: importing('../command/chain/b') }, / may import /);
    }
    for (const room of ['feed', 'indexer', 'lane', 'settlement']) {
      finds(arrows, { [`command/${room}/role.ts`]: importing('../../service/api/b') }, / may import /);
    }
    for (const room of ['orders', 'relayer', 'prices']) {
      finds(arrows, { [`command/${room}/role.ts`]: importing('../../service/status/b') }, / may import /);
      finds(arrows, { [`command/${room}/role.ts`]: importing('../../query/b') }, / may import /);
    }
    accepts(arrows, { 'engine/role.ts': importing('./run/b'), 'query/role.ts': importing('../service/api/b') });
    for (const [role, other] of [['relayer', 'keeper'], ['prices', 'quick']] as const) {
      accepts(arrows, { [`command/${role}/role.ts`]: importing(`../${other}/b`) });
      finds(arrows, { [`command/${role}/a.ts`]: importing(`../${other}/b`) }, /do not know each other/);
    }
  });

  it('around service: it imports neither the tools nor the stack, and those two know little of each other', () => {
    for (const other of ['tools', 'stack']) finds(arrows, { 'service/process/a.ts': importing(`../../${other}/b`) }, /knows neither the programs beside it/);
    finds(arrows, { 'tools/a.ts': importing('../stack/chain/anvil') }, /not how they are started/);
    finds(arrows, { 'stack/a.ts': importing('../tools/audit/audit') }, /do not know each other/);
    accepts(arrows, { 'tools/demo.ts': importing('./demo/b'), 'stack/main.ts': importing('../service/run') });
    accepts(arrows, { 'service/process/a.ts': importing('../http/b') });
  });
});

describe('architecture: circles can be found', () => {
  it('of two files, of three with one import for types only, and of one that imports itself', () => {
    finds(circles, { 'query/a.ts': importing('./b'), 'query/b.ts': importing('./a') }, /^query\/a\.ts -> query\/b\.ts -> query\/a\.ts is a circle of imports: move/);
    finds(circles, {
      'query/a.ts': 'import type { X } from "./b.js";', 'query/b.ts': 'type C = import("./c.js").C;', 'query/c.ts': 'export { x } from "./a.js";',
    }, /^query\/a\.ts -> query\/b\.ts -> query\/c\.ts -> query\/a\.ts /);
    finds(circles, { 'query/a.ts': importing('./a') }, /^query\/a\.ts -> query\/a\.ts /);
  });

  it('across folders, once for a knot, with its shortest way and all its files', () => {
    const knot = { 'query/a.ts': importing('./b'), 'query/b.ts': importing('../service/c'), 'service/c.ts': `${importing('../query/a')}${importing('../query/b')}` };
    finds(circles, { ...knot, 'query/d.ts': importing('./a') }, /^query\/b\.ts -> service\/c\.ts -> query\/b\.ts .*\(3 files are in circles with it: query\/a\.ts, query\/b\.ts, service\/c\.ts\)/);
  });

  it('and are not where two ways lead to the same file', () => {
    accepts(circles, { 'query/a.ts': `${importing('./b')}${importing('./c')}`, 'query/b.ts': importing('./d'), 'query/c.ts': importing('./d'), 'query/d.ts': '' });
  });
});

describe('architecture: reaching into the engine can be found', () => {
  const inService = (text: string) => ({ 'service/process/a.ts': text });

  it('by import, in tests too', () => {
    for (const path of ['service/process/a.ts', 'command/orders/a.ts', 'test/support/a.ts', 'test/lane/a.test.ts']) {
      for (const inside of ['rules/state', 'book/book']) finds(engineState, { [path]: importing(`../../engine/${inside}`) }, /imports engine\/.*: nobody outside engine\//);
      for (const open of ['rules/limits', 'run/view']) accepts(engineState, { [path]: importing(`../../engine/${open}`) });
    }
    for (const path of ['engine/run/a.ts', 'test/engine/a.test.ts', 'test/reference/a.ts', 'test/bench/a.ts']) accepts(engineState, { [path]: importing('../../engine/rules/state') });
  });

  it('by access, however it is written', () => {
    const accesses = [
      'f(run.engine.state);', 'f(engine["state"].position);', 'f(this.engine!.state);', 'const { state } = run.engine;', 'const { state: s } = createEngine();',
      'const f = ({ state }: Engine) => state;', 'type S = Engine["state"];', 'f(secondEngine.state);',
    ];
    for (const access of accesses) finds(engineState, inService(`\n${access}`), /^service\/process\/a\.ts:2 reads .*: nobody outside engine\//);
    for (const other of ['f(node.state);', 'const { state } = useState();', 'type S = Node["state"];', 'f(engine.view.position);']) accepts(engineState, inService(other));
  });

  it('by type', () => {
    finds(engineState, inService('import { type State as S } from "../../engine/run/engine.js";\nlet a: S;'), /^service\/process\/a\.ts:2 is typed with the engine's State/);
    accepts(engineState, inService('import type { State } from "../../command/lane/lane.js";\nlet a: State;'));
  });
});
