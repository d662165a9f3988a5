/** Which transactions the history learns of before they are broadcast, so that it expects their results: by purpose. */
import type { LanePorts } from './lane/role.js';
import { relaySubmissionOf } from './relayer/note.js';
import { submissionOf } from './settlement/submission.js';

export const SUBMISSIONS: LanePorts['submissions'] = { settlement: submissionOf, relay: relaySubmissionOf };
