/** Decides the history again in the browser, with the matching engine itself, and compares it with what the chain has anchored. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { configuration } from '../exchange.js';
import type { AnchorSource } from './anchors.js';
import type { Verification, VerifyProgress } from './verifier.js';
import type { FromVerifier, ToVerifier } from './verify.worker.js';

const ANCHORS_SKIPPED = 'The chain was not asked: no node URL was given.';

const running = signal(false);
const progress = signal<VerifyProgress | undefined>(undefined);
const result = signal<Verification | undefined>(undefined);
const fault = signal('');
const nodeUrl = signal('');
const contract = signal('');
const chain = signal('');
/** Up to where this browser has verified before. */
const verified = signal(0);
const isFromCheckpoint = signal(true);

let worker: Worker | undefined;

function workerOfPage(): Worker {
  if (worker !== undefined) return worker;
  const made = new Worker(new URL('./verify.worker.ts', import.meta.url), { type: 'module' });
  made.addEventListener('message', ({ data }: MessageEvent<FromVerifier>) => {
    switch (data.kind) {
      case 'checkpoint':
        verified.value = data.records;
        break;
      case 'progress':
        progress.value = data.progress;
        break;
      case 'result':
        result.value = data.result;
        running.value = false;
    }
  });
  made.addEventListener('error', ({ message }) => {
    fault.value = `The verification has failed: ${message || 'its script could not be loaded'}`;
    running.value = false;
    forget();
  });
  return worker = made;
}

function forget(): void {
  worker?.terminate();
  worker = undefined;
}

const say = (message: ToVerifier): void => { workerOfPage().postMessage(message); };

function begin(event: Event): void {
  event.preventDefault();
  fault.value = '';
  result.value = undefined;
  running.value = true;
  say({ kind: 'run', anchors: anchorSource(), isFromCheckpoint: isFromCheckpoint.value && verified.value > 0 });
}

function beginAnew(): void {
  forget();
  progress.value = undefined;
  result.value = undefined;
  running.value = false;
  say({ kind: 'look' });
}

function anchorSource(): AnchorSource | undefined {
  const url = nodeUrl.value.trim();
  const [first] = configuration.value?.chains ?? [];
  if (url === '') return undefined;
  return { nodeUrl: url, chainId: Number(chain.value || first?.chainId), contract: contract.value || String(first?.contracts.settlement) };
}

export function Verify() {
  useEffect(() => {
    if (worker === undefined) say({ kind: 'look' });
  }, []);
  const [first] = configuration.value?.chains ?? [];
  const hasBegun = progress.value !== undefined || result.value !== undefined || running.value;
  return (
    <>
      <h1>Verify</h1>
      <p>
        This browser reads the whole history from position 0 and decides every command again, with the matching engine
        that the exchange runs. Each outcome and digest has to be the same.
        Signatures are not checked here; <code>npm run audit</code> checks them, too.
        Where you stop, you can go on: this browser keeps how far it has come.
      </p>
      <form class="panel stack" onSubmit={begin}>
        <label class="field">
          Your own node of the chain (JSON-RPC URL); without one, anchors are not compared
          <input name="node" value={nodeUrl.value} disabled={hasBegun} placeholder="https://" onInput={(event) => { nodeUrl.value = event.currentTarget.value; }} />
        </label>
        <label class="field">
          Settlement contract: compare what the exchange names with what you know from elsewhere
          <input name="contract" class="mono" value={contract.value} disabled={hasBegun} placeholder={first?.contracts.settlement ?? ''} onInput={(event) => { contract.value = event.currentTarget.value; }} />
        </label>
        <label class="field">
          Chain
          <input name="chain" value={chain.value} disabled={hasBegun} placeholder={String(first?.chainId ?? '')} onInput={(event) => { chain.value = event.currentTarget.value; }} />
        </label>
        {verified.value > 0 && !hasBegun && <BeginsAt />}
        <div class="row">
          <button class="primary" type="submit" disabled={running.value}>{hasBegun ? 'Go on' : 'Verify'}</button>
          <button type="button" disabled={!running.value} onClick={() => { say({ kind: 'stop' }); }}>Stop</button>
          <button type="button" disabled={running.value || !hasBegun} onClick={beginAnew}>Begin anew</button>
        </div>
      </form>
      <Progress />
      {fault.value === '' ? null : <p class="refusal" role="alert">{fault.value}</p>}
      <Result />
    </>
  );
}

function BeginsAt() {
  const take = (value: string): void => { isFromCheckpoint.value = value === 'checkpoint'; };
  return (
    <label class="field">
      Begin at; this browser has verified {verified.value} records before, and looks whether the history still has them
      <select name="from" value={isFromCheckpoint.value ? 'checkpoint' : 'start'} onChange={(event) => { take(event.currentTarget.value); }}>
        <option value="checkpoint">position {verified.value}</option>
        <option value="start">position 0</option>
      </select>
    </label>
  );
}

function Progress() {
  const now = progress.value;
  if (now === undefined || !running.value) return null;
  return (
    <p>
      <progress aria-label="Records decided again" max={now.newest + 1} value={now.records} />
      {now.records} of {now.newest + 1} records, {now.recordsPerSecond} per second
    </p>
  );
}

const VERDICTS: Readonly<Record<Verification['verdict'], string>> = {
  verified: 'Verified: every outcome and digest is what the engine decides.', differs: 'The history differs from what was decided again.',
  failed: 'Not verified: the history or the chain could not be read whole.', stopped: 'Stopped.',
};

function Result() {
  const found = result.value;
  if (found === undefined) return null;
  const { verdict, difference } = found;
  return (
    <section class="panel stack" aria-label="Result">
      <p class={verdict === 'verified' ? 'success' : verdict === 'stopped' ? 'notice' : 'refusal'} role="status" data-verdict={verdict}>{VERDICTS[verdict]}</p>
      <dl class="facts">
        <dt>Records that agree</dt><dd>{found.records}</dd>
        {found.from > 0 && <dt>Verified before by this browser</dt>}
        {found.from > 0 && <dd data-from>{found.from} of them; the chain's anchors among them were not compared again</dd>}
        <dt>Digest after them</dt><dd class="mono">{found.digest}</dd>
        <dt>Records per second</dt><dd>{found.recordsPerSecond}</dd>
        <dt>Anchors that agree</dt><dd data-anchors>{typeof found.anchors === 'number' ? found.anchors : found.anchors.startsWith('skipped') ? ANCHORS_SKIPPED : found.anchors}</dd>
        {found.error === undefined ? null : <><dt>Error</dt><dd>{found.error}</dd></>}
        {difference === undefined
          ? null
          : (
              <>
                <dt>First difference</dt><dd><a href={`#/history/${difference.position}`}>position {difference.position}</a>, {difference.field}</dd>
                <dt>Expected</dt><dd class="mono">{difference.expected}</dd>
                <dt>Got</dt><dd class="mono">{difference.got}</dd>
              </>
            )}
      </dl>
      <div><button type="button" onClick={() => { download(found); }}>Download as JSON</button></div>
    </section>
  );
}

function download(found: Verification): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify({ exchange: location.origin, ...found }, null, 2)], { type: 'application/json' }));
  Object.assign(document.createElement('a'), { href: url, download: 'verification.json' }).click();
  URL.revokeObjectURL(url);
}
