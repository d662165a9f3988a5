/** What every failing read would tell is told once a minute. */
import assert from 'node:assert/strict';
import { seldom } from '../../service/databases/seldom.js';

describe('service: what is told seldom', () => {
  it('is each text once a minute, and however many texts there are, none is lost', () => {
    const told: string[] = [];
    let nowMs = 5;
    const tell = seldom((text) => { told.push(text); }, () => nowMs);
    for (const text of ['away', 'away', 'back', 'away']) tell(text);
    nowMs += 59_999;
    tell('away');
    nowMs += 1;
    for (const text of ['away', 'away']) tell(text);
    assert.deepEqual(told.splice(0), ['away', 'back', 'away']);
    for (let i = 0; i < 500; i++) tell(`fault ${i}`);
    assert.equal(told.length, 500);
  });
});
