/** Shows the single rows that meet the conditions, a page at a time, with Tabulator. */
import {
  AjaxModule,
  FormatModule,
  PageModule,
  ResizeColumnsModule,
  ResizeTableModule,
  SortModule,
  Tabulator,
} from 'tabulator-tables';
import type { PageData, RowColumn } from '../row-format.ts';
import {
  type Chip,
  choices,
  type Conditions,
  element,
  namesIn,
  numberText,
  type Rows,
  selectRows,
  sortRows,
} from './records.ts';

Tabulator.registerModule([AjaxModule, FormatModule, PageModule, ResizeColumnsModule, ResizeTableModule, SortModule]);

interface Request {
  page: number;
  size: number;
  sort?: { field: RowColumn; dir: 'asc' | 'desc' }[];
}

const pageSize = 50;

/** The kind of each condition. A new condition replaces those of the same kind. */
const kindOf = { from: 'pair', to: 'pair', time: 'time', policy: 'policy', verdict: 'policy' } as const;

/** Returns a function that adds conditions and shows the matching rows. */
export function createRowsTable({ count, all }: PageData['rows'], rows: Rows): (chips: readonly Chip[]) => void {
  const conditions: Conditions = { chips: [], search: '', action: '', service: '', policy: '', verdict: '' };
  let [order, selected]: [string, Uint32Array] = ['', new Uint32Array()];

  const answer = ({ page, size, sort }: Request): { last_page: number; data: Record<string, string>[] } => {
    const by = { column: sort?.[0]?.field ?? 'at', isDescending: (sort?.[0]?.dir ?? 'desc') === 'desc' } as const;
    const asked = JSON.stringify([conditions, by]);
    if (asked !== order) {
      selected = selectRows(rows, conditions);
      sortRows(rows, selected, by);
      order = asked;
    }
    const shown = [...selected.subarray((page - 1) * size, page * size)].map((row) => objectOf(rows, row));
    return { last_page: Math.max(1, Math.ceil(selected.length / size)), data: shown };
  };

  const table = new Tabulator('#rows-table', {
    columns: tableColumns,
    layout: 'fitDataStretch',
    placeholder: 'No record meets all conditions.',
    pagination: true,
    paginationMode: 'remote',
    paginationSize: pageSize,
    sortMode: 'remote',
    initialSort: [{ column: 'at', dir: 'desc' }],
    // Tabulator requires an address, but nothing is fetched from it.
    ajaxURL: 'rows',
    ajaxRequestFunc: async (_url, _config, params: Request) => answer(params),
  });
  table.on('tableBuilt', () => arrange());
  table.on('renderComplete', () => {
    arrangeEmpty();

    say(selected.length, count, all);
  });
  const refresh = (): void => void table.setPage(1);
  const drawChips = (): void => {
    element('chips').replaceChildren(
      ...conditions.chips.map((chip) => {
        const button = Object.assign(document.createElement('button'), {
          type: 'button',
          textContent: `${chip.label} ×`,
        });
        button.setAttribute('aria-label', `Remove the condition ${chip.label}`);
        button.addEventListener('click', () => {
          conditions.chips = conditions.chips.filter((each) => each !== chip);
          drawChips();
          refresh();
        });
        return button;
      }),
    );
  };
  listen(rows, conditions, refresh);
  return (chips) => {
    const replaced = new Set(chips.map(({ id }) => kindOf[id]));
    conditions.chips = [...conditions.chips.filter(({ id }) => !replaced.has(kindOf[id])), ...chips];
    drawChips();
    refresh();
    const behavior = matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth';
    element('rows').scrollIntoView({ behavior });
  };
}

/** Corrects Tabulator's ARIA roles, because a grid may contain only rows. */
function arrange(): void {
  const root = element('rows-table');
  root.removeAttribute('aria-owns');
  root.setAttribute('aria-label', 'Records');
  root.querySelector('.tabulator-tableholder')?.setAttribute('role', 'rowgroup');
  root.querySelector('.tabulator-table')?.setAttribute('role', 'presentation');
  const footer = root.querySelector('.tabulator-footer');
  if (footer !== null) root.after(footer);
}

/** Makes the placeholder text a row, because a grid may contain only rows. */
function arrangeEmpty(): void {
  const placeholder = element('rows-table').querySelector('.tabulator-placeholder');
  placeholder?.setAttribute('role', 'row');
  placeholder?.firstElementChild?.setAttribute('role', 'gridcell');
}

const right = { hozAlign: 'right', headerHozAlign: 'right' } as const;
const tableColumns: { title: string; field: RowColumn; hozAlign?: 'right'; headerHozAlign?: 'right' }[] = [
  { title: 'Time (UTC)', field: 'at' },
  { title: 'Outcome', field: 'action' },
  { title: 'Source', field: 'from' },
  { title: 'Source address', field: 'fromAddress' },
  { title: 'Destination', field: 'to' },
  { title: 'Destination address', field: 'toAddress' },
  { title: 'Service', field: 'service' },
  { title: 'Packets', field: 'packets', ...right },
  { title: 'Rule', field: 'rule' },
  { title: 'Verdict', field: 'verdict' },
  { title: 'Node', field: 'node' },
];

function objectOf({ columns, texts }: Rows, row: number): Record<string, string> {
  const names = Object.entries(texts).map(([name, all]) => [name, all[columns[name as RowColumn][row] ?? 0] ?? '']);
  const [at = 0, packets = 0] = [columns.at[row], columns.packets[row]];
  return {
    ...Object.fromEntries(names),
    at: new Date(at).toISOString().slice(0, 19).replace('T', ' '),
    packets: numberText(packets),
  };
}

function say(found: number, count: number, all: number): void {
  const left =
    all > count
      ? ` This page has ${numberText(count)} of ${numberText(all)} records: the latest of each pair, of as many pairs as there is room for. The sums above are of all.`
      : '';
  element('rows-text').textContent = `${numberText(found)} ${found === 1 ? 'record' : 'records'}.${left}`;
}

function listen(rows: Rows, conditions: Conditions, refresh: () => void): void {
  const search = element('search') as HTMLInputElement;
  let timer = 0;
  search.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      conditions.search = search.value;
      refresh();
    }, 150);
  });
  for (const [kind, column] of choices) {
    const select = element(kind === 'action' ? 'outcome' : kind) as HTMLSelectElement;
    const names = new Set(rows.texts[column].flatMap((text) => namesIn(column, text)));
    for (const name of [...names].toSorted().slice(0, 500)) select.add(new Option(name, name));
    select.addEventListener('change', () => {
      conditions[kind] = select.value;
      refresh();
    });
  }
  element('filters').addEventListener('submit', (event) => event.preventDefault());
}
