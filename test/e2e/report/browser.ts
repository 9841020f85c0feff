import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The Chromium of test/programs, with all requests to its maker's servers switched off. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = join(process.env['PATH'] ?? '', 'chromium-headless-shell');
  const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'];
  return await chromium.launch({ executablePath, args });
}

export interface Opened {
  page: Page;
  /**
   * The requests of the page other than for itself, its writes to the console, its exceptions, and refusals by its
   * Content-Security-Policy.
   */
  events: string[];
  close: () => Promise<void>;
}

/** Opens a page from the disk. With JavaScript, it resolves once the page is ready. */
export async function openPage(browser: Browser, file: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const events: string[] = [];
  const { href } = pathToFileURL(file);
  page.on('request', (request) => request.url().split('#')[0] === href || events.push(`request ${request.url()}`));
  page.on('console', (message) => events.push(`console ${message.text()}`));
  page.on('pageerror', (error) => events.push(`error ${error.message}`));
  page.on('dialog', (dialog) => {
    events.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(href);
  if (options.javaScriptEnabled !== false) await page.locator('html[data-ready]').waitFor({ state: 'attached' });
  return { page, events, close: () => context.close() };
}

/** Returns the findings of axe-core: the rule and the element. */
export async function barriersIn(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const found: { violations: { id: string; nodes: { target: string[] }[] }[] } = await page.evaluate('axe.run()');
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id} ${target.join(' ')}`));
}
