/** What Slither says of the contracts is explained, finding by finding: a new one fails, and so does an explanation without a finding. */
import assert from 'node:assert/strict';
import { EXPLAINED } from '../support/explained-findings.js';
import { findings } from '../support/provers.js';

describe('contracts: findings of Slither', function () {
  this.timeout(600_000);

  it('are explained, every one', async () => {
    const found = new Map((await findings()).map((finding) => [`${finding.check} in ${finding.place}`, finding]));
    const explained = new Set(EXPLAINED.flatMap(({ check, places }) => places.map((place) => `${check} in ${place}`)));
    const unexplained = [...found].filter(([name]) => !explained.has(name)).map(([name, { impact, says }]) => `${name} (${impact}): ${says}`);
    assert.deepEqual(unexplained, [], `mend it, or explain it in test/support/explained-findings.ts:\n${unexplained.join('\n')}`);
    assert.deepEqual([...explained].filter((name) => !found.has(name)), [], 'explained, but not found any more: delete the line');
  });
});
