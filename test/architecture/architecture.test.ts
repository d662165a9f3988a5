/** The project keeps the rules of architecture and form. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { settingsMarkdown } from '../../service/config.js';
import { removedSettings } from '../../service/removed-settings.js';
import { arrows } from './arrows.js';
import { bannedCalls } from './bans.js';
import { circles } from './circles.js';
import { citations, references, sections, settingsAmong } from './documents.js';
import { engineState } from './engine-state.js';
import { form, topLevel, typeNames } from './form.js';
import { kinds } from './kinds.js';
import { OWNERS, installed, owners, ownersOf } from './packages.js';
import { readProject, type Rule } from './project.js';
import { runsAnywhere } from './runs-anywhere.js';
import { ASSERTIONS, assertionsWithin, sizes } from './sizes.js';

const settings = [...settingsMarkdown().matchAll(/^\| `(\w+)`/gm)].map(([, name = '']) => name);

const removed = removedSettings(() => true).map((each) => each.slice(0, each.indexOf(':')));

const RULES: Readonly<Record<string, Rule>> = {
  'imports point where the arrows do': arrows,
  'no imports go in a circle': circles,
  'what decides the history runs in a browser, too': runsAnywhere,
  'nobody outside the engine touches its state or books': engineState,
  'a package is imported by its owners only': owners,
  'every dependency has an owner that imports it': ownersOf(OWNERS),
  'what the system imports is installed with it': installed,
  'time, randomness and the environment are arguments': bannedCalls,
  'files and functions are short': sizes,
  'non-null assertions are few': assertionsWithin(ASSERTIONS),
  'files say what they are for': form,
  'a type has its name alone': typeNames,
  'the top level is fixed': topLevel,
  'a test\'s name says what it starts': kinds,
  'no document is cited that is not here': citations,
  'paths in documents and comments exist': references,
  'cited sections exist': sections,
  'settings in documents exist': settingsAmong(settings, removed),
};

describe('architecture', () => {
  const project = readProject(rootAbove(fileURLToPath(new URL('.', import.meta.url))));

  it('is looked at whole', () => {
    assert.ok(project.sources.length > 200, 'the sources were not found');
    assert.ok(settings.length > 20, 'the settings were not found');
  });

  for (const [name, rule] of Object.entries(RULES)) {
    it(name, () => {
      const findings = rule(project);
      assert.equal(findings.length, 0, `\n${findings.join('\n')}`);
    });
  }
});

/** The repository that the compiled test lies in, wherever it was compiled to. */
function rootAbove(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : rootAbove(join(folder, '..'));
}
