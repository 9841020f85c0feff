import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowser } from './report/browser.ts';

/** One text of a picture as the browser lays it out, in the units of its view box. */
interface Laid {
  readonly text: string;
  /** The number of characters that the browser shows: it leaves out white space that is not preserved. */
  readonly shown: number;
  readonly left: number;
  readonly right: number;
  /** The horizontal space of the box that the text belongs to, or of the picture. */
  readonly room: readonly [left: number, right: number];
}

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

/** Runs in the browser. */
const measure = `
  (() => {
    const svg = document.querySelector('svg');
    const { x, width } = svg.viewBox.baseVal;
    return [...svg.querySelectorAll('text')].map((text) => {
      const { x: left, width: length } = text.getBBox();
      const box = text.closest('.box')?.querySelector('rect').getBBox() ?? { x, width };
      return { text: text.textContent, shown: text.getNumberOfChars(), left, right: left + length, room: [box.x, box.x + box.width] };
    });
  })()`;

async function layOut(picture: string): Promise<readonly Laid[]> {
  const page = await browser.newPage();
  await page.goto(pathToFileURL(join(import.meta.dirname, '../../docs', picture)).href);
  const laid: Laid[] = await page.evaluate(measure);
  await page.close();
  return laid;
}

test.each(['picture.svg', 'architecture.svg'])(
  'Chromium shows docs/%s with each text inside its box',
  async (picture) => {
    const laid = await layOut(picture);
    expect(laid.length).toBeGreaterThan(10);
    expect(laid.filter(({ left, right, room }) => left < room[0] || right > room[1])).toEqual([]);
  },
);

test('Chromium keeps the columns of docs/picture.svg: every space is there', async () => {
  const laid = await layOut('picture.svg');
  expect(laid.filter(({ text }) => /^ {2}/.test(text)).length).toBeGreaterThan(5);
  expect(laid.filter(({ text, shown }) => shown !== text.length)).toEqual([]);
});
