/** A field for a price, a size or an amount, which says what is wrong with what is typed. */
import type { AmountInput } from '../orders/amount-input.js';

interface AmountFieldProps {
  readonly id: string;
  readonly label: string;
  readonly text: { value: string };
  readonly input: AmountInput;
}

export function AmountField({ id, label, text, input }: AmountFieldProps) {
  const isFaulty = input.kind === 'fault';
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id} class="number" inputMode="decimal" autoComplete="off" maxLength={30} value={text.value} aria-invalid={isFaulty}
        aria-describedby={`${id}-fault`} onInput={({ currentTarget }) => { text.value = currentTarget.value; }}
      />
      <span id={`${id}-fault`} class="fault" aria-live="polite">{isFaulty ? input.fault : ''}</span>
    </div>
  );
}
