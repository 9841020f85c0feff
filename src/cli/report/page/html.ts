/** Writes the HTML of the page. Every text goes through `htmlText` or `messageText`, so that none becomes markup. */
import { createHash } from 'node:crypto';
import type { AuditReport, Matrix } from '../model.ts';
import type { pageAssets } from './assets.ts';
import type { PageData } from './row-format.ts';
import { numberText, plain, plainMessage, timeText } from '../texts/plain.ts';
import { type Cell, type Column, reportFacts, isNumeric, type Section, sectionsOf } from '../texts/contents.ts';
import { notesOf } from '../texts/notes.ts';

export const mostRows = 50;

function hashOf(content: string): string {
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}

export function documentOf(
  report: AuditReport,
  timeLine: string,
  { script, style }: Awaited<ReturnType<typeof pageAssets>>,
  data: PageData,
  rows: string,
): string {
  const policy = `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; base-uri 'none'; form-action 'none'`;
  const lists = listsHtml(report);
  const { first, last } = report.extent;
  const period = first === undefined ? 'no records' : `${timeText(first)} to ${timeText(last)} UTC`;
  const hasMatrix = report.namespaces.rows.length > 0;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>Dropped traffic, ${htmlText(period)}</title>
<style>${style}</style>
</head>
<body>
<header><h1>Dropped traffic</h1><p class="period">${htmlText(period)}</p></header>
<nav aria-label="Sections">${lists.events === '' ? '' : '<a href="#events">Events</a>'}<a href="#time">Time line</a><a href="#matrix">Who to whom</a><a href="#appeared">New and gone</a><a href="#top">Most packets</a><a href="#policies">By policy</a><a href="#scans">Scans</a><a href="#gaps">Gaps</a><a href="#rows">Records</a></nav>
<main>
<section id="summary"><h2>Summary</h2>${summaryHtml(report)}</section>
${lists.events}
<section id="time"><h2>Time line</h2>${timeLine}</section>
<section id="matrix"><div class="head"><h2>Who to whom</h2>
<div class="tabs needs-script" role="group" aria-label="Names of the matrix" hidden><button type="button" id="show-namespaces" aria-pressed="true">Namespaces</button><button type="button" id="show-workloads" aria-pressed="false">Workloads</button></div></div>
${hasMatrix ? '<p class="lead">Packets from a row to a column; the stronger the colour, the more.</p>' : ''}
<div id="by-namespaces">${matrixHtml(report.namespaces, 'namespaces')}</div>
<div id="by-workloads">${hasMatrix ? matrixHtml(report.workloads, 'workloads') : ''}</div>
<p id="cell-text" class="more" aria-live="polite"></p></section>
${lists.pairs}
<div class="rankings">${lists.rankings}</div>
${lists.rest}
<section id="rows" class="needs-script" hidden><h2>Records</h2>
<form id="filters" role="search"><label>Search <input id="search" type="search" autocomplete="off" spellcheck="false" placeholder="workload, address, rule, node"></label><label>Outcome <select id="outcome"><option value="">any</option></select></label><label>Service <select id="service"><option value="">any</option></select></label><label>Policy <select id="policy"><option value="">any</option></select></label><label>Verdict <select id="verdict"><option value="">any</option></select></label><span id="chips"></span></form>
<p id="rows-text" class="more" aria-live="polite">…</p>
<div class="scroll" tabindex="0" role="region" aria-label="Records"><table id="rows-table"></table></div>
<p class="pages"><button type="button" id="previous">Previous</button> <span id="page"></span> <button type="button" id="next">Next</button></p></section>
<noscript><p class="lead">The single records need JavaScript.</p></noscript>
</main>
<footer><p>Made by kube-netfilter-tailer from records of its audit. Counts are of what was logged.</p></footer>
<script type="application/json" id="data">${json(data)}</script>
<script type="text/plain" id="row-data">${rows}</script>
<script>${script}</script>
</body>
</html>
`;
}

function summaryHtml(report: AuditReport): string {
  const facts = reportFacts(report).map(
    ([name, value]) => `<div><dt>${htmlText(name)}</dt><dd>${htmlText(value)}</dd></div>`,
  );
  const notes = notesOf(report).map((note) => `<li>${htmlText(note)}</li>`);
  const list =
    notes.length === 0 ? '' : `<ul class="notes" aria-label="What to know of these figures">${notes.join('')}</ul>`;
  return `<dl class="facts">${facts.join('')}</dl>${list}`;
}

function listsHtml(report: AuditReport): Record<'events' | 'pairs' | 'rankings' | 'rest', string> {
  const groups = Map.groupBy(sectionsOf(report, mostRows), ({ id }) => groupOf(id));
  const html = (group: ReturnType<typeof groupOf>): string => (groups.get(group) ?? []).map(sectionHtml).join('');
  return {
    events: html('events'),
    pairs: (report.changes === undefined ? noBaseline : '') + html('pairs'),
    rankings: html('rankings'),
    rest: html('rest'),
  };
}

function groupOf(id: string) {
  if (id === 'events') return 'events';
  if (id.startsWith('ranking-')) return 'rankings';
  return id === 'scans' || id === 'gaps' || id === 'incidents' ? 'rest' : 'pairs';
}

const noBaseline = `<section id="appeared"><h2>New and gone</h2><p class="empty">Rows of an earlier time show what a change opened or closed: <code>report --baseline before.ndjson after.ndjson</code></p></section>`;

function sectionHtml({ id, title, lead, columns, rows, more, empty }: Section): string {
  const [level, count] = id.startsWith('ranking-')
    ? ['h3', '']
    : ['h2', rows.length > 0 ? ` <span class="count">${numberText(rows.length)}</span>` : ''];
  const body = rows.length === 0 ? `<p class="empty">${htmlText(empty)}</p>` : tableHtml(title, columns, rows);
  return `<section id="${id}"><${level}>${htmlText(title)}${count}</${level}>${lead === undefined ? '' : `<p class="lead">${htmlText(lead)}</p>`}${body}${more === undefined ? '' : `<p class="more">${htmlText(more)}</p>`}</section>`;
}

function tableHtml(title: string, columns: readonly Column[], rows: readonly (readonly Cell[])[]): string {
  const mostShare = Number.parseFloat(String(rows[0]?.[columns.findIndex(({ kind }) => kind === 'share')] ?? '0'));
  const head = columns.map(
    ({ name }, place) => `<th scope="col"${isNumeric({ rows }, place) ? ' class="n"' : ''}>${htmlText(name)}</th>`,
  );
  const body = rows.map(
    (row) => `<tr>${row.map((cell, place) => cellHtml(columns[place], cell, mostShare)).join('')}</tr>`,
  );
  return `<div class="scroll" tabindex="0" role="region" aria-label="${htmlText(title)}"><table><thead><tr>${head.join('')}</tr></thead><tbody>${body.join('')}</tbody></table></div>`;
}

export const outcomes = ['dropped', 'rejected', 'logged', 'accepted'];

export function classOf(action: string): string {
  return outcomes.includes(action) ? action : 'other';
}

/** `data-name` is what a narrow screen, which has no columns, shows before the cell. */
function cellHtml(column: Column | undefined, cell: Cell, mostShare: number): string {
  const name = ` data-name="${htmlText(column?.name ?? '')}"`;
  if (typeof cell === 'number') return `<td class="n"${name}>${numberText(cell)}</td>`;
  switch (column?.kind) {
    case 'outcome':
      return `<td${name}><span class="outcome ${classOf(cell)}">${htmlText(cell)}</span></td>`;
    case 'share':
      return `<td class="share"${name}>${barHtml(Number.parseFloat(cell), mostShare)}${htmlText(cell)}</td>`;
    case 'message':
      return `<td class="message"${name}>${messageText(cell)}</td>`;
    case 'name':
      return `<td class="name"${name}>${nameHtml(cell)}</td>`;
    case 'time':
      return `<td class="time"${name}>${htmlText(cell)}</td>`;
    default:
      return `<td${name}>${htmlText(cell)}</td>`;
  }
}

/** Draws a bar of up to 20 steps; `most` gets all 20. */
function barHtml(share: number, most: number): string {
  return `<svg class="bar" width="${most > 0 ? Math.ceil((share / most) * 20) * 4 : 0}" height="10" aria-hidden="true"></svg>`;
}

function matrixHtml(matrix: Matrix, level: 'namespaces' | 'workloads'): string {
  const { rows, columns, otherRows, otherColumns, cells } = matrix;
  if (rows.length === 0) return `<p class="empty">No packets.</p>`;
  const logarithms = cells.flat().flatMap((value) => (value > 0 ? [Math.log(value)] : []));
  const heatOf = heatBetween(Math.min(...logarithms), Math.max(...logarithms));
  const [sources, destinations] = [withOthers(rows, otherRows), withOthers(columns, otherColumns)];
  const head = destinations.map((name) => `<th scope="col"><span>${htmlText(name)}</span></th>`).join('');
  const body = sources.map(
    (name, row) =>
      `<tr><th scope="row">${htmlText(name)}</th>${(cells[row] ?? []).map((value) => matrixCell(value, heatOf)).join('')}</tr>`,
  );
  return `<div class="scroll matrix" tabindex="-1"><table id="matrix-${level}" aria-label="Packets by source (rows) and destination (columns): ${level}"><thead><tr><td class="corner">from ↓ to →</td>${head}</tr></thead><tbody>${body.join('')}</tbody></table></div>`;
}

function withOthers(names: readonly string[], others: number): string[] {
  return others > 0 ? [...names, `${numberText(others)} others`] : [...names];
}

function matrixCell(value: number, heatOf: (value: number) => number): string {
  return value > 0 ? `<td class="h${heatOf(value)}">${shortNumber(value)}</td>` : '<td></td>';
}

/** Returns a function from packets to a heat of 1 to 8. The scale is logarithmic, because a few cells have nearly all packets. */
function heatBetween(least: number, most: number): (value: number) => number {
  return (value) => (most === least ? 4 : 1 + Math.floor(((Math.log(value) - least) / (most - least)) * 7.999));
}

function nameHtml(name: string): string {
  const [, kind, rest = ''] = /^([A-Za-z]{1,40}) (.+)$/s.exec(name) ?? [];
  return kind === undefined ? htmlText(name) : `<span class="kind">${htmlText(kind)}</span> ${htmlText(rest)}`;
}

/** Escapes any text for the content of an element or a quoted attribute. */
export function htmlText(value: string): string {
  return escaped(plain(value));
}

function messageText(value: string): string {
  return escaped(plainMessage(value));
}

function escaped(value: string): string {
  return value.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Writes JSON without characters that could end the script element around it. */
function json(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function shortNumber(value: number): string {
  return new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 }).format(value).toLowerCase();
}
