/** Light or dark: as the system says, until somebody says otherwise. */
import { effect, signal } from '@preact/signals';

const KEPT = 'theme';
const THEMES = ['system', 'light', 'dark'] as const;

type Theme = (typeof THEMES)[number];

const theme = signal<Theme>(kept());

/** True while the page is dark, whoever has said so. Charts draw their own colours by it. */
export const isDark = signal(false);

const system = matchMedia('(prefers-color-scheme: dark)');
system.addEventListener('change', apply);

effect(() => {
  const { documentElement } = document;
  if (theme.value === 'system') delete documentElement.dataset['theme'];
  else documentElement.dataset['theme'] = theme.value;
  apply();
});

export function ThemeSwitch() {
  return (
    <select
      class="theme" aria-label="Colours" value={theme.value}
      onChange={({ currentTarget: { value } }) => { choose(value as Theme); }}
    >
      <option value="system">Auto</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}

function choose(chosen: Theme): void {
  theme.value = chosen;
  try {
    localStorage.setItem(KEPT, chosen);
  } catch {
    // A browser that keeps nothing: the choice holds until the page is closed.
  }
}

function apply(): void {
  isDark.value = theme.peek() === 'dark' || (theme.peek() === 'system' && system.matches);
}

function kept(): Theme {
  try {
    return THEMES.find((each) => each === localStorage.getItem(KEPT)) ?? 'system';
  } catch {
    return 'system';
  }
}
