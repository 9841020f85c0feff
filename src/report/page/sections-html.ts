/** The parts of the page that need no JavaScript. */
import type { Matrix, Report } from '../model.ts';
import { numberText } from '../texts/plain.ts';
import type { Cell, Section } from '../texts/section.ts';
import { factsOf, notesOf, sectionsOf } from '../texts/sections.ts';
import { messageText, shortNumber, text } from './html.ts';

/** Rows of each list at most. */
export const mostRows = 50;

export function summaryHtml(report: Report): string {
  const facts = factsOf(report).map(([name, value]) => `<div><dt>${text(name)}</dt><dd>${text(value)}</dd></div>`);
  const notes = notesOf(report).map((note) => `<li>${text(note)}</li>`);
  const list =
    notes.length === 0 ? '' : `<ul class="notes" aria-label="What to know of these figures">${notes.join('')}</ul>`;
  return `<dl class="facts">${facts.join('')}</dl>${list}`;
}

/** Lists in the order of a reader's questions: the Events, what is new, what is most, by which policy, who, and what is missing. */
export function listsHtml(
  report: Report,
): Record<'events' | 'changes' | 'top' | 'policies' | 'rankings' | 'rest', string> {
  const sections = sectionsOf(report, mostRows);
  const html = (ids: (id: string) => boolean): string =>
    sections
      .filter(({ id }) => ids(id))
      .map(sectionHtml)
      .join('');
  const changes = new Set(['appeared', 'vanished', 'policies-appeared', 'policies-vanished']);
  const apart = new Set([...changes, 'top', 'policies', 'events']);
  return {
    events: html((id) => id === 'events'),
    changes: report.changes === undefined ? noBaseline : html((id) => changes.has(id)),
    top: html((id) => id === 'top'),
    policies: html((id) => id === 'policies'),
    rankings: `<div class="rankings">${html((id) => id.startsWith('ranking-'))}</div>`,
    rest: html((id) => !apart.has(id) && !id.startsWith('ranking-')),
  };
}

const noBaseline = `<section id="appeared"><h2>New and gone</h2><p class="empty">Rows of an earlier time show what a change opened or closed: <code>report --baseline before.ndjson after.ndjson</code></p></section>`;

function sectionHtml({ id, title, lead, columns, rows, more, empty }: Section): string {
  const [level, count] = id.startsWith('ranking-')
    ? ['h3', '']
    : ['h2', rows.length > 0 ? ` <span class="count">${numberText(rows.length)}</span>` : ''];
  const body = rows.length === 0 ? `<p class="empty">${text(empty)}</p>` : tableHtml(id, title, columns, rows);
  return `<section id="${id}"><${level}>${text(title)}${count}</${level}>${lead === undefined ? '' : `<p class="lead">${text(lead)}</p>`}${body}${more === undefined ? '' : `<p class="more">${text(more)}</p>`}</section>`;
}

function tableHtml(id: string, title: string, columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const isNumber = columns.map((_, column) => typeof rows[0]?.[column] === 'number');
  const mostShare = Number.parseFloat(String(rows[0]?.[columns.indexOf('share')] ?? '0'));
  const head = columns
    .map((name, column) => `<th scope="col"${isNumber[column] === true ? ' class="n"' : ''}>${text(name)}</th>`)
    .join('');
  const body = rows
    .map(
      (row) => `<tr>${row.map((cell, column) => cellHtml(id, columns[column] ?? '', cell, mostShare)).join('')}</tr>`,
    )
    .join('');
  return `<div class="scroll" tabindex="0" role="region" aria-label="${text(title)}"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`;
}

const outcomes = new Set(['dropped', 'rejected', 'logged', 'accepted']);

/** A bar of up to 20 steps; the longest has them all. */
function barHtml(share: number, most: number): string {
  return `<span class="bar w${most > 0 ? Math.ceil((share / most) * 20) : 0}"></span>`;
}

function cellHtml(id: string, column: string, cell: Cell, mostShare: number): string {
  if (typeof cell === 'number') return `<td class="n">${numberText(cell)}</td>`;
  if (column === 'outcome')
    return `<td><span class="outcome ${outcomes.has(cell) ? cell : ''}">${text(cell)}</span></td>`;
  if (column === 'share') return `<td class="share">${barHtml(Number.parseFloat(cell), mostShare)}${text(cell)}</td>`;
  if (column === 'message') return `<td>${messageText(cell)}</td>`;
  const isTime = column === 'first' || column === 'last';
  const isName = ['source', 'destination', 'rule', 'policy'].includes(column) || id.startsWith('ranking-');
  if (isName) return `<td class="name">${nameHtml(cell)}</td>`;
  return `<td${isTime ? ' class="time"' : ''}>${text(cell)}</td>`;
}

/** `level` says what the names are. Cells have the index of their row and column, for the script. */
export function matrixHtml(matrix: Matrix, level: 'namespaces' | 'workloads'): string {
  const { rows, columns, otherRows, otherColumns, cells } = matrix;
  if (rows.length === 0) return `<p class="empty">No packets.</p>`;
  const logarithms = cells.flat().flatMap((value) => (value > 0 ? [Math.log(value)] : []));
  const heatOf = heatBetween(Math.min(...logarithms), Math.max(...logarithms));
  const [sources, destinations] = [withOthers(rows, otherRows), withOthers(columns, otherColumns)];
  const head = destinations.map((name) => `<th scope="col"><span>${text(name)}</span></th>`).join('');
  const body = sources.map(
    (name, row) =>
      `<tr><th scope="row">${text(name)}</th>${(cells[row] ?? []).map((value) => matrixCell(value, heatOf)).join('')}</tr>`,
  );
  return `<div class="scroll matrix" tabindex="-1"><table id="matrix-${level}" aria-label="Packets by source (rows) and destination (columns): ${level}"><thead><tr><td class="corner">from ↓ to →</td>${head}</tr></thead><tbody>${body.join('')}</tbody></table></div>`;
}

function withOthers(names: readonly string[], others: number): string[] {
  return others > 0 ? [...names, `${numberText(others)} others`] : [...names];
}

function matrixCell(value: number, heatOf: (value: number) => number): string {
  return value > 0 ? `<td class="h${heatOf(value)}">${shortNumber(value)}</td>` : '<td></td>';
}

/** 1 to 8, by the logarithm: a few cells have nearly all packets. */
function heatBetween(least: number, most: number): (value: number) => number {
  return (value) => (most === least ? 4 : 1 + Math.floor(((Math.log(value) - least) / (most - least)) * 7.999));
}

/** The kind of a workload or a policy stands small before its name. */
function nameHtml(name: string): string {
  const [, kind, rest = ''] = /^([A-Za-z]{1,40}) (.+)$/s.exec(name) ?? [];
  return kind === undefined ? text(name) : `<span class="kind">${text(kind)}</span> ${text(rest)}`;
}
