#!/usr/bin/env node
/**
 * `prediction-exchange`: markets, books, orders and claims from a terminal. Settings are options and the environment;
 * keys are in that alone.
 */
import { parseArgs } from 'node:util';
import { BadArgument, connect, ExchangeError, OutcomeUnknown, type AnySigner, type Client } from '../client.js';
import { writeJson } from '../exact-json.js';
import { COMMANDS, Usage, type Options, type Terminal } from './commands.js';

const HELP = `prediction-exchange COMMAND [argument…]

  markets [WORD…]                   open markets, or those with these words in their question
  book MARKET                       the books of a market
  buy MARKET yes|no SIZE PRICE      buys shares: buy 0x4d4d yes 10 0.62
  sell MARKET yes|no SIZE PRICE     sells shares
  cancel ORDER…                     cancels orders by their hashes
  cancel all                        cancels all orders
  watch CHANNEL…                    shows what happens: book:MARKET trades:MARKET orders:ADDRESS prices:ASSET markets
  claim                             has the shares of resolved markets paid out, by the relayer
  funds [ADDRESS]                   on a development stack: test money

MARKET is an id, or the beginning of one.

  --url URL            where the exchange is; default: EXCHANGE_URL, else http://127.0.0.1:8080
  --json               one JSON object per line
  --post-only          buy, sell: only adds to the book
  --now                buy, sell: what does not match at once is cancelled
  --expires SECONDS    buy, sell: how long the order is good; default: 3600
  --from POSITION      watch: begins after this log position; -1 is the whole history

PRIVATE_KEY signs (npm install ethers), TOKEN is the bearer token for claims.
`;

const OPTIONS = {
  'url': { type: 'string' }, 'json': { type: 'boolean' }, 'help': { type: 'boolean', short: 'h' },
  'post-only': { type: 'boolean' }, 'now': { type: 'boolean' }, 'expires': { type: 'string' },
  'from': { type: 'string' },
} as const;

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_URL = 'http://127.0.0.1:8080';
/** Where a terminal has what a program would give as an argument. */
const VARIABLES: Readonly<Record<string, string>> = { signer: 'PRIVATE_KEY', token: 'TOKEN' };

void main(process.argv.slice(2), process.env).then((code) => { process.exitCode = code; });

/** 0: done. 1: refused, or could not be done. 2: wrong arguments. 3: nobody knows yet whether it was done. */
async function main(args: readonly string[], environment: Environment): Promise<number> {
  const interrupted = new AbortController();
  const interrupt = () => { interrupted.abort(new Error('interrupted')); };
  process.once('SIGINT', interrupt);
  // Nobody reads on, as behind `| head`.
  process.stdout.once('error', interrupt);
  try {
    const { values, positionals } = parseArgs({ args: withNegative(args), options: OPTIONS, allowPositionals: true });
    const [name, ...rest] = positionals;
    if (values.help === true || name === undefined) {
      process.stdout.write(HELP);
      return values.help === true ? 0 : 2;
    }
    const command = COMMANDS[name];
    if (command === undefined) throw new Usage(`there is no command ${name}`);
    const options: Options = {
      postOnly: values['post-only'] === true, now: values.now === true, expiresS: values.expires, from: values.from,
      signal: interrupted.signal,
    };
    await command(await clientOf(values.url, environment), rest, options, terminalOf(values.json === true));
    return 0;
  } catch (error) {
    if (interrupted.signal.aborted && !(error instanceof OutcomeUnknown)) return 0;
    process.stderr.write(`${textOf(error)}\n`);
    if (error instanceof OutcomeUnknown) return 3;
    return error instanceof ExchangeError || !(error instanceof Usage || error instanceof TypeError) ? 1 : 2;
  }
}

/** The same with `--from -1` as `--from=-1`: `parseArgs` takes a number below zero for an option. */
function withNegative(args: readonly string[]): string[] {
  return args.flatMap((each, i) => {
    if (args[i - 1] === '--from' && each.startsWith('-')) return [];
    return each === '--from' && args[i + 1]?.startsWith('-') === true ? [`${each}=${args[i + 1]}`] : [each];
  });
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const variable = error instanceof BadArgument ? VARIABLES[error.argument] : undefined;
  return variable === undefined ? error.message : `${error.message}. Set ${variable} in the environment`;
}

async function clientOf(url: string | undefined, environment: Environment): Promise<Client> {
  const key = environment['PRIVATE_KEY']?.trim();
  return connect({
    url: url ?? environment['EXCHANGE_URL']?.trim() ?? DEFAULT_URL, token: environment['TOKEN']?.trim(),
    signer: key === undefined || key === '' ? undefined : await signerOf(key),
  });
}

/** Signing is the only thing that takes a package; who only reads does without. */
async function signerOf(key: string): Promise<AnySigner> {
  const { Wallet } = await import('ethers').catch((cause: unknown) => {
    throw new Error('PRIVATE_KEY signs by ethers: npm install ethers', { cause });
  });
  try {
    return new Wallet(key);
  } catch {
    // Without its cause, which has the key.
    throw new Usage('PRIVATE_KEY is no private key: it is 0x and 64 hex digits');
  }
}

function terminalOf(isJson: boolean): Terminal {
  return {
    show(text, value) {
      process.stdout.write(`${isJson ? writeJson(value) : text}\n`);
    },
  };
}
