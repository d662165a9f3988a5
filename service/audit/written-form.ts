/** How this program writes a command: JSON without blanks, each key once and in its order. Readers of other bytes could take them for another command. */
import { commandSchemas, type Command } from '../../engine/records/commands.js';

type Json = Readonly<Record<string, unknown>>;
type Writer = (value: unknown) => string;

interface Schema {
  readonly const?: unknown;
  readonly type?: string;
  readonly pattern?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

/** The indexer writes what a chain reports with the head in this order; all other commands, and these without a chain, are in the schema's order. */
const HEAD_OF_FACTS = ['v', 'at', 'kind'];
const FACTS: readonly Command['kind'][] = [
  'CancelOrdersBelow', 'SettleFill', 'FailFill', 'RecordTransfer', 'RecordRedemption', 'RecordProposal', 'RecordDispute',
  'RecordRejection', 'ResolveMarket', 'HalveMarket',
];

/** Markets of a chain since version 2, markets of a catalogue, and markets of a chain in version 1. */
const ORDERS_OF_MARKETS = [
  [
    'kind', 'v', 'ifOver', 'marketId', 'contractAddress', 'maker', 'chainId', 'marketKind', 'question', 'description', 'category', 'expiration', 'tokens', 'quick', 'at', 'fact',
  ],
  [
    'kind', 'v', 'ifOver', 'at', 'marketId', 'question', 'description', 'category', 'contractAddress', 'maker', 'expiration', 'chainId', 'marketKind', 'tokens', 'quick', 'fact',
  ],
  ['v', 'at', 'kind', 'marketId', 'contractAddress', 'maker', 'chainId', 'marketKind', 'question', 'description', 'category', 'expiration', 'tokens', 'fact'],
];

interface Form {
  /** Writes the keys in the order that most commands of the kind have. */
  readonly usual: Writer;
  /** Write them in the other orders in use. */
  readonly others: readonly Writer[];
  readonly properties: Readonly<Record<string, Schema>>;
  /** The current version: records of older ones have been changed by their upcasts. */
  readonly version: unknown;
}

const forms = new Map(Object.entries(commandSchemas).map(([kind, schema]) => [kind, formOf(kind as Command['kind'], schema as Schema)]));

function formOf(kind: Command['kind'], { properties = {} }: Schema): Form {
  const [first = [], ...others] = ordersOf(kind, Object.keys(properties));
  return {
    usual: objectWriter(first, properties), others: others.map((order) => objectWriter(order, properties)), properties, version: properties['v']?.const,
  };
}

function ordersOf(kind: Command['kind'], inSchema: readonly string[]): readonly (readonly string[])[] {
  if (kind === 'OpenMarket') return ORDERS_OF_MARKETS;
  const asFact = [...HEAD_OF_FACTS, ...inSchema.filter((name) => !HEAD_OF_FACTS.includes(name))];
  if (kind === 'CancelOrder') return [inSchema, asFact];
  return FACTS.includes(kind) ? [asFact, inSchema] : [inSchema];
}

/** The text that most commands of this kind have; see `isWritten` for the others. */
export function usualText(command: Command): string {
  return needForm(command.kind).usual(command);
}

/** Whether the bytes, which gave this command, are as this program writes it, or wrote it in the record's version. */
export function isWritten(command: Command, bytes: Buffer): boolean {
  const { usual, others, properties, version } = needForm(command.kind);
  const text = bytes.toString();
  // Bytes that are not UTF-8 become other characters.
  if (!Buffer.from(text).equals(bytes)) return false;
  const recorded = version === 1 ? command as unknown as Json : JSON.parse(text) as Json;
  const isOfToday = Object.keys(recorded).every((name) => name in properties);
  return isOfToday ? [usual, ...others].some((write) => write(recorded) === text) : JSON.stringify(recorded) === text;
}

function needForm(kind: Command['kind']): Form {
  const form = forms.get(kind);
  if (form === undefined) throw new Error(`${kind} has no schema`);
  return form;
}

/** Compiled, since each command of a replay is written once. */
function objectWriter(order: readonly string[], properties: Readonly<Record<string, Schema>>): Writer {
  return new Function('c', `return ${objectExpression(order, properties, 'c')}`) as Writer;
}

/** JavaScript that gives an object's text. The first key is one that is always there. */
function objectExpression(order: readonly string[], properties: Readonly<Record<string, Schema>>, value: string): string {
  const fields = order.map((name, i) => {
    const field = `${value}.${name}`;
    const written = `${JSON.stringify(`${i === 0 ? '{' : ','}${JSON.stringify(name)}:`)}+${expressionOf(properties[name] ?? {}, field)}`;
    return i === 0 ? written : `(${field}===undefined?"":${written})`;
  });
  return `${fields.join('+')}+"}"`;
}

function expressionOf({ type, properties, items, pattern, format }: Schema, value: string): string {
  if (properties !== undefined) return objectExpression(Object.keys(properties), properties, value);
  if (items !== undefined) return `"["+${value}.map((i)=>${expressionOf(items, 'i')}).join()+"]"`;
  if (type === 'integer' || type === 'number') return value;
  // By these schemas there is nothing in it to escape.
  return format !== undefined || pattern?.startsWith('^0x') === true ? `'"'+${value}+'"'` : `JSON.stringify(${value})`;
}
