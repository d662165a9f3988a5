/** The rules about what sources and documents refer to can fail. */
import { citations, references, sections, settingsAmong } from './documents.js';
import { accepts, finds } from './verdicts.js';

/** Put together here, since the rule reads this file too. */
const cite = (...pieces: string[]) => pieces.join('');

describe('architecture: citations can be of nothing', () => {
  it('when a document is cited that is not in the repository', () => {
    const cited = [
      cite('(design', ', sect', 'ion 9)'), cite('(interface', ', Orderbook)'), cite('the interface', '\'s limits'), cite('as interface', '.md has it'),
      cite('as the', ' design says'), cite('Interface', ', Limits'), cite('see sect', 'ion 7'),
    ];
    for (const text of cited) {
      finds(citations, { 'query/a.ts': `/** A. */\n// ${text}.` }, /^query\/a\.ts:2 cites ".*", which is not in the repository/);
      finds(citations, { 'docs/a.md': `${text}.` }, /^docs\/a\.md:1 cites/);
    }
    accepts(citations, { 'query/a.ts': `import { ${cite('Interface', ', ZeroHash')} } from "ethers";\n// The interface of the oracle, and its design.` });
  });

  it('when a link or a path leads nowhere', () => {
    const files = { 'docs/chain.md': '# Chain\n## How it works\n', 'engine/rules/decide.ts': '' };
    for (const [path, text] of [
      ['README.md', '[chain](docs/chains.md)'], ['README.md', '`engine/rules/evolve.ts`'], ['docs/a.md', '[chain](docs/chain.md)'], ['README.md', 'in `engine/book/`'],
      ['README.md', '`engine/evolve*.ts`'], ['engine/rules/decide.ts', '/** As docs/rules.md says. */'], ['engine/rules/decide.ts', '/**\n * See engine/gone.ts. */'],
    ] as const) finds(references, { ...files, [path]: text }, /refers to .*, which does not exist/);
    finds(references, { ...files, 'README.md': '[chain](docs/chain.md#how-it-fails)' }, /docs\/chain\.md has no such heading/);
    finds(references, { ...files, 'docs/chain.md': '# Chain\n[below](#how-it-fails)' }, /docs\/chain\.md has no such heading/);
    accepts(references, {
      ...files, 'README.md': '[chain](docs/chain.md#how-it-works), `engine/rules/decide*.ts`, `engine/`, [elsewhere](https://example.org/docs/a.md), `GET /query/a.ts`',
      'docs/a.md': '[chain](chain.md), [root](../README.md)', 'engine/rules/evolve.ts': '/** As docs/chain.md says. */\nconst path = "docs/none.md";',
    });
  });

  it('when a section is cited that a document does not have', () => {
    const files = { 'docs/chain.md': '# Chain\n## Facts\n' };
    finds(sections, { ...files, 'engine/a.ts': `/** docs/chain.md, ${'"'}Digest". */` }, /^engine\/a\.ts:1 cites "Digest" of docs\/chain\.md/);
    accepts(sections, { ...files, 'engine/a.ts': `/** docs/chain.md, ${'"'}Facts". */` });
  });

  it('when a setting is named that is none', () => {
    const known = settingsAmong(['DATA_DIR', 'PORT'], ['DATA_FOLDER']);
    finds(known, { 'README.md': 'the data is in `DATA_DIRECTORY`' }, /^README\.md:1 names DATA_DIRECTORY, which is no setting/);
    finds(known, { 'docs/a.md': '`DATA_FOLDER`', 'service/a.ts': 'const removed = { DATA_FOLDER: "it is DATA_DIR" };' }, /names DATA_FOLDER/);
    finds(known, { 'docs/a.md': '`PORTS=80 npm start`' }, /names PORTS/);
    accepts(known, { 'docs/a.md': '`PORT=80`, `DATA_DIR`, `SEED_OF_TEST`, YES/NO', 'test/a.ts': 'const seed = process.env["SEED_OF_TEST"];' });
  });
});
