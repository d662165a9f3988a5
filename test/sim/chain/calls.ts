/** The calls of a transaction that the simulated contracts understand, besides batches of fills. */
import { carryOutSettle, readSettleCall, type SettleCall } from './oracle-contract.js';
import { carryOutQuick, readQuickCall, type QuickCall, type QuickMoment } from './quick-contracts.js';
import { carryOutTokens, readTokenCall, type Done, type TokenCall, type TokenMoment } from './token-contract.js';

export type SimCall = QuickCall | TokenCall | SettleCall;
export type Moment = QuickMoment & TokenMoment;

/** Undefined for any other call. */
export function readCall(to: string, data: string): SimCall | undefined {
  return readTokenCall(to, data) ?? readSettleCall(to, data) ?? readQuickCall(to, data);
}

export function carryOutCall(call: SimCall, moment: Moment): Done {
  switch (call.kind) {
    case 'tokens': return carryOutTokens(call, moment);
    case 'settle': return carryOutSettle(call, moment);
    case 'create':
    case 'resolve': return carryOutQuick(call, moment);
  }
}
