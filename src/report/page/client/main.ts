/** The script of the page. All that it shows comes with the page; texts go in as text, never as HTML. */
import { createCharts } from './charts.ts';
import { type Chip, element, readData, readRows } from './records.ts';
import { createRowsTable } from './rows-table.ts';
import { createMatrices, createPolicies } from './tables.ts';

async function start(): Promise<void> {
  const data = readData();
  for (const each of document.querySelectorAll<HTMLElement>('.needs-script')) each.hidden = false;
  const table = readRows(data.rows.count).then((rows) => createRowsTable(data.rows, rows));
  const show = (chips: readonly Chip[]): void => void table.then((showRows) => showRows(chips));
  createMatrices(data, show);
  createPolicies(data, show);
  createTheme(createCharts(data, show));
  await table;
  document.documentElement.dataset['ready'] = String(Math.round(performance.now()));
}

/** The theme is the system's, until the reader chooses; paper is white. */
function createTheme(onChange: () => void): void {
  const button = element('theme');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let isDark = dark.matches;
  let isPrinted = false;
  const set = (): void => {
    document.documentElement.dataset['theme'] = isDark && !isPrinted ? 'dark' : 'light';
    button.textContent = isDark ? 'Light' : 'Dark';
    onChange();
  };
  const choose = (next: boolean): void => {
    isDark = next;
    set();
  };
  const print = (next: boolean): void => {
    isPrinted = next;
    if (isDark) set();
  };
  button.hidden = false;
  button.textContent = isDark ? 'Light' : 'Dark';
  button.addEventListener('click', () => choose(!isDark));
  dark.addEventListener('change', ({ matches }) => choose(matches));
  addEventListener('beforeprint', () => print(true));
  addEventListener('afterprint', () => print(false));
}

void start();
