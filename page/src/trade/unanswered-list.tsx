/** The requests whose outcome nobody knows yet, and what was answered late. */
import { shownClock } from '../time.js';
import { asking, askAgain, dropLateAnswer, dropUnanswered, lateAnswers, unanswered } from './unanswered.js';

export function UnansweredList() {
  const [open, answers] = [unanswered.value, lateAnswers.value];
  return (
    <div class="stack" role="status" aria-live="polite">
      {open.map((entry) => (
        <p key={entry.id} class="notice">
          {entry.what} ({shownClock(Math.floor(entry.sinceMs / 1_000))}): no answer yet. It may have been carried out.{' '}
          {asking.value.has(entry.id)
            ? 'Asking again…'
            : <button type="button" class="plain" onClick={() => { void askAgain(entry); }}>Ask again</button>}{' '}
          <button type="button" class="plain" onClick={() => { dropUnanswered(entry); }}>Stop asking</button>
        </p>
      ))}
      {answers.map((answer) => (
        <p key={answer.id} class={answer.status === 'done' ? 'success' : 'refusal'}>
          {answer.what}: {answer.words}{' '}
          <button type="button" class="plain" onClick={() => { dropLateAnswer(answer); }}>Close</button>
        </p>
      ))}
    </div>
  );
}
