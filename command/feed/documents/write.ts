/**
 * Writes the published documents of the fill feed into docs/events, and the examples of its page: `npm run generate`. A
 * test says when they are not what the sources give.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { asyncapiDocument } from './asyncapi.js';
import { encodedExamples } from './examples.js';
import { MESSAGE_NAMES, publishedSchema, schemaFile } from './schemas.js';

export const FOLDER = 'docs/events';
export const PAGE = 'docs/events.md';

/**
 * The text of each file of the folder, by its name. A message's schema that was replaced by a newer version stays in
 * the folder, and is not here.
 */
export function publishedFiles(): Readonly<Record<string, string>> {
  const text = (document: object) => `${JSON.stringify(document, undefined, 2)}\n`;
  return {
    ...Object.fromEntries(MESSAGE_NAMES.map((name) => [schemaFile(name), text(publishedSchema(name))])),
    'asyncapi.json': text(asyncapiDocument()),
  };
}

/**
 * The page with each block of JSON, in the order of the messages' names, as the sources give it. Throws when it has
 * another number of them.
 */
export function pageWithExamples(page: string): string {
  const examples = Object.values(encodedExamples()).map(({ partition, key, headers, value }) => (
    written({ partition, key, headers, value: JSON.parse(value.toString()) as object })));
  const shown = page.replaceAll(/^```json\n.*?^```$/gms, () => `\`\`\`json\n${examples.shift() ?? fault(page)}\n\`\`\``);
  return examples.length === 0 ? shown : fault(page);
}

function fault(page: string): never {
  const blocks = page.match(/^```json$/gm)?.length ?? 0;
  throw new Error(`${PAGE} has ${blocks} blocks of JSON, and there are ${MESSAGE_NAMES.length} messages: give each a block`);
}

const WIDTH = 120;

/** An object as JSON with several fields to a line. */
function written(object: object, indent = ''): string {
  const lines: string[] = [];
  let line = '';
  for (const [name, value] of Object.entries(object)) {
    const isObject = typeof value === 'object' && value !== null;
    const field = `${JSON.stringify(name)}: ${isObject ? written(value as object, `${indent}  `) : JSON.stringify(value)}`;
    const goesOn = line !== '' && !isObject && indent.length + line.length + field.length + 5 <= WIDTH;
    if (line !== '' && !goesOn) lines.push(line);
    line = goesOn ? `${line}, ${field}` : field;
    if (!isObject) continue;
    lines.push(line);
    line = '';
  }
  if (line !== '') lines.push(line);
  return `{\n${lines.map((each) => `${indent}  ${each}`).join(',\n')}\n${indent}}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, text] of Object.entries(publishedFiles())) {
    writeFileSync(join(process.cwd(), FOLDER, name), text);
    process.stdout.write(`${FOLDER}/${name}\n`);
  } writeFileSync(join(process.cwd(), PAGE), pageWithExamples(readFileSync(join(process.cwd(), PAGE), 'utf8')));
  process.stdout.write(`${PAGE}\n`);
}
