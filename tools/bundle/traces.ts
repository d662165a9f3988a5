/**
 * Errors of the bundle's files name the sources' lines. Node reads the map of each file when it loads it, which costs a start a tenth of a
 * second; here a map is read when the first error of its file is looked at.
 */
import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { resolve } from 'node:path';

/** `folder` ends in a slash. Files without a map stay as they are, as do those outside. */
export function nameSourcesInTraces(folder: string): void {
  const mapOf = sourceMaps();
  Error.prepareStackTrace = (error, calls) => [
    // As Node writes it: an error's own toString may throw.
    Error.prototype.toString.call(error),
    ...calls.map((call) => `    at ${sourceOf(call, folder, mapOf)}`),
  ].join('\n');
}

function sourceOf(call: NodeJS.CallSite, folder: string, mapOf: (file: string) => SourceMap | undefined): string {
  const text = String(call);
  const file = call.getFileName();
  const [line, column] = [call.getLineNumber(), call.getColumnNumber()];
  if (file == null || !file.startsWith(folder) || line === null || column === null) return text;
  const found = mapOf(file)?.findEntry(line - 1, column - 1);
  if (found === undefined || !('originalSource' in found)) return text;
  return text.replace(`${file}:${line}:${column}`, `${resolve(folder, found.originalSource)}:${found.originalLine + 1}:${found.originalColumn + 1}`);
}

/** The map of a file, which is read once, when it is first asked for; undefined where there is none. */
export function sourceMaps(): (file: string) => SourceMap | undefined {
  const maps = new Map<string, SourceMap | undefined>();
  return (file) => {
    if (!maps.has(file)) maps.set(file, readMap(file));
    return maps.get(file);
  };
}

function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')) as SourceMapPayload);
  } catch {
    return undefined;
  }
}
