/** What every adapter of the log must do, in one suite: all that the port promises, and nothing besides. */
import type { Log } from '../../engine/log/log.js';
import type { FaultyLink } from '../support/proxies.js';
import { appendContract } from './append-contract.js';
import { followContract } from './follow-contract.js';
import { lostRecordsContract, type Forget } from './lost-records-contract.js';
import { readContract } from './read-contract.js';
import type { HandleOptions, Scene } from './scene.js';
import { unknownOutcomeContract } from './unknown-outcome-contract.js';

/** An adapter's store, empty when it is made. */
export interface ContractStore {
  /** A further handle over the same store, as another process would have. */
  open(): Promise<Log>;
  /** A handle over the same store by a link that can fail. */
  openFaulty(options: HandleOptions): Promise<{ readonly log: Log; readonly link: FaultyLink }>;
  remove(): Promise<void>;
  /** For stores that can be made to lose records as a failover or a restore does. */
  readonly forget?: Forget;
}

export interface ContractOptions {
  /** Whether the stores can be made to lose records. */
  readonly forgets?: boolean;
}

/** Declares the suite for an adapter; `createStore` is called before each test. */
export function logContract(name: string, createStore: () => Promise<ContractStore>, { forgets = false }: ContractOptions = {}): void {
  describe(`log: ${name}`, () => {
    let store: ContractStore;
    let log: Log;
    let closing: (() => Promise<void>)[];

    beforeEach(async () => {
      closing = [];
      store = await createStore();
      log = await scene.open();
    });

    afterEach(async () => {
      await Promise.all(closing.map((close) => close()));
      await store.remove();
    });

    const scene: Scene = {
      get log() { return log; },
      async open() {
        const handle = await store.open();
        closing.push(() => handle.close());
        return handle;
      },
      async openFaulty(options = {}) {
        const faulty = await store.openFaulty(options);
        closing.push(async () => {
          faulty.link.accept();
          await faulty.log.close();
          await faulty.link.close();
        });
        return faulty;
      },
    };

    appendContract(scene);
    readContract(scene);
    followContract(scene);
    unknownOutcomeContract(scene);
    if (forgets) lostRecordsContract(scene, async (...lost) => { await store.forget?.(...lost); });
  });
}
