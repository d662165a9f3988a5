/** The endpoint that says whether a process should be sent requests. */
import Type from 'typebox';
import { problems } from '../../http/problems.js';
import * as field from '../answer-fields.js';
import { anybody } from '../authority.js';
import { defineEndpoint } from '../endpoint.js';
import * as example from '../examples.js';

const Readiness = field.answer('Readiness', {
  ready: Type.Boolean(),
  reasons: Type.Array(Type.String(), { description: 'Why it is not ready; empty when it is.' }),
  roles: Type.Array(Type.String(), { description: 'What this process does; of a stack of several, what they do together.' }),
  engine: Type.Optional(field.answer('EngineReadiness', {
    position: field.integer('Commands that are decided here.'), logLength: field.integer('Commands in the log.'),
    standby: Type.Boolean({ description: 'This engine stands by: another one records the outcomes.' }),
  })),
  projections: Type.Optional(Type.Array(field.answer('ProjectionReadiness', {
    name: Type.String(), position: field.integer('Outcomes folded.'), lag: field.integer('Outcomes still to fold.'),
  }), { description: 'Where the projections role is.' })),
  readModels: Type.Optional(field.answer('ReadModelsReadiness', {
    position: Type.Integer({ minimum: -1, description: 'Last log position that every read includes; -1 for none.' }),
    lag: field.integer('Commands after it.'),
  }, { description: 'Where the query role is.' })),
  lanes: Type.Optional(Type.Array(field.answer('LaneReadiness', {
    chainId: field.ChainId, key: Type.String({ description: 'Name of the key in the settings.' }), address: field.Address,
    standby: Type.Boolean({ description: 'Another process sends with this key.' }), trouble: field.orNull(Type.String(), 'What keeps the lane from going on.'),
  }), { description: 'Where the lane role is.' })),
  chains: Type.Optional(Type.Array(Type.Partial(field.answer('ChainReadiness', {
    chainId: field.ChainId, finalBlock: field.orNull(field.integer('Number of the block.'), 'The last final block of the chain; null before it has answered.'),
    lagBlocks: field.integer('Final blocks that the history does not have yet.'),
    reachable: Type.Boolean({ description: 'Whether the last request to the chain succeeded. Orders are accepted without it, and fills wait.' }),
    failures: field.integer('Requests to the chain that failed in a row.'),
    lastError: field.orNull(Type.String(), 'Why the last request failed.'),
    sinceLookS: field.integer('Seconds since a request succeeded, or since the start.'),
    stalled: Type.Boolean({ description: 'The chain has had no new block for too long.' }),
    waitingFills: field.integer('Fills that wait to be sent, counted up to 10,000.'),
    sentFills: field.integer('Fills in transactions that are not over.'),
    oldestWaitingS: field.orNull(field.integer('Seconds.'), 'How long the oldest waiting fill has waited, in seconds; null when none waits.'),
    settlementTrouble: field.orNull(Type.String(), 'What keeps settlement from going on.'),
    stopped: field.orNull(Type.String(), 'Why nothing of this chain is recorded any more.'),
  })), { description: 'Where the indexer and settlement roles are, each with its own fields.' })),
});

const readiness = {
  ready: true, roles: ['projections', 'engine', 'indexer', 'lane', 'settlement', 'query', 'api'], reasons: [],
  engine: { position: 4_218, logLength: 4_218, standby: false }, projections: [{ name: 'orders', position: 4_218, lag: 0 }],
  readModels: { position: 4_217, lag: 0 }, lanes: [{ chainId: 31_337, key: 'operator', address: example.bob, standby: false, trouble: null }],
  chains: [{
    chainId: 31_337, finalBlock: 312, lagBlocks: 0, reachable: true, failures: 0, lastError: null, sinceLookS: 0, stalled: false,
    waitingFills: 3, sentFills: 12, oldestWaitingS: 0, settlementTrouble: null, stopped: null,
  }],
};

export const getReadiness = defineEndpoint({
  id: 'getReadiness', role: 'every', method: 'GET', path: '/health/ready', tag: 'Service', summary: 'Whether the service should be sent requests',
  description: 'Ready once the engine has decided all commands and every read model has nearly caught up; with the lag of each in records.',
  parameters: {}, authority: anybody, errorShape: problems,
  answer: {
    description: 'Ready.', schema: Readiness,
    examples: { ready: readiness, starting: { ...readiness, ready: false, reasons: ['the engine is 18 records behind'] } },
    statuses: { 503: 'Not ready; `reasons` says why.' },
  },
  errors: [], limit: 'none', consistent: false,
});
