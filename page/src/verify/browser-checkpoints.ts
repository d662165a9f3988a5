/** Keeps the newest checkpoint in this browser's storage, which is the exchange's own. */
import type { VerifierCheckpoint } from './checkpoint.js';

/** A browser that keeps nothing has none. */
export interface Checkpoints {
  read(): Promise<VerifierCheckpoint | undefined>;
  /** Copies the checkpoint at once: its parts are the engine's own. */
  keep(checkpoint: VerifierCheckpoint): Promise<void>;
}

const [DATABASE, STORE, KEY] = ['verification', 'checkpoints', 'newest'];

export function browserCheckpoints(): Checkpoints {
  const opened = new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => { request.result.createObjectStore(STORE); };
    request.onsuccess = () => { resolve(request.result); };
    request.onerror = () => { reject(request.error ?? new Error('the storage cannot be opened')); };
  });
  opened.catch(() => undefined);
  return {
    async read() {
      try {
        const store = (await opened).transaction(STORE).objectStore(STORE);
        return await answered(store.get(KEY) as IDBRequest<VerifierCheckpoint | undefined>);
      } catch {
        return undefined;
      }
    },
    async keep(checkpoint) {
      try {
        await answered((await opened).transaction(STORE, 'readwrite').objectStore(STORE).put(checkpoint, KEY));
      } catch {
        // The next run begins at an older place.
      }
    },
  };
}

function answered<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => { resolve(request.result); };
    request.onerror = () => { reject(request.error ?? new Error('the storage has failed')); };
  });
}
