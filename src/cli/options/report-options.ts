import type { Command } from 'commander';
import type { ReportOptions } from '../report/report.ts';
import { createCommand, stdinProblems } from './command.ts';
import { converted, optionsOf, type OptionTable, readOptions } from './option-table.ts';

export type ReportCommandOptions = Omit<ReportOptions, 'now'>;

const formats = `html      one page that needs no network (default)
table     for a terminal
markdown  for a ticket
csv       every pair of source, destination and service, for a spreadsheet
json      all sums, and every pair`;

const input = {
  baseline: { value: 'ROWS', help: 'rows to compare with, to see new and gone flows', list: true },
  events: {
    value: 'FILE',
    help: 'Events as JSON, from replay or kubectl; their incidents are marked',
    list: true,
  },
  includeNoise: { help: 'also include multicast, broadcast, DHCP, IGMP, VRRP and neighbour discovery' },
  policy: {
    value: 'NAME',
    help: "only records that name this policy (several: separated by commas), for example shop/web, 'NetworkPolicy shop/web', web, or 'shop/*' with * and ? as in patterns",
    list: /,/,
    schema: converted((text) => text.trim() || undefined, 'names no policy'),
  },
} as const satisfies OptionTable;

const output = {
  output: { short: 'o', value: 'FORMAT', help: formats, choices: ['html', 'table', 'markdown', 'csv', 'json'] },
  db: { value: 'FILE', help: 'save the DuckDB database to a new file, for your own SQL' },
} as const satisfies OptionTable;

export function reportCommand(): Command {
  return createCommand('report', {
    summary: 'HTML report of audit rows: the denied flows, and which are new',
    usage: 'ROWS...',
    about: `Makes a report from audit rows (docs/audit.md): the denied flows with times and rules, and the differences from a baseline. ROWS are NDJSON files or patterns in quotes; .gz and .zst are unpacked; - is standard input.

  kube-netfilter-tailer report '/var/log/audit/*.ndjson*' > report.html
  kube-netfilter-tailer report --baseline before.ndjson after.ndjson > changes.html
  kube-netfilter-tailer replay --pods cluster.json -o audit kern.log | kube-netfilter-tailer report --output table -

It needs the package @duckdb/node-api. If that is not installed, report prints the command that installs it.`,
    exits: [
      'all rows were read',
      'some rows or files could not be read; the report has the others',
      'the command line is wrong, or no row could be read',
    ],
    argument: ['[ROWS...]'],
    options: [...optionsOf(input, 'What to read'), ...optionsOf(output, 'What to show')],
  });
}

export function readReportOptions(command: Command, isTerminal: boolean): ReportCommandOptions {
  return readOptions(command, { ...input, ...output }, ({ output: format = 'html', ...given }, problems) => {
    const rows = command.args;
    problems.push(...stdinProblems([...rows, ...given.baseline]));
    if (rows.length === 0) problems.push('no ROWS are named; - reads standard input');
    if (format === 'html' && isTerminal)
      problems.push('--output html: write the page to a file (report … > report.html), or take --output table');
    return { ...given, rows, output: format };
  });
}
