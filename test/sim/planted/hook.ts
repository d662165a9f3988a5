/** A hook of Node's module loader that changes one file's text on its way into the program: nothing on the disk is touched. */
import { MUTATIONS } from './mutations.js';

interface Loaded { readonly format: string; readonly source?: string | Uint8Array; readonly shortCircuit?: boolean }

let planted: (typeof MUTATIONS)[number] | undefined;

export function initialize({ number }: { number: number }): void {
  planted = MUTATIONS[number];
}

export async function load(url: string, context: unknown, next: (url: string, context: unknown) => Promise<Loaded>): Promise<Loaded> {
  const loaded = await next(url, context);
  if (planted === undefined || !url.endsWith(`/dist/${planted.file}`)) return loaded;
  const text = Buffer.from(loaded.source ?? '').toString();
  if (text.split(planted.from).length !== 2) throw new Error(`${planted.name}: the text is not there once in ${planted.file}: ${planted.from}`);
  return { ...loaded, source: text.replace(planted.from, () => planted?.to ?? '') };
}
