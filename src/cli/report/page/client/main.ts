/** The script of the page. It shows only the data in the page; texts never become HTML. */
import { type Chip, element, readData, unpackRows, timeText } from './records.ts';
import { createRecordsTable } from './records-table.ts';
import type { MatrixSide, PageData, TextColumn } from '../row-format.ts';

async function start(): Promise<void> {
  const data = readData();
  for (const each of document.querySelectorAll<HTMLElement>('.needs-script')) each.hidden = false;
  const table = unpackRows(data.rows.count).then((rows) => createRecordsTable(data.rows, rows));
  const show: Show = (chips) => void table.then((showRows) => showRows(chips));
  createMatrices(data, show);
  createPolicies(data, show);
  createTimeLine(data, show);
  await table;
  document.documentElement.dataset['ready'] = String(Math.round(performance.now()));
}

type Show = (chips: readonly Chip[]) => void;
type Level = 'namespaces' | 'workloads';
type Columns = readonly [from: TextColumn, to: TextColumn];

const columns: Record<Level, Columns> = { namespaces: ['fromGroup', 'toGroup'], workloads: ['from', 'to'] };

function createMatrices(data: PageData, show: Show): void {
  for (const level of ['namespaces', 'workloads'] as const) {
    const table = document.getElementById(`matrix-${level}`);
    if (table instanceof HTMLTableElement) createGrid(table, data[level], columns[level], show);
    element(`show-${level}`).addEventListener('click', () => showLevel(level));
  }
  showLevel('namespaces');
}

function showLevel(level: Level): void {
  for (const each of ['namespaces', 'workloads'] as const) {
    element(`by-${each}`).hidden = each !== level;
    element(`show-${each}`).setAttribute('aria-pressed', String(each === level));
  }
}

/** Makes a grid: a click or Enter shows the records of a cell, and keys move between cells (roving tabindex, ARIA's grid pattern). */
function createGrid(
  table: HTMLTableElement,
  sides: { from: MatrixSide; to: MatrixSide },
  of: Columns,
  show: Show,
): void {
  const cells = [...(table.tBodies[0]?.rows ?? [])].map((row) => [...row.cells].slice(1));
  table.setAttribute('role', 'grid');
  for (const row of table.rows) row.setAttribute('role', 'row');
  for (const cell of cells.flat()) {
    cell.setAttribute('role', 'gridcell');
    cell.tabIndex = -1;
  }
  let [row, column] = [0, 0];
  const labelOf = (): string => `${nameOf(sides.from, row)} to ${nameOf(sides.to, column)}`;
  const move = (toRow: number, toColumn: number, hasFocus: boolean): void => {
    const next = cells[toRow]?.[toColumn];
    if (next === undefined) return;
    cells[row]?.[column]?.setAttribute('tabindex', '-1');
    [row, column] = [toRow, toColumn];
    next.tabIndex = 0;
    if (hasFocus) next.focus();
    element('cell-text').textContent =
      `${labelOf()}: ${next.textContent === '' ? 'no' : next.textContent} packets. Enter shows the records.`;
  };
  const open = (): void => {
    if (cells[row]?.[column]?.textContent !== '')
      show([chipOf('from', sides.from, row, of[0]), chipOf('to', sides.to, column, of[1])]);
  };
  const last = [cells.length - 1, (cells[0]?.length ?? 1) - 1] as const;
  const moves: Record<string, () => [number, number]> = {
    ArrowUp: () => [Math.max(0, row - 1), column],
    ArrowDown: () => [Math.min(last[0], row + 1), column],
    ArrowLeft: () => [row, Math.max(0, column - 1)],
    ArrowRight: () => [row, Math.min(last[1], column + 1)],
    Home: () => [row, 0],
    End: () => [row, last[1]],
    PageUp: () => [0, column],
    PageDown: () => [last[0], column],
  };
  table.addEventListener('keydown', (event) => {
    const to = moves[event.key]?.();
    if (to !== undefined) move(...to, true);
    else if (event.key === 'Enter' || event.key === ' ') open();
    else return;
    event.preventDefault();
  });
  table.addEventListener('click', ({ target }) => {
    const cell = target instanceof Element ? target.closest('td') : null;
    const place = cells.findIndex((each) => cell !== null && each.includes(cell));
    if (cell === null || place < 0) return;
    move(place, cells[place]?.indexOf(cell) ?? 0, true);
    open();
  });
  move(0, 0, false);
  element('cell-text').textContent = 'Arrow keys move between cells; Enter shows the records of one.';
}

function nameOf({ names }: MatrixSide, place: number): string {
  return names[place] ?? 'all others';
}

function chipOf(id: 'from' | 'to', side: MatrixSide, place: number, column: TextColumn): Chip {
  const name = side.names[place];
  const label = `${id} ${nameOf(side, place)}`;
  return name === undefined
    ? { id, label, column, names: side.names, not: true }
    : { id, label, column, names: [name] };
}

function createTimeLine({ timeLine }: PageData, show: Show): void {
  if (timeLine === undefined) return;
  const { start: begin, step } = timeLine;
  for (const svg of document.querySelectorAll('.time-line'))
    for (const [index, bar] of svg.querySelectorAll('.interval').entries()) {
      const span = [begin + index * step, begin + (index + 1) * step] as const;
      const label = span.map((time) => timeText(time, step)).join(' to ');
      bar.addEventListener('click', () => show([{ id: 'time', label, span }]));
    }
}

function createPolicies({ policies }: PageData, show: Show): void {
  const rows = document.querySelectorAll<HTMLTableRowElement>('#policies tbody tr');
  for (const [place, { policy, verdict }] of policies.entries()) {
    const cell = rows[place]?.cells[0];
    if (cell === undefined) continue;
    const button = Object.assign(document.createElement('button'), { type: 'button', className: 'link' });
    button.append(...cell.childNodes);
    button.title = 'Show the records';
    button.addEventListener('click', () =>
      show([
        { id: 'policy', label: `policy ${policy}`, column: 'policies', names: [policy] },
        { id: 'verdict', label: `verdict ${verdict}`, column: 'verdict', names: [verdict] },
      ]),
    );
    cell.append(button);
  }
}

void start();
