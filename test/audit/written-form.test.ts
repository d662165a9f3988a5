/** A command counts only in the bytes that this program writes: whoever computes all digests anew cannot hide another reading in them. */
import { deepEqual, equal, match } from 'node:assert/strict';
import { decodeCommand, encodeCommand } from '../../engine/records/codec.js';
import type { Command } from '../../engine/records/commands.js';
import { isWritten, usualText } from '../../service/audit/written-form.js';
import { redecided, tradedHistory, type AuditedHistory } from '../support/audited-history.js';
import { auditOf, differenceOf } from '../support/audits.js';

let history: AuditedHistory;
before(async () => { history = await tradedHistory(); });

const positionOf = (kind: Command['kind']) => history.records.findIndex(({ command }) => decodeCommand(command).kind === kind);
const rewritten = (at: number, change: (text: string) => string) => redecided(history.records.map((record, position) => (
  position === at ? { ...record, command: Buffer.from(change(record.command.toString())) } : record)));
const swapped = (text: string): string => JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text) as object).reverse()));

describe('an audit of commands in other bytes than this program writes', () => {
  const acts: [what: string, kind: Command['kind'], change: (text: string) => string][] = [
    ['a key twice', 'PlaceOrder', (text) => text.replace('"price":', '"price":1,"price":')],
    ['a blank', 'PlaceOrder', (text) => text.replace('"price":', '"price": ')],
    ['a line feed at the end', 'AdvanceClock', (text) => `${text}\n`],
    ['keys in another order', 'PlaceOrder', swapped],
    ['keys of a fact within in another order', 'SettleFill', (text) => text.replace(/"block":(\d+),"logIndex":(\d+)/, '"logIndex":$2,"block":$1')],
    ['keys of a market in another order', 'OpenMarket', swapped],
    ['a letter escaped', 'OpenMarket', (text) => text.replace('Märkte', 'M\\u00e4rkte')],
    ['a slash escaped', 'RecordPrice', (text) => text.replace('"simulated"', '"simul\\u0061ted"')],
    ['a number with a fraction', 'AdvanceChain', (text) => text.replace(/"block":(\d+)/, '"block":$1.0')],
    ['an exponent', 'AdvanceChain', (text) => text.replace('"chainId":31337', '"chainId":31337e0')],
  ];
  for (const [what, kind, change] of acts) {
    it(`finds ${what} in ${kind}, also with outcomes and digests computed anew`, async () => {
      const position = positionOf(kind);
      const { check, place } = await differenceOf(history, { records: rewritten(position, change), node: null });
      deepEqual([check, place], ['commands', { position }]);
    });
  }

  it('shows both texts', async () => {
    const position = positionOf('AdvanceClock');
    const { expected, found } = await differenceOf(history, { records: rewritten(position, (text) => text.replace(':', ' :')), node: null });
    equal(expected, history.records[position]!.command.toString());
    match(String(found), /^\{"kind" :/);
  });
});

describe('a command of an older version', () => {
  const opened = {
    marketId: `0x${'11'.repeat(32)}`, contractAddress: `0x${'22'.repeat(20)}`, maker: `0x${'33'.repeat(20)}`, chainId: 1, marketKind: 'standard',
    question: 'Will it?', description: '', category: 'general', expiration: 1_900_000_000, tokens: { yes: `0x${'44'.repeat(32)}`, no: `0x${'55'.repeat(32)}` },
  };
  const fact = { chainId: 1, block: 5, logIndex: 0 };
  const { marketId, question, description, category, contractAddress, maker, expiration, chainId, marketKind } = opened;
  const recorded: [what: string, record: object][] = [
    ['version 1 of a chain', { v: 1, at: 1, kind: 'OpenMarket', ...opened, fact }],
    ['version 2 of a chain', { kind: 'OpenMarket', v: 2, ...opened, quick: { asset: 'BTC', startTime: 1_800_000_000 }, at: 1, fact }],
    ['version 3 of a chain', { kind: 'OpenMarket', v: 3, ifOver: 'close', ...opened, at: 1, fact }],
    ['version 1 of a catalogue', { kind: 'OpenMarket', v: 1, at: 1, marketId, question, description, category, contractAddress, maker, expiration, chainId, marketKind }],
    ['version 3 of a catalogue', {
      kind: 'OpenMarket', v: 3, ifOver: 'close', at: 1, marketId, question, description, category, contractAddress, maker, expiration, chainId, marketKind,
    }],
  ];
  for (const [what, record] of recorded) {
    it(`is written as its own version was: ${what}`, () => {
      const bytes = Buffer.from(JSON.stringify(record));
      equal(isWritten(decodeCommand(bytes), bytes), true);
      const other = Buffer.from(swapped(bytes.toString()));
      equal(isWritten(decodeCommand(other), other), false);
    });
  }
});

describe('the text of a command', () => {
  it('is that of the encoder, whatever a market is called', () => {
    const at = history.records.findIndex(({ command }) => decodeCommand(command).kind === 'OpenMarket');
    const market = decodeCommand(history.records[at]!.command) as Extract<Command, { kind: 'OpenMarket' }>;
    for (const question of ['"quoted" \\ and / slashed', 'tab\t line\n bell\u0007 delete\u007f', 'Ünïcode “text” 💧', '\ud800 alone', '\u2028']) {
      const named = { ...market, question };
      const bytes = encodeCommand(named);
      equal(usualText(named), bytes.toString());
      equal(isWritten(decodeCommand(bytes), bytes), true, question);
    }
  });

  it('is that of all records of a real history', async () => {
    deepEqual((await auditOf(history)).difference, null);
    for (const { command } of history.records) equal(isWritten(decodeCommand(command), command), true, command.toString());
  });
});
