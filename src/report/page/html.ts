/** The parts of the page that need no JavaScript. No text becomes markup: every text goes through `text`. */
import type { Matrix, Report } from '../model.ts';
import { numberText, plain, plainMessage } from '../texts/plain.ts';
import { type Cell, type Column, factsOf, isNumeric, notesOf, type Section, sectionsOf } from '../texts/contents.ts';

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
  const body = rows.length === 0 ? `<p class="empty">${text(empty)}</p>` : tableHtml(title, columns, rows);
  return `<section id="${id}"><${level}>${text(title)}${count}</${level}>${lead === undefined ? '' : `<p class="lead">${text(lead)}</p>`}${body}${more === undefined ? '' : `<p class="more">${text(more)}</p>`}</section>`;
}

function tableHtml(title: string, columns: readonly Column[], rows: readonly (readonly Cell[])[]): string {
  const mostShare = Number.parseFloat(String(rows[0]?.[columns.findIndex(({ kind }) => kind === 'share')] ?? '0'));
  const head = columns.map(
    ({ name }, place) => `<th scope="col"${isNumeric({ rows }, place) ? ' class="n"' : ''}>${text(name)}</th>`,
  );
  const body = rows.map(
    (row) => `<tr>${row.map((cell, place) => cellHtml(columns[place]?.kind, cell, mostShare)).join('')}</tr>`,
  );
  return `<div class="scroll" tabindex="0" role="region" aria-label="${text(title)}"><table><thead><tr>${head.join('')}</tr></thead><tbody>${body.join('')}</tbody></table></div>`;
}

const outcomes = new Set(['dropped', 'rejected', 'logged', 'accepted']);

function cellHtml(kind: Column['kind'] | undefined, cell: Cell, mostShare: number): string {
  if (typeof cell === 'number') return `<td class="n">${numberText(cell)}</td>`;
  switch (kind) {
    case 'outcome':
      return `<td><span class="outcome ${outcomes.has(cell) ? cell : ''}">${text(cell)}</span></td>`;
    case 'share':
      return `<td class="share">${barHtml(Number.parseFloat(cell), mostShare)}${text(cell)}</td>`;
    case 'message':
      return `<td>${messageText(cell)}</td>`;
    case 'name':
      return `<td class="name">${nameHtml(cell)}</td>`;
    case 'time':
      return `<td class="time">${text(cell)}</td>`;
    default:
      return `<td>${text(cell)}</td>`;
  }
}

/** A bar of up to 20 steps; the longest has them all. */
function barHtml(share: number, most: number): string {
  return `<svg class="bar" width="${most > 0 ? Math.ceil((share / most) * 20) * 4 : 0}" height="10" aria-hidden="true"></svg>`;
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

/** A stranger's or an own text, for the content of an element or a value in quotes. */
export function text(value: string): string {
  return escaped(plain(value));
}

/** The same of an Event's message. */
function messageText(value: string): string {
  return escaped(plainMessage(value));
}

function escaped(value: string): string {
  return value.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** JSON that neither ends a script nor begins a comment in it. */
export function json(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** `12.3k`: fits into a cell. */
function shortNumber(value: number): string {
  return new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 }).format(value).toLowerCase();
}
