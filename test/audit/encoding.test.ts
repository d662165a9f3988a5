/** A command counts only in the bytes that this program encodes it to: whoever computes all digests anew cannot hide another reading in them. */
import { deepEqual, equal, match } from 'node:assert/strict';
import { decodeCommand } from '../../engine/records/codec.js';
import type { Command } from '../../engine/records/commands.js';
import { dueId } from '../../tools/audit/records/record-ids.js';
import { emptyHistory, market, redecided, tradedHistory, auditOf, differenceOf, type AuditedHistory } from '../support/audited-history.js';

let history: AuditedHistory;
before(async () => { history = await tradedHistory(); });

const positionOf = (kind: Command['kind']) => history.records.findIndex(({ command }) => decodeCommand(command).kind === kind);
const rewritten = (at: number, change: (text: string) => string) => redecided(history.records.map((record, position) => (
  position === at ? { ...record, command: Buffer.from(change(record.command.toString())) } : record)));

describe('an audit of commands in other bytes than this program encodes them to', () => {
  const acts: [what: string, kind: Command['kind'], change: (text: string) => string][] = [
    ['a key twice', 'PlaceOrder', (text) => text.replace('"price":', '"price":1,"price":')],
    ['a key of a fact twice', 'SettleFill', (text) => text.replace('"block":', '"block":0,"block":')],
    ['a blank', 'PlaceOrder', (text) => text.replace('"price":', '"price": ')],
    ['a line feed at the end', 'AdvanceClock', (text) => `${text}\n`],
    ['a letter escaped', 'OpenMarket', (text) => text.replace('Märkte', 'M\\u00e4rkte')],
    ['an escape in a constant', 'RecordPrice', (text) => text.replace('"simulated"', '"simul\\u0061ted"')],
    ['a slash escaped', 'OpenMarket', (text) => text.replace('Will it be', 'Will it\\/be')],
    ['a number with a fraction', 'AdvanceChain', (text) => text.replace(/"block":(\d+)/, '"block":$1.0')],
    ['an exponent', 'AdvanceChain', (text) => text.replace('"chainId":31337', '"chainId":31337e0')],
    ['a zero below zero', 'PlaceOrder', (text) => text.replace('"side":0', '"side":-0')],
  ];
  for (const [what, kind, change] of acts) {
    it(`finds ${what} in ${kind}, also with outcomes and digests computed anew`, async () => {
      const position = positionOf(kind) + (what === 'a zero below zero' ? 1 : 0);
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

describe('an audit of commands of older versions', () => {
  /** The history with a market as version 1 recorded it. */
  const withFirst = (change: (text: string) => string) => {
    const opened = {
      v: 1, at: 1, kind: 'OpenMarket', marketId: market(7), contractAddress: `0x${'22'.repeat(20)}`, maker: `0x${'33'.repeat(20)}`, chainId: 1,
      marketKind: 'standard', question: 'Will it?', description: '', category: 'general', expiration: 1_900_000_000,
    };
    const command = Buffer.from(change(JSON.stringify(opened)));
    return redecided([{ id: dueId(decodeCommand(command), '')!, command }]);
  };

  it('compares them as their own version was encoded', async () => {
    const empty = await emptyHistory();
    deepEqual((await auditOf(empty, { records: withFirst((text) => text), node: null })).difference, null);
    const { check, place } = await differenceOf(empty, { records: withFirst((text) => text.replace('"v":1', '"v": 1')), node: null });
    deepEqual([check, place], ['commands', { position: 0 }]);
  });
});

describe('an audit of markets with names that need escapes', () => {
  it('passes them as the encoder writes them', async () => {
    const named = await emptyHistory();
    for (const [n, question] of ['"quoted" \\ and / slashed', 'tab\t line\n bell\u0007 delete\u007f', 'Ünïcode “text” 💧', '\ud800 alone', '\u2028'].entries()) {
      const command: Command = {
        kind: 'OpenMarket', v: 3, ifOver: 'reject', at: 1_800_000_000_000, marketId: market(n), question, description: '', category: 'general',
        contractAddress: `0x${'22'.repeat(20)}`, maker: `0x${'33'.repeat(20)}`, expiration: 1_900_000_000, chainId: 1, marketKind: 'standard',
      };
      named.add(command, dueId(command, ''));
    }
    deepEqual((await auditOf(named, { node: null })).difference, null);
  });
});
