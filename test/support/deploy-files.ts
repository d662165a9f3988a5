/** Reads what deploy/ has, for the tests that hold it against the program. The only file that knows YAML. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { settingsHelp } from '../../service/config.js';
import { ROLE_NAMES } from '../../service/process/roles.js';

/** The names of all settings. */
export const SETTING_NAMES: readonly string[] = settingsHelp().split('\n').map((line) => line.split(' ')[0] ?? '');

/** The roles that must have a process, in alphabetical order. */
export const DEPLOYED_ROLES: readonly string[] = [...ROLE_NAMES].sort();

export function isProgramRole(name: string): boolean {
  return (ROLE_NAMES as readonly string[]).includes(name);
}

export function textOf(path: string): string {
  return readFileSync(path, 'utf8');
}

/** A YAML file as data, with its `<<` merged. */
export function yamlOf<T>(path: string): T {
  return parse(textOf(path), { merge: true }) as T;
}

/** The `NAME=value` lines of a file or of a text. */
export function environmentOf(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/^([A-Z][A-Z\d_]*)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]));
}

/** The values of the instructions of a kind in the Dockerfile's last stage, with continued lines joined. */
export function instructions(kind: string): readonly string[] {
  const lines = textOf('deploy/Dockerfile').replaceAll(/\\\n\s*/g, '').split('\n');
  const last = lines.findLastIndex((line) => line.startsWith('FROM '));
  return lines.slice(last).filter((line) => line.startsWith(`${kind} `)).map((line) => line.slice(kind.length + 1));
}

/** What the image sets. */
export function imageEnvironment(): Record<string, string> {
  return environmentOf(instructions('ENV').join(' ').split(' ').join('\n'));
}
