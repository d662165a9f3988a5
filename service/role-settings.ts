/** Parsers of the settings that name roles. */
import { SettingError } from './settings.js';
import { ROLE_NAMES, type RoleName } from './process/roles.js';

/** The roles of one process. `all` means every role. */
export function rolesOf(text: string): readonly RoleName[] {
  if (text.trim() === 'all') return ROLE_NAMES;
  return namesOf(text.split(/[\s,]+/));
}

/** The roles of each process: `api query engine engine settlement+lane`. */
export function processesOf(text: string): readonly (readonly RoleName[])[] {
  return text.trim().split(/[\s,]+/).map((group) => namesOf(group.split('+')));
}

function namesOf(given: readonly string[]): readonly RoleName[] {
  const names = given.filter((each) => each !== '');
  const unknown = names.find((name) => !isRole(name));
  if (unknown !== undefined) throw new SettingError(`there is no role ${JSON.stringify(unknown)}; the roles are ${ROLE_NAMES.join(', ')}`);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new SettingError(`a process cannot have the role ${twice} twice`);
  if (names.length === 0) throw new SettingError(`expected one or more of the roles ${ROLE_NAMES.join(', ')}`);
  return ROLE_NAMES.filter((name) => names.includes(name));
}

function isRole(name: string): name is RoleName {
  return (ROLE_NAMES as readonly string[]).includes(name);
}
