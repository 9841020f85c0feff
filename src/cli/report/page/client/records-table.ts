/** Shows the single records that meet the conditions, a page at a time. */
import type { PageData, RowColumn } from '../row-format.ts';
import {
  type Chip,
  choices,
  type Conditions,
  element,
  namesIn,
  numberText,
  type Order,
  type Rows,
  selectRows,
  sortRows,
} from './records.ts';

const pageSize = 50;

/** The kind of each condition. A new condition replaces those of the same kind. */
const kindOf = { from: 'pair', to: 'pair', time: 'time', policy: 'policy', verdict: 'policy' } as const;

const titles: [RowColumn, string][] = [
  ['at', 'Time (UTC)'],
  ['action', 'Outcome'],
  ['from', 'Source'],
  ['fromAddress', 'Source address'],
  ['to', 'Destination'],
  ['toAddress', 'Destination address'],
  ['service', 'Service'],
  ['packets', 'Packets'],
  ['rule', 'Rule'],
  ['verdict', 'Verdict'],
  ['node', 'Node'],
];

/** Returns a function that adds conditions and shows the matching records. */
export function createRecordsTable({ count, all }: PageData['rows'], rows: Rows): (chips: readonly Chip[]) => void {
  const conditions: Conditions = { chips: [], search: '', action: '', service: '', policy: '', verdict: '' };
  const order: Order = { column: 'at', isDescending: true };
  const table = element('rows-table') as HTMLTableElement;
  const [head, body] = [table.createTHead().insertRow(), table.createTBody()];
  const previous = element('previous') as HTMLButtonElement;
  const next = element('next') as HTMLButtonElement;
  let selected: Uint32Array = new Uint32Array();
  let page = 0;

  for (const [column, title] of titles) {
    const cell = head.appendChild(Object.assign(document.createElement('th'), { scope: 'col' }));
    cell.append(buttonOf(title, () => sortBy(column)));
  }
  previous.addEventListener('click', () => turn(-1));
  next.addEventListener('click', () => turn(1));
  listen(rows, conditions, refresh);
  refresh();
  return (chips) => {
    const replaced = new Set(chips.map(({ id }) => kindOf[id]));
    conditions.chips = [...conditions.chips.filter(({ id }) => !replaced.has(kindOf[id])), ...chips];
    refresh();
    const behavior = matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth';
    element('rows').scrollIntoView({ behavior });
  };

  function sortBy(column: RowColumn): void {
    order.isDescending = order.column === column && !order.isDescending;
    order.column = column;
    refresh();
  }

  function turn(by: number): void {
    page += by;
    draw();
  }

  function refresh(): void {
    selected = selectRows(rows, conditions);
    sortRows(rows, selected, order);
    page = 0;
    drawChips();
    draw();
  }

  function draw(): void {
    const pages = Math.max(1, Math.ceil(selected.length / pageSize));
    for (const [index, cell] of [...head.cells].entries())
      cell.ariaSort = titles[index]?.[0] !== order.column ? 'none' : order.isDescending ? 'descending' : 'ascending';
    body.replaceChildren();
    for (const row of selected.subarray(page * pageSize, (page + 1) * pageSize)) {
      const line = body.insertRow();
      for (const [column, title] of titles) {
        const cell = line.insertCell();
        cell.textContent = textOfCell(rows, column, row);
        cell.className = column === 'packets' ? 'n' : '';
        cell.dataset['name'] = title;
      }
    }
    previous.disabled = page === 0;
    next.disabled = page + 1 >= pages;
    element('page').textContent = `Page ${numberText(page + 1)} of ${numberText(pages)}`;
    element('rows-text').textContent = countText(selected.length, count, all);
  }

  function drawChips(): void {
    element('chips').replaceChildren(
      ...conditions.chips.map((chip) => {
        const button = buttonOf(`${chip.label} ×`, () => {
          conditions.chips = conditions.chips.filter((each) => each !== chip);
          refresh();
        });
        button.ariaLabel = `Remove the condition ${chip.label}`;
        return button;
      }),
    );
  }
}

function buttonOf(textContent: string, onClick: () => void): HTMLButtonElement {
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent });
  button.addEventListener('click', onClick);
  return button;
}

function textOfCell({ columns, texts }: Rows, column: RowColumn, row: number): string {
  const value = columns[column][row] ?? 0;
  if (column === 'at') return new Date(value).toISOString().slice(0, 19).replace('T', ' ');
  return column === 'packets' ? numberText(value) : (texts[column][value] ?? '');
}

function countText(found: number, count: number, all: number): string {
  const left =
    all > count
      ? ` This page has ${numberText(count)} of ${numberText(all)} records: the latest of each pair, of as many pairs as there is room for. The sums above are of all.`
      : '';
  return `${numberText(found)} ${found === 1 ? 'record' : 'records'}.${left}`;
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
