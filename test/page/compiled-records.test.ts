/** What the page's build makes of the schemas is what the engine makes of them at run time: readers, writers, validators. */
import { deepEqual, equal, throws } from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writerCode } from '../../engine/records/codec.js';
import { commandSchemas } from '../../engine/records/commands.js';
import * as compiled from '../../engine/records/compiled.js';
import { eventSchemas, MarketOpenedV1 } from '../../engine/records/events.js';
import { readerCode } from '../../engine/records/reader.js';
import { compiledRecords } from '../../page/compiled-records.js';
import { newCommand } from '../support/commands.js';

const RECORDS = new URL('../../engine/records/', import.meta.url).href;

describe('page: compiled records', () => {
  let directory: string;
  let built: typeof compiled;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-records-'));
    const file = join(directory, 'compiled.mjs');
    const text = compiledRecords.load.handler().replaceAll('from "./', `from "${RECORDS}`).replaceAll(/from "(ajv[^"]+)"/g, (_, name: string) => `from "${import.meta.resolve(name)}"`);
    await writeFile(file, text);
    built = await import(pathToFileURL(file).href) as typeof compiled;
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('has the reader of every command and the writer of every event', () => {
    const words = (made: unknown): string => String(made).replaceAll(/^function \w*|\s+/g, '');
    for (const schema of Object.values(commandSchemas)) {
      const code = readerCode(schema);
      equal(words(built.functionOf(schema, 'read', code)), words(compiled.functionOf(schema, 'read', code)));
    }
    for (const schema of [...Object.values(eventSchemas), MarketOpenedV1]) {
      const code = writerCode(schema);
      equal(words(built.functionOf(schema, 'write', code)), words(compiled.functionOf(schema, 'write', code)));
    }
    throws(() => built.functionOf(commandSchemas.PlaceOrder, 'write', { parameters: [], body: '' }), /the page was built without it/);
  });

  it('has validators that find the same faults', () => {
    const faults = (validate: ReturnType<typeof compiled.validatorOf>, value: unknown) => {
      validate(value);
      return validate.errors?.map(({ instancePath, message }) => [instancePath, message]);
    };
    const market = newCommand('OpenMarket', {
      at: 1, marketId: `0x${'1'.repeat(64)}`, question: '🌧?', contractAddress: `0x${'2'.repeat(40)}`, maker: `0x${'3'.repeat(40)}`, expiration: 2, chainId: 1,
    });
    const sync = newCommand('SyncPosition', { at: 1, chainId: 1, marketId: market.marketId, trader: market.maker, yes: '1', no: '2', block: 3 } as never);
    const wrong = [{ question: '' }, { question: '🌧'.repeat(20_000) }, { expiration: -1 }, { marketId: '0x' }, { more: 1 }, { quick: {} }];
    const values = [{}, null, market, sync, ...wrong.map((change) => ({ ...market, ...change })), { ...sync, yes: '01' }, { ...sync, yes: '9'.repeat(99) }];
    for (const schema of Object.values(commandSchemas)) {
      for (const value of values) deepEqual(faults(built.validatorOf(schema), value), faults(compiled.validatorOf(schema), value));
    }
    equal(faults(built.validatorOf(commandSchemas.OpenMarket), market), undefined);
  });
});
