/** Writes the client's types of the API anew: `node tools/run.mjs test/client/write-openapi`. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CLIENT } from '../support/client-packages.js';
import { openapiTypes } from './openapi-types.js';

await writeFile(join(CLIENT, 'src', 'openapi.ts'), await openapiTypes());
