/**
 * Looks for secrets in everything that services started by tests write, and fails the mocha run that has found one. Tests start services
 * at two places: as processes (`service-process.ts`) and in their own process (`exchange.ts`); both hand every line to this.
 */
import assert from 'node:assert/strict';
import { HDNodeWallet, Mnemonic } from 'ethers';
import { developmentAccounts, creatorWallet, operatorWallet, quickWallet, relayerWallet } from '../../stack/chain/dev-contracts.js';

/** A value that must not be written, and where it is from. */
export interface Secret {
  readonly name: string;
  readonly text: string;
}

/** Shorter texts are in innocent lines by chance. */
const SHORTEST = 8;
const TOKEN = /pex_[\w-]{43,}/;
/** A development stack shows its accounts, which are public, to whoever starts it. */
const SHOWN_ACCOUNTS = new Set(developmentAccounts().map(({ address, privateKey }) => `  ${address}  ${privateKey}`));

/** The accounts of the well-known mnemonic, which the tests' chains have. */
const root = HDNodeWallet.fromMnemonic(Mnemonic.fromPhrase(`${'test '.repeat(11)}junk`), 'm/44\'/60\'/0\'/0');
const testAccounts = Array.from({ length: 10 }, (_, i) => root.deriveChild(i));

let wellKnown: readonly Secret[] | undefined;

/** Private keys, passwords, tokens and provider keys of an environment, and the private keys of the tests' accounts. */
export function secretsOf(environment: Readonly<Record<string, string | undefined>>): readonly Secret[] {
  const given = Object.entries(environment).flatMap(([name, value = '']) => {
    const texts = [...passwordOf(value), .../(KEY|PASSWORD|TOKEN|SECRET)$/.test(name) ? [value.replace(/^0x/, '')] : []];
    return texts.filter((text) => text.length >= SHORTEST).map((text) => ({ name, text }));
  });
  wellKnown ??= [...new Map([...developmentAccounts(), creatorWallet(), operatorWallet(), quickWallet(), relayerWallet(), ...testAccounts]
    .map(({ address, privateKey }) => [privateKey, { name: `key of ${address}`, text: privateKey.slice(2) }])).values()];
  return [...given, ...wellKnown];
}

/** The names of the secrets in a line. */
export function spokenIn(line: string, secrets: readonly Secret[]): string[] {
  if (SHOWN_ACCOUNTS.has(line)) return [];
  const lower = line.toLowerCase();
  const names = secrets.filter(({ text }) => lower.includes(text.toLowerCase())).map(({ name }) => name);
  return TOKEN.test(line) ? [...names, 'a bearer token'] : names;
}

const spoken = new Set<string>();

/** Takes the lines of one service. What it finds fails the run at its end. */
export function listenForSecrets(environment: Readonly<Record<string, string | undefined>>): (line: string) => void {
  const secrets = secretsOf(environment);
  return (line) => {
    // Without the line itself: this would write the secret once more.
    for (const name of spokenIn(line, secrets)) spoken.add(`${name}, in a line of ${line.length} characters: ${/"msg":"[^"]{0,40}/.exec(line)?.[0] ?? line.slice(0, 12)}`);
  };
}

function passwordOf(value: string): string[] {
  if (!URL.canParse(value)) return [];
  const { password } = new URL(value);
  return password === '' ? [] : [decodeURIComponent(password)];
}

// Benchmarks start services too, without mocha.
if (typeof after === 'function') {
  after('no service has written a secret', () => { assert.deepEqual([...spoken], []); });
}
