/**
 * Failures name the lines of the sources. Node's `--enable-source-maps` reads a map for each file that it loads, and looks into them for each
 * error that is made; here only what is shown is looked up.
 */
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sourceMaps } from '../../tools/bundle/traces.js';

const mapOf = sourceMaps();

/** A text with places in compiled files, as errors' traces have them, and with the places in the sources instead. */
export function withSources(text: string): string {
  return text.replaceAll(/(file:\/\/\S+?\.js):(\d+):(\d+)/g, (place, url: string, line: string, column: string) => {
    const file = fileURLToPath(url);
    const found = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (found === undefined || !('originalSource' in found)) return place;
    return `${resolve(dirname(file), found.originalSource)}:${found.originalLine + 1}:${found.originalColumn + 1}`;
  });
}
