/** What the query role says of itself: how old its answers are, and its streams. */
import * as field from '../engine/records/answer-fields.js';
import { Type, type Static } from '../engine/records/schema-types.js';
import { MAX_READY_LAG, type StateTable } from '../engine/state-table.js';
import { BYTES_OF_ALL } from './streams/backlog.js';

const schema = field.answer('ReadModelsReadiness', {
  position: Type.Integer({ minimum: -1, description: 'Last log position that all reads include; -1 for none.' }),
  lag: field.integer('Number of commands after that position.'),
});

export const readModelsState: StateTable<Static<typeof schema>> = {
  shows: { part: 'readModels', single: true, schema, description: 'State of the query role.' },
  unknown: 'the read models cannot be read',
  rows: [{
    name: 'exchange_read_models_lag_records', help: 'Number of commands that the slowest read model does not include yet',
    value: ({ lag }) => lag,
    notReady: {
      when: `more than ${MAX_READY_LAG}, or the read models cannot be read`,
      reasons: ({ lag }) => lag > MAX_READY_LAG ? [`the slowest read model is ${lag} records behind`] : [],
    },
  }],
};

/** The streams that are open, and those that were cut off. */
interface Streams {
  readonly prices: number;
  readonly pricesCutOff: number;
  readonly channels: number;
  readonly channelsCutOff: number;
  readonly channelsWaiting: number;
  readonly history: number;
}

export const streamsState: StateTable<Streams> = {
  rows: [
    { name: 'exchange_price_streams', help: 'Number of open price streams', value: ({ prices }) => prices },
    {
      name: 'exchange_price_streams_cut_off',
      help: 'Price streams that were cut off since the start because their clients had fallen behind',
      value: ({ pricesCutOff }) => pricesCutOff,
    },
    { name: 'exchange_streams', help: 'Number of open streams of channels', value: ({ channels }) => channels },
    {
      name: 'exchange_streams_cut_off', help: 'Streams of channels that were cut off since the start because their clients had fallen behind',
      value: ({ channelsCutOff }) => channelsCutOff,
    },
    {
      name: 'exchange_streams_waiting_bytes',
      help: `Bytes that wait for the readers of streams of channels, what several wait for counted once; from ${BYTES_OF_ALL} on, readers are cut off`,
      value: ({ channelsWaiting }) => channelsWaiting,
    },
    { name: 'exchange_history_streams', help: 'Number of open streams of the history', value: ({ history }) => history },
  ],
};
