/** Findings that work under way in other places will end. To be deleted, with its use in architecture.test.ts, once that work is merged. */

/** By the rule's name, how its findings begin. */
export const UNTIL_THE_MERGE: Readonly<Record<string, readonly string[]>> = {
  'imports point where the arrows do': [
    'command/indexer/fact-writer.ts:', 'command/indexer/scan.ts:', 'command/orders/engine-view.ts:', 'service/chains/chain-clients.ts:',
    'service/chains/chain-workers.ts:', 'service/roles/history-check.ts:',
  ],
  'no imports go in a circle': [
    'command/lane/outbox.ts -> command/lane/sender.ts ->', 'query/database.ts -> query/statement.ts ->', 'service/http/app.ts -> service/http/limits.ts ->',
  ],
  'nobody outside the engine touches its state or books': [
    'command/indexer/fact-writer.ts:', 'command/indexer/scan.ts:', 'command/orders/engine-view.ts:', 'service/chains/chain-clients.ts:',
    'service/chains/chain-workers.ts:', 'service/main.ts:', 'service/roles/exchange.ts:', 'service/roles/history-check.ts:',
    'test/command/reservations.test.ts:', 'test/indexer/writer.test.ts:', 'test/service/history-check.test.ts:', 'test/settlement/poison.chain.test.ts:',
    'test/settlement/restart.chain.test.ts:', 'test/settlement/settlement.chain.test.ts:', 'test/support/command-stack.ts:', 'test/support/indexer-stack.ts:',
    'test/support/settlement-stack.ts:',
  ],
  'folders are short': ['projections/ has '],
};
