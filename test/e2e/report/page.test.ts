/** The page of `report` in a real Chromium. Pictures of it are left in artifacts/. */
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostileRows, linesOf, row } from '../../cli/report/scene.ts';
import { createOwnFolder } from '../own-folder.ts';
import { runBundle } from '../bundle.ts';
import { until } from '../until.ts';
import { barriersIn, type Opened, openBrowser, openPage } from './browser.ts';
import { writeRows } from './rows.ts';

const artifacts = join(import.meta.dirname, '../../../artifacts');
const folder = createOwnFolder('report');
let browser: Browser;

beforeAll(async () => {
  mkdirSync(artifacts, { recursive: true });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

const written = (name: string): string => join(folder, name);

/** Writes the page about these rows. */
async function makePage(name: string, args: readonly string[]): Promise<string> {
  const { stdout } = await runBundle(['report', ...args]);
  writeFileSync(written(name), stdout);
  return written(name);
}

async function withPage(
  file: string,
  look: (opened: Opened) => Promise<void>,
  options?: Parameters<typeof openPage>[2],
): Promise<void> {
  const opened = await openPage(browser, file, options);
  try {
    await look(opened);
    expect(opened.events).toEqual([]);
  } finally {
    await opened.close();
  }
}

const shownRows = (page: Page): Promise<string[][]> =>
  page
    .locator('#rows-table tbody tr')
    .evaluateAll((rows) => rows.map((each) => [...each.querySelectorAll('td')].map((cell) => cell.textContent)));

const countOf = async (page: Page): Promise<number> =>
  Number((/^[\d,]+/.exec((await page.locator('#rows-text').textContent()) ?? '')?.[0] ?? '').replaceAll(',', ''));

/** Resolves once the table shows the right number of rows. */
async function counted(page: Page, isRight: (count: number) => boolean): Promise<number> {
  let count = 0;
  const look = async (): Promise<boolean> => isRight((count = await countOf(page)));
  await until(look, () => `the table has ${count} records`, 30_000);
  return count;
}

/**
 * Writes the page about this many rows. The page is at most 3 MB, opens without a request, and breaks no rule of its
 * policy.
 */
async function pageOn(name: string, count: number): Promise<string> {
  writeRows(written(`${name}.ndjson`), count);
  writeRows(written('before.ndjson'), 80);
  const file = await makePage(`${name}.html`, ['--baseline', written('before.ndjson'), written(`${name}.ndjson`)]);
  rmSync(written(`${name}.ndjson`));
  expect(statSync(file).size).toBeLessThanOrEqual(3_000_000);
  await withPage(file, async ({ page }) => {
    const ready = await page.locator('html').getAttribute('data-ready');
    writeFileSync(join(artifacts, `report-${name}.txt`), `${statSync(file).size} bytes, ready after ${ready} ms\n`);
    await page.screenshot({ path: join(artifacts, `report-${name}-light.png`), fullPage: true });
    expect(await page.locator('.time-line.wide .interval').count()).toBeGreaterThan(1);
    await counted(page, (each) => each > 90);
  });
  return file;
}

test('a page on more rows than it has room for has at most 3 MB, opens without a request, and breaks no rule of its policy', async () => {
  await pageOn('210k', 210_000);
}, 1_200_000);

describe('a page on 100 rows', () => {
  let file: string;

  beforeAll(async () => {
    file = await pageOn('100', 100);
  });

  test('shows the records of a clicked cell, and all records again without the condition', async () => {
    await withPage(file, async ({ page }) => {
      const all = await counted(page, (each) => each > 0);
      const [from, to] = [
        page.locator('#matrix-namespaces tbody th').first(),
        page.locator('#matrix-namespaces thead th').first(),
      ];
      await page.locator('#matrix-namespaces tbody td').first().click();
      expect(await page.locator('#chips button').count()).toBe(2);
      const some = await counted(page, (found) => found < all);
      expect(some).toBeGreaterThan(0);
      const names = [await from.textContent(), await to.textContent()];
      for (const [, , source = '', , destination = ''] of await shownRows(page)) {
        if (names[0] !== '(external)') expect(source).toContain(` ${names[0]}/`);
        expect(destination).toContain(` ${names[1]}/`);
      }
      for (const _ of [1, 2]) await page.locator('#chips button').first().click();
      await counted(page, (found) => found === all);
    });
  });

  test('shows the records of a clicked policy beside those of a cell, and those of a chosen policy', async () => {
    await withPage(file, async ({ page }) => {
      const all = await counted(page, (each) => each > 0);
      const first = page.locator('#policies tbody tr').first();
      const [policy, verdict] = await first.locator('td').allTextContents();
      await first.getByRole('button').click();
      const some = await counted(page, (found) => found < all);
      expect(some).toBeGreaterThan(0);
      const verdicts = (await shownRows(page)).map((cells) => cells[9]);
      expect(new Set(verdicts)).toEqual(new Set([verdict]));
      await page.locator('#policies').screenshot({ path: join(artifacts, 'report-100-policies.png') });
      await page.locator('#matrix-namespaces tbody td:not(:empty)').first().click();
      expect(await page.locator('#chips button').count()).toBe(4);
      for (const _ of [1, 2, 3, 4]) await page.locator('#chips button').first().click();
      await counted(page, (found) => found === all);
      await page.selectOption('#policy', policy ?? '');
      await page.selectOption('#verdict', verdict ?? '');
      await counted(page, (found) => found === some);
    });
  });

  test('can be used with the keyboard: tabs, the matrix and its records', async () => {
    await withPage(file, async ({ page }) => {
      const all = await counted(page, (each) => each > 0);
      await page.locator('#show-workloads').focus();
      await page.keyboard.press('Enter');
      expect(await page.locator('#matrix-workloads').isVisible()).toBe(true);
      expect(await page.locator('#matrix-namespaces').isVisible()).toBe(false);
      await page.keyboard.press('Tab');
      const focused = page.locator('#matrix-workloads td:focus');
      expect(await focused.count()).toBe(1);
      for (const key of ['ArrowRight', 'ArrowDown', 'End', 'PageDown', 'Home', 'PageUp'])
        await page.keyboard.press(key);
      expect(await page.locator('#matrix-workloads td[tabindex="0"]').count()).toBe(1);
      const cellsOfFirst = page.locator('#matrix-workloads tbody tr').first().locator('td');
      const filled = await cellsOfFirst.evaluateAll((cells) => cells.findIndex((cell) => cell.textContent !== ''));
      for (let step = 0; step < filled; step++) await page.keyboard.press('ArrowRight');
      await page.keyboard.press('Enter');
      expect(await page.locator('#chips button').count()).toBe(2);
      expect(await counted(page, (each) => each < all)).toBeGreaterThan(0);
    });
  });

  test('can be searched, filtered and sorted', async () => {
    await withPage(file, async ({ page }) => {
      const all = await counted(page, (each) => each > 0);
      await page.fill('#search', 'TCP/5432 payments');
      const found = await counted(page, (each) => each < all);
      const rows = await shownRows(page);
      expect(rows.length).toBe(Math.min(50, found));
      expect(rows.every((cells) => cells.join(' ').includes('payments') && cells.includes('tcp/5432'))).toBe(true);
      await page.fill('#search', '');
      await counted(page, (each) => each === all);
      await page.selectOption('#outcome', 'rejected');
      await counted(page, (each) => each < all);
      expect(new Set((await shownRows(page)).map(([, outcome]) => outcome))).toEqual(new Set(['rejected']));
      await page.getByRole('button', { name: 'Packets', exact: true }).click();
      expect(await page.locator('#rows-table [aria-sort="ascending"]').textContent()).toBe('Packets');
      const packets = (await shownRows(page)).map((cells) => Number(cells[7]?.replaceAll(',', '')));
      expect(packets).toEqual(packets.toSorted((a, b) => a - b));
      await page.fill('#search', 'no such name');
      await counted(page, (each) => each === 0);
      expect(await shownRows(page)).toEqual([]);
    });
  });

  test('is dark if the system is, otherwise light; axe reports nothing in either', async () => {
    await withPage(
      file,
      async ({ page }) => {
        const luminance = (): Promise<number> =>
          page.evaluate(`Number(/\\d+/.exec(getComputedStyle(document.body).backgroundColor)[0])`);
        expect(await luminance()).toBeLessThan(60);
        await page.screenshot({ path: join(artifacts, 'report-100-dark.png'), fullPage: true });
        expect(await barriersIn(page)).toEqual([]);
        await page.emulateMedia({ colorScheme: 'light' });
        expect(await luminance()).toBeGreaterThan(200);
        await page.locator('#show-workloads').click();
        expect(await barriersIn(page)).toEqual([]);
      },
      { colorScheme: 'dark' },
    );
  });

  test('is as wide as a phone, has no text below 10 px, and shows messages without scrolling sideways', async () => {
    const events = written('events.json');
    writeFileSync(events, JSON.stringify(longEvent));
    const rows = written('telephone.ndjson');
    writeFileSync(rows, linesOf([row(0), row(1, { 'event.id': 'other' })]));
    const page = await makePage('telephone.html', ['--events', events, rows]);
    for (const each of [file, page])
      await withPage(
        each,
        async ({ page: shown }) => {
          await shown.screenshot({ path: join(artifacts, 'report-telephone.png'), fullPage: true });
          expect(await shown.evaluate('document.documentElement.scrollWidth')).toBe(390);
          expect(await shown.evaluate(smallTexts)).toEqual([]);
          expect(await shown.evaluate(widerThanTheirRegion)).toEqual([]);
          expect(await barriersIn(shown)).toEqual([]);
        },
        { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
      );
  });

  test('prints its lists and matrices, without controls and records', async () => {
    await withPage(file, async ({ page }) => {
      const pdf = await page.pdf({ path: join(artifacts, 'report-100.pdf'), format: 'A4' });
      expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
      expect(pdf.length).toBeGreaterThan(20_000);
      await page.emulateMedia({ media: 'print' });
      const isVisible = (selector: string): Promise<boolean> => page.locator(selector).isVisible();
      expect(await Promise.all(['#summary', '#top', '#matrix-namespaces'].map(isVisible))).toEqual([true, true, true]);
      expect(await Promise.all(['nav', '#rows'].map(isVisible))).toEqual([false, false]);
    });
  });

  test('has summary, matrices and lists without JavaScript', async () => {
    await withPage(
      file,
      async ({ page }) => {
        const texts = await page.locator('h2:visible, h3:visible').allTextContents();
        expect(texts.map((text) => text.replace(/ \d+$/, ''))).toEqual(
          expect.arrayContaining([
            'Summary',
            'Time line',
            'Who to whom',
            'New since the baseline',
            'Most packets',
            'By policy',
            'Sources',
            'Gaps',
          ]),
        );
        expect(texts).not.toContain('Records');
        expect(await page.locator('#matrix-workloads').isVisible()).toBe(true);
        expect(await page.locator('#appeared tbody tr').count()).toBeGreaterThan(0);
        expect(await page.locator('#policies tbody tr').count()).toBeGreaterThan(0);
        expect(await barriersOfStatic(page)).toEqual([]);
        await page.screenshot({ path: join(artifacts, 'report-100-static.png'), fullPage: true });
      },
      { javaScriptEnabled: false },
    );
  });
});

const longEvent = {
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'a', namespace: 'shop' },
  involvedObject: { kind: 'Pod', namespace: 'shop', name: 'postgres-0' },
  reason: 'PacketDrop',
  message: 'Packet dropped when receiving traffic '.repeat(12),
  type: 'Warning',
  count: 3,
  firstTimestamp: '2026-11-20T09:00:00Z',
  lastTimestamp: '2026-11-20T09:01:00Z',
  source: { component: 'kube-netfilter-tailer' },
};

/** Runs in the browser: finds shown texts smaller than 10 px. The texts of an SVG shrink with it. */
const smallTexts = `
  [...document.querySelectorAll('body *')].flatMap((each) => {
    const isText = [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== '');
    if (!isText || each.getClientRects().length === 0) return [];
    const svg = each.ownerSVGElement;
    const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    const size = Number.parseFloat(getComputedStyle(each).fontSize) * scale;
    return size < 10 ? [each.textContent.slice(0, 30) + ' ' + size] : [];
  })`;

/** Runs in the browser: finds tables that have to be scrolled sideways. Only the matrix may be. */
const widerThanTheirRegion = `
  [...document.querySelectorAll('.scroll:not(.matrix)')]
    .filter((each) => each.scrollWidth > each.clientWidth + 1)
    .map((each) => each.getAttribute('aria-label'))`;

/** axe does not run without JavaScript either. Controls that do nothing must not be shown. */
async function barriersOfStatic(page: Page): Promise<string[]> {
  return await page.locator('button:visible, input:visible, select:visible').allTextContents();
}

test('a page without rows says so in each section, and axe reports nothing', async () => {
  writeFileSync(written('none.ndjson'), linesOf([row(0)]));
  const args = ['--policy', 'shop/no-such-policy', written('none.ndjson')];
  await withPage(await makePage('none.html', args), async ({ page }) => {
    expect(await page.locator('.empty:visible').count()).toBeGreaterThan(7);
    expect(await barriersIn(page)).toEqual([]);
    await page.screenshot({ path: join(artifacts, 'report-none.png'), fullPage: true });
  });
});

test('names that are markup, scripts or styles are shown literally, and nothing runs', async () => {
  writeFileSync(written('hostile.ndjson'), linesOf([...hostileRows(), row(900)]));
  await withPage(await makePage('hostile.html', [written('hostile.ndjson')]), async ({ page }) => {
    expect(await page.locator('#top').textContent()).toContain('<script>alert(1)</script>');
    await page.fill('#search', '<img src=x');
    await expect.poll(async () => (await shownRows(page)).flat()).toContain('</script><img src=x onerror=alert(1)>');
    const cells = await page.locator('#matrix-namespaces tbody td:not(:empty)').all();
    for (const cell of cells.slice(0, 10)) await cell.click();
    await page.locator('.time-line.wide .interval').last().click();
    expect(await page.locator('img, iframe, script[src]').count()).toBe(0);
  });
});
