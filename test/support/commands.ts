/** Builds commands for tests, of the version that is recorded now: the only place in the tests that a new version of a command touches. */
import { commandSchemas, type Command } from '../../engine/records/commands.js';
import type { ChainFact } from '../../engine/records/fields.js';

type Kind = Command['kind'];
type CommandOf<K extends Kind> = Extract<Command, { readonly kind: K }>;
type FactKind = Extract<Command, { readonly fact?: ChainFact | undefined }>['kind'];
interface OnChain { readonly fact: ChainFact }

/** What commands have where a test does not say. */
const USUAL = {
  OpenMarket: {
    ifOver: 'close', question: 'Will it?', description: '', category: 'general', maker: `0x${'aa'.repeat(20)}`, marketKind: 'standard',
  },
  PlaceOrder: { outcome: 0, signature: `0x${'5'.repeat(130)}` },
  FailFill: { countDefault: true },
} as const satisfies { readonly [K in Kind]?: Partial<CommandOf<K>> };

type UsualOf<K extends Kind> = K extends keyof typeof USUAL ? keyof typeof USUAL[K] : never;
/** What a test has to say of a command, and may say. */
type Fields<K extends Kind> = Omit<CommandOf<K>, 'kind' | 'v' | UsualOf<K>> & Partial<Pick<CommandOf<K>, UsualOf<K> & keyof CommandOf<K>>>;

/** The fields are recorded in the order in which they are given. */
export function newCommand<K extends FactKind>(kind: K, fields: Fields<K> & OnChain): CommandOf<K> & OnChain;
export function newCommand<K extends Kind>(kind: K, fields: Fields<K>): CommandOf<K>;
export function newCommand(kind: Kind, fields: object): object {
  const { [kind]: usual = {} }: Readonly<Partial<Record<Kind, object>>> = USUAL;
  return { kind, v: commandSchemas[kind].properties.v.const, ...fields, ...usual, ...fields };
}
