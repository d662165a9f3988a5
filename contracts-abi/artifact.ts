/** The text of a contract's artifact: its ABI and bytecode as constants, and the types of those structs and events' arguments that are used. */

/** Structs, and events with `Args` behind their names. Whoever needs another type names it here and runs `npm run generate`. */
const TYPES: readonly string[] = [
  'ConditionResolutionArgs', 'PayoutRedemptionArgs', 'TransferBatchArgs', 'TransferSingleArgs', 'MarketCreatedArgs',
  'QuickMarketCreatedArgs', 'MarketFacts', 'ResolutionAbandonedArgs', 'ResolutionDisputedArgs',
  'ResolutionProposedArgs', 'ResolutionRejectedArgs', 'QuickMarketResolvedArgs', 'Fill', 'Order', 'Permit',
  'CancelScheduledArgs', 'FillFailedArgs', 'FillSettledArgs', 'HistoryAnchoredArgs', 'OrderCancelledArgs',
];

/** A parameter of a function, an event or an error, or a struct's member. */
interface Parameter {
  readonly name: string;
  readonly type: string;
  readonly internalType?: string;
  readonly components?: readonly Parameter[];
}

/** An entry of a contract's ABI as the compiler gives it. */
export interface AbiEntry {
  readonly type: string;
  readonly name?: string;
  readonly inputs?: readonly Parameter[];
  readonly outputs?: readonly Parameter[];
}

/** `ConditionalTokens` → `contracts-abi/conditional-tokens.ts`. */
export function artifactPath(contract: string): string {
  return `contracts-abi/${kebab(contract)}.ts`;
}

/** The contract that an artifact was generated from; undefined for any other file. */
export function contractOf(text: string): string | undefined {
  return /^\/\*\* Generated from contracts-abi\/solidity\/(\w+)\.sol by `npm run generate`/.exec(text)?.[1];
}

/** The whole file. The same contract gives the same text. */
export function artifactText({ contract, source, abi, bytecode }: {
  readonly contract: string; readonly source: string; readonly abi: readonly AbiEntry[]; readonly bytecode: string;
}): string {
  return [
    `/** Generated from ${source} by \`npm run generate\`: never edit it by hand. */`,
    '/* eslint-disable */',
    `export const ${camel(contract)} = {`,
    '  abi: [',
    ...abi.map((entry) => `    ${JSON.stringify(entry, (key, value: unknown) => key === 'internalType' ? undefined : value)},`),
    '  ],',
    `  bytecode: '${bytecode}',`,
    '} as const;',
    ...[...structs(abi), ...events(abi)].filter(([name]) => TYPES.includes(name)).map(([name, members]) => interfaceText(name, members)),
    '',
  ].join('\n');
}

/** As ethers decodes them: every integer is a bigint. */
function typeOf({ type, internalType }: Parameter): string {
  const dimensions = type.match(/\[\d*\]/g) ?? [];
  const base = type.replace(/\[.*$/, '');
  const element = base === 'tuple' ? structName(internalType) : base === 'bool' ? 'boolean' : /^u?int/.test(base) ? 'bigint' : 'string';
  return dimensions.reduce((inner) => `readonly ${inner.startsWith('readonly') ? `(${inner})` : inner}[]`, element);
}

/** `struct Settlement.Order[]` → `Order`. */
function structName(internalType = ''): string {
  return internalType.replace(/^struct /, '').replace(/\[.*$/, '').replace(/^.*\./, '');
}

function structs(abi: readonly AbiEntry[]): (readonly [string, readonly Parameter[]])[] {
  const found = new Map<string, readonly Parameter[]>();
  const visit = (parameter: Parameter) => {
    if (parameter.components === undefined) return;
    parameter.components.forEach(visit);
    found.set(structName(parameter.internalType), parameter.components);
  };
  for (const { inputs, outputs } of abi) [...inputs ?? [], ...outputs ?? []].forEach(visit);
  return [...found].sort(([a], [b]) => a < b ? -1 : 1);
}

function interfaceText(name: string, members: readonly Parameter[]): string {
  const lines = members.map((member, index) => `  readonly ${member.name || `arg${index}`}: ${typeOf(member)};`);
  return ['', `export interface ${name} {`, ...lines, '}'].join('\n');
}

function events(abi: readonly AbiEntry[]): (readonly [string, readonly Parameter[]])[] {
  return abi.filter(({ type }) => type === 'event').map(({ name, inputs }) => [`${name}Args`, inputs ?? []]);
}

function kebab(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();
}

function camel(name: string): string {
  return kebab(name).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
