/** What the endpoints have in common by which a process tells of itself. */
import { anybody } from './authority.js';
import { problems } from './problems.js';

export const ofEveryProcess = {
  role: 'every', method: 'GET', tag: 'Service', parameters: {}, authority: anybody, errorShape: problems, errors: [], consistent: false,
} as const;
