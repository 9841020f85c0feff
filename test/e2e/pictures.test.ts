import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';

/** One text of a picture as the browser lays it out, in the units of its view box. */
interface Laid {
  readonly text: string;
  /** Characters that the browser shows: it leaves out white space that is not preserved. */
  readonly shown: number;
  readonly left: number;
  readonly right: number;
  /** The room of the box that the text belongs to, or of the picture. */
  readonly room: readonly [left: number, right: number];
}

const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-pictures-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs in the browser. */
const measure = `
  const svg = document.querySelector('svg');
  const { x, width } = svg.viewBox.baseVal;
  const laid = [...svg.querySelectorAll('text')].map((text) => {
    const { x: start, width: length } = text.getBBox();
    const left = start + (text.transform.baseVal.consolidate()?.matrix.e ?? 0);
    const box = text.closest('.box')?.querySelector('rect').getBBox() ?? { x, width };
    return { text: text.textContent, shown: text.getNumberOfChars(), left, right: left + length, room: [box.x, box.x + box.width] };
  });
  document.body.textContent = JSON.stringify(laid);
`;

async function layOut(picture: string): Promise<readonly Laid[]> {
  const svg = readFileSync(join(import.meta.dirname, '../../docs', picture), 'utf8');
  const page = join(folder, `${basename(picture)}.html`);
  writeFileSync(page, `<!doctype html><meta charset="utf-8"><body>${svg}<script>${measure}</script></body>`);
  const args = ['--no-sandbox', '--disable-gpu', `--user-data-dir=${join(folder, 'profile')}`, '--dump-dom'];
  const { stdout } = await promisify(execFile)('chromium-headless-shell', [...args, pathToFileURL(page).href]);
  const [, body = ''] = /<body>(\[.*\])<\/body>/s.exec(stdout) ?? [];
  const json = body.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  return JSON.parse(json) as Laid[];
}

test.each(['picture.svg', 'architecture.svg', 'simulation/conflict.svg', 'simulation/api-away.svg'])(
  'Chromium shows docs/%s with each text inside its box',
  async (picture) => {
    const laid = await layOut(picture);
    expect(laid.length).toBeGreaterThan(10);
    expect(laid.filter(({ left, right, room }) => left < room[0] || right > room[1])).toEqual([]);
  },
);

test('Chromium keeps the columns of docs/picture.svg: no space is left out', async () => {
  const laid = await layOut('picture.svg');
  expect(laid.filter(({ text }) => /^ {2}/.test(text)).length).toBeGreaterThan(5);
  expect(laid.filter(({ text, shown }) => shown !== text.length)).toEqual([]);
});
