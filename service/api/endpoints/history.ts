/** The endpoint of the recorded history. */
import Type from 'typebox';
import { EVENTS_LIMIT } from '../../../query/events.js';
import * as kind from '../../../query/parameters.js';
import { problems } from '../../http/problems.js';
import * as field from '../answer-fields.js';
import { anybody } from '../authority.js';
import { defineEndpoint } from '../endpoint.js';
import * as example from '../examples.js';
import { inQuery } from '../parameter.js';
import * as parameter from '../parameters.js';

/** One entry per line. */
export const NDJSON = 'application/x-ndjson';

const entry = {
  position: 4_217, id: '1b671a64-40d5-591e-99b0-da01ff1f3341',
  command: { kind: 'CancelOrder', v: 1, at: example.placedAt * 1_000, orderHash: example.orderHash, marketId: example.marketId },
  outcome: {
    at: example.placedAt * 1_000, events: [{ type: 'CommandRejected', v: 1, code: 'unknown_order', subject: example.orderHash }],
  },
  digest: example.digest,
};

export const listEvents = defineEndpoint({
  id: 'listEvents', role: 'query', method: 'GET', path: '/api/v1/events', tag: 'History',
  summary: 'The recorded history: every command with its outcome',
  description: 'Consecutive log positions, starting at `from`. Each digest is SHA-256(previous digest | byte length of the command as uint32 '
    + 'big-endian | command | outcome), over the exact bytes shown; the digest before the first entry is 32 zero bytes. A page may have fewer than '
    + `\`limit\` entries: only an empty page means the end. Send \`Accept: ${NDJSON}\` for one entry per line.`,
  parameters: {
    from: inQuery('from', kind.withDefault(kind.position, 0), { description: 'First log position of the page.', example: 0 }),
    limit: parameter.limit(EVENTS_LIMIT),
  },
  authority: anybody, errorShape: problems,
  answer: {
    description: 'A page of the history.',
    schema: field.answer('HistoryPage', {
      events: Type.Array(field.answer('HistoryEntry', {
        position: field.LogPosition,
        id: Type.String({ description: 'The UUID of the command.' }),
        command: Type.Object({}, { additionalProperties: true, description: 'The command as recorded.' }),
        outcome: field.answer('RecordedOutcome', {
          at: field.integer('Engine time in milliseconds.'), events: Type.Array(Type.Object({}, { additionalProperties: true }), { description: 'All events that the command caused, in order.' }),
        }, { description: 'The outcome as recorded.' }),
        digest: { ...field.Bytes32, description: 'SHA-256 hash chain over the whole history up to and including this entry.' },
      })),
      count: field.Count,
      next: field.integer('For the next page, send this value as `from`.'),
    }),
    examples: { 'one entry': { events: [entry], count: 1, next: 4_218 }, 'the end': { events: [], count: 0, next: 4_218 } },
    alternatives: { [NDJSON]: 'The entries of `events`, one per line.' },
  },
  errors: ['unavailable'],
  limit: 'reads', consistent: true,
});
