/** What the browser keeps for the page. A browser may keep nothing, be full, or hold what somebody else has put there. */

/** Why the last write was lost, or undefined. A caller that needs it kept says so to its user. */
export type Kept = { readonly isKept: true } | { readonly isKept: false; readonly why: string };

export function readKept(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

export function keep(name: string, value: string): Kept {
  try {
    localStorage.setItem(name, value);
    return { isKept: true };
  } catch (error) {
    return { isKept: false, why: error instanceof Error ? error.message : String(error) };
  }
}

export function forget(name: string): void {
  try {
    localStorage.removeItem(name);
  } catch {
    // What cannot be reached cannot be removed; it was not read from there either.
  }
}

/** JSON of an expected form; undefined where nothing, or something else, is kept. */
export function readKeptJson<T>(name: string, isRight: (value: unknown) => value is T): T | undefined {
  try {
    const value: unknown = JSON.parse(readKept(name) ?? 'null');
    return isRight(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Calls when another tab has changed what is kept under the name. Returns what ends that. */
export function onKeptElsewhere(name: string, changed: () => void): () => void {
  const hear = ({ key }: StorageEvent): void => { if (key === name || key === null) changed(); };
  addEventListener('storage', hear);
  return () => { removeEventListener('storage', hear); };
}
