/** The script of the page. All that it shows comes with the page; texts go in as text, never as HTML. */
import { createCharts } from './charts.ts';
import { createMatrices } from './matrix.ts';
import { element, readData, readRows } from './page-data.ts';
import { createPolicies } from './policies.ts';
import { createRowsTable, type RowsTable } from './rows-table.ts';
import type { Chip } from './selection.ts';

async function start(): Promise<void> {
  const data = readData();
  for (const each of document.querySelectorAll<HTMLElement>('.needs-script')) each.hidden = false;
  let table: RowsTable | undefined;
  const rows = readRows(data.rows.count).then((read) => (table = createRowsTable(data.rows, read)));
  const show = (chips: readonly Chip[]): void => void rows.then((ready) => (table ?? ready).show(chips));
  createMatrices(data, show);
  createPolicies(data, show);
  const charts = createCharts(data, show);
  createTheme(charts.draw);
  await rows;
  document.documentElement.dataset['ready'] = String(Math.round(performance.now()));
}

/** Of the system, until the reader chooses. */
function createTheme(onChange: () => void): void {
  const button = element('theme');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const root = document.documentElement;
  let isDark = dark.matches;
  const set = (next: boolean): void => {
    isDark = next;
    root.dataset['theme'] = isDark ? 'dark' : 'light';
    button.textContent = isDark ? 'Light' : 'Dark';
    onChange();
  };
  button.hidden = false;
  button.textContent = isDark ? 'Light' : 'Dark';
  button.addEventListener('click', () => set(!isDark));
  dark.addEventListener('change', ({ matches }) => set(matches));
  // Paper is white.
  let before = isDark;
  addEventListener('beforeprint', () => {
    before = isDark;
    if (isDark) set(false);
  });
  addEventListener('afterprint', () => {
    if (before !== isDark) set(before);
  });
}

void start();
