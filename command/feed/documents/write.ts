/** Writes the published documents of the fill feed into docs/events: `npm run generate`. A test says when they are not what the sources give. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { asyncapiDocument } from './asyncapi.js';
import { MESSAGE_NAMES, publishedSchema, schemaFile } from './schemas.js';

export const FOLDER = 'docs/events';

/** The text of each file of the folder, by its name. A message's schema that was replaced by a newer version stays in the folder, and is not here. */
export function publishedFiles(): Readonly<Record<string, string>> {
  const text = (document: object) => `${JSON.stringify(document, undefined, 2)}\n`;
  return {
    ...Object.fromEntries(MESSAGE_NAMES.map((name) => [schemaFile(name), text(publishedSchema(name))])),
    'asyncapi.json': text(asyncapiDocument()),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, text] of Object.entries(publishedFiles())) {
    writeFileSync(join(process.cwd(), FOLDER, name), text);
    process.stdout.write(`${FOLDER}/${name}\n`);
  }
}
