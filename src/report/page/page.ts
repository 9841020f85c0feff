/** The page: one file that needs no network and no server. */
import { createHash } from 'node:crypto';
import { readGapIntervals } from '../aggregate/aggregate.ts';
import type { Engine } from '../engine.ts';
import type { Matrix, Report } from '../model.ts';
import { countText, plain, timeText } from '../texts/plain.ts';
import { pageAssets } from './assets.ts';
import { json, listsHtml, matrixHtml, mostRows, summaryHtml, text } from './html.ts';
import type { Mark, PageData, Side } from './row-format.ts';
import { packRows, readPageRows } from './rows.ts';

/** More make a graph that shows nothing. */
const mostEdges = 60;

/** The size in bytes that a mail takes as an attachment, and a browser opens at once. */
const largest = 3_000_000;

export async function pageHtml(engine: Engine, report: Report): Promise<string> {
  const assets = await pageAssets();
  const marks = await readMarks(engine, report);
  const rows = await readPageRows(engine);
  let most = rows.ranks.length;
  for (;;) {
    const packed = packRows(rows, most);
    const html = documentOf(report, assets, dataOf(report, marks, packed.count), packed.data);
    const excess = Buffer.byteLength(html) - largest;
    if (excess <= 0 || most === 0) return html;
    most = Math.max(0, Math.floor(most * (1 - excess / Math.max(1, packed.data.length)) * 0.98) - 1);
  }
}

function dataOf(report: Report, marks: PageData['marks'], count: number): PageData {
  const { timeLine, namespaces, workloads, top, policies } = report;
  const edges = Map.groupBy(top.top, ({ from, to }) => JSON.stringify([from, to]));
  return {
    rows: { count, all: report.extent.records },
    timeLine: timeLine && {
      ...timeLine,
      series: timeLine.series.map(({ action, packets }) => ({ action: plain(action), packets })),
    },
    marks,
    namespaces: sidesOf(namespaces),
    workloads: sidesOf(workloads),
    policies: policies.top.slice(0, mostRows).map(({ policy, verdict }) => ({ policy: plain(policy), verdict })),
    edges: [...edges.values()].slice(0, mostEdges).map((pairs) => ({
      from: plain(pairs[0]?.from ?? ''),
      to: plain(pairs[0]?.to ?? ''),
      packets: pairs.reduce((sum, { packets }) => sum + packets, 0),
    })),
  };
}

/** Marks in the time line: intervals with loss, scans and incidents. */
async function readMarks(engine: Engine, { timeLine, scans, incidents }: Report): Promise<Mark[]> {
  if (timeLine === undefined) return [];
  const { step, start } = timeLine;
  const gaps = (await readGapIntervals(engine, timeLine)).map((interval): Mark => ({
    kind: 'gap',
    first: start + interval * step,
    last: start + (interval + 1) * step,
    text: 'Records of a log were lost',
  }));
  return [
    ...joined(gaps),
    ...scans.top.map(({ from, destinations, first, last }): Mark => ({
      kind: 'scan',
      first,
      last,
      text: `Scan: ${plain(from)}, ${countText(destinations, 'destination')}`,
    })),
    ...incidents.top.map(({ reason, object, first, last }): Mark => ({
      kind: 'incident',
      first,
      last,
      text: `${plain(reason)} on ${plain(object)}`,
    })),
  ];
}

/** Gaps that follow each other are one. */
function joined(gaps: readonly Mark[]): Mark[] {
  const found: Mark[] = [];
  for (const gap of gaps) {
    const before = found.at(-1);
    if (before !== undefined && before.last === gap.first) before.last = gap.last;
    else found.push({ ...gap });
  }
  return found;
}

function sidesOf({ rows, columns, otherRows, otherColumns }: Matrix): { from: Side; to: Side } {
  return {
    from: { names: rows.map(plain), hasOthers: otherRows > 0 },
    to: { names: columns.map(plain), hasOthers: otherColumns > 0 },
  };
}

function hashOf(content: string): string {
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}

function documentOf(
  report: Report,
  { script, style, licences }: Awaited<ReturnType<typeof pageAssets>>,
  data: PageData,
  rows: string,
): string {
  const policy = `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; base-uri 'none'; form-action 'none'`;
  const { events, changes, top, policies, rankings, rest } = listsHtml(report);
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
<title>Dropped traffic, ${text(period)}</title>
<style>${style}</style>
</head>
<body>
<header><h1>Dropped traffic</h1><p class="period">${text(period)}</p><button type="button" id="theme" hidden>Dark</button></header>
<nav aria-label="Sections">${events === '' ? '' : '<a href="#events">Events</a>'}<a href="#time">Time line</a><a href="#matrix">Who to whom</a><a href="#appeared">New and gone</a><a href="#top">Most packets</a><a href="#policies">By policy</a><a href="#graph-section">Graph</a><a href="#scans">Scans</a><a href="#gaps">Gaps</a><a href="#rows">Records</a></nav>
<main>
<section id="summary"><h2>Summary</h2>${summaryHtml(report)}</section>
${events}
<section id="time" class="needs-script" hidden><h2>Time line</h2><p class="lead">Packets by outcome. A bar shows its records below.</p><div id="time-chart" class="chart"></div><p id="time-text" class="more"></p></section>
<section id="matrix"><div class="head"><h2>Who to whom</h2>
<div class="tabs needs-script" role="group" aria-label="Names of the matrix" hidden><button type="button" id="show-namespaces" aria-pressed="true">Namespaces</button><button type="button" id="show-workloads" aria-pressed="false">Workloads</button></div></div>
${hasMatrix ? '<p class="lead">Packets from a row to a column; the stronger the colour, the more.</p>' : ''}
<div id="by-namespaces">${matrixHtml(report.namespaces, 'namespaces')}</div>
<div id="by-workloads">${hasMatrix ? matrixHtml(report.workloads, 'workloads') : ''}</div>
<p id="cell-text" class="more" aria-live="polite"></p></section>
${changes}
${top}
${policies}
${rankings}
<section id="graph-section" class="needs-script" hidden><h2>Graph</h2><p class="lead">Who sends most to whom, as far as a picture can show it. A workload or an edge shows its records below.</p><div id="graph" class="chart tall"></div></section>
${rest}
<section id="rows" class="needs-script" hidden><h2>Records</h2>
<form id="filters" role="search"><label>Search <input id="search" type="search" autocomplete="off" spellcheck="false" placeholder="workload, address, rule, node"></label><label>Outcome <select id="outcome"><option value="">any</option></select></label><label>Service <select id="service"><option value="">any</option></select></label><label>Policy <select id="policy"><option value="">any</option></select></label><label>Verdict <select id="verdict"><option value="">any</option></select></label><span id="chips"></span></form>
<p id="rows-text" class="more" aria-live="polite">…</p>
<div id="rows-table"></div></section>
<noscript><p class="lead">The time line, the graph and the single records need JavaScript.</p></noscript>
</main>
<footer><p>Made by kube-netfilter-tailer from records of its audit. Counts are of what was logged.</p><details><summary>Licences of the libraries in this page</summary><pre>${licences}</pre></details></footer>
<script type="application/json" id="data">${json(data)}</script>
<script type="text/plain" id="row-data">${rows}</script>
<script>${script}</script>
</body>
</html>
`;
}
