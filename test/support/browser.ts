/**
 * Chromium by playwright-core, with pages that note what they ought not to do: requests elsewhere, violations of their
 * policy, errors.
 */
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { chromiumProgram } from './chromium.js';

export interface WatchedPage {
  readonly page: Page;
  /** What it did that it ought not to, in the order of time. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

export async function openBrowser(): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'];
  return chromium.launch({ executablePath: chromiumProgram(), args });
}

export interface WatchedOptions extends BrowserContextOptions {
  /** Faults that a test brings about itself. */
  readonly isExpected?: (fault: string) => boolean;
}

/** A page in a context of its own. `origin`: where it may send requests. */
export async function openWatched(
  browser: Browser, origin: string, { isExpected = () => false, ...options }: WatchedOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  const note = (fault: string): void => { if (!isExpected(fault)) faults.push(fault); };
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith('data:') && !url.startsWith('blob:')) note(`a request to ${url}`);
  });
  page.on('pageerror', (error) => { note(`an error: ${error.message}`); });
  // Chromium writes violations of a policy, and refused loads, as errors.
  page.on('console', (message) => { if (message.type() === 'error') note(`in the console: ${message.text()}`); });
  return { page, faults, close: () => context.close() };
}
