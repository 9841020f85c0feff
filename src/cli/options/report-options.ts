import type { Command } from 'commander';
import type { ReportOptions } from '../report/report.ts';
import { createCommand, grouped, option, pathOf, problemsOf, stdinProblems, UsageError } from './command.ts';

const outputs = ['html', 'table', 'markdown', 'csv', 'json'] as const satisfies ReportOptions['output'][];

export type ReportCommandOptions = Omit<ReportOptions, 'now'>;

const formats = `html      one page that needs no network (default)
table     for a terminal
markdown  for a ticket
csv       every pair of source, destination and service, for a spreadsheet
json      all sums, and every pair`;

export function reportCommand(): Command {
  return createCommand('report', {
    summary: 'HTML report of audit rows: who was denied what, and what is new',
    usage: 'ROWS...',
    about: `A report on rows of the audit (docs/audit.md): who was denied what, when, by which rule, and what is new since a baseline. ROWS are files of NDJSON or patterns in quotes; .gz and .zst are unpacked; - is standard input.

  kube-netfilter-tailer report '/var/log/audit/*.ndjson*' > report.html
  kube-netfilter-tailer report --baseline before.ndjson after.ndjson > changes.html
  kube-netfilter-tailer replay --pods cluster.json -o audit kern.log | kube-netfilter-tailer report --output table -

It needs the package @duckdb/node-api. If that is not installed, report prints the command that installs it.`,
    exits: [
      'all rows were read',
      'some rows or files could not be read; the report has the others',
      'the command line is wrong, or there is no row to report on',
    ],
    argument: ['[ROWS...]'],
    options: [
      ...grouped('What to read', [
        option('--baseline <ROWS>', 'rows to compare with: what appeared, what vanished; may be repeated', {
          many: true,
        }),
        option('--events <FILE>', 'Events as JSON, of replay or kubectl, whose incidents are marked; may be repeated', {
          many: true,
        }),
        option('--include-noise', 'take multicast, broadcast, DHCP, IGMP, VRRP and neighbour discovery in, too'),
        option(
          '--policy <NAME>',
          "only records that name this policy, or one of several with commas between; * and ? as in patterns: shop/web, 'NetworkPolicy shop/web', 'shop/*', web",
          { many: true },
        ),
      ]),
      ...grouped('What to show', [
        option('-o, --output <FORMAT>', formats, { choices: outputs }),
        option('--db <FILE>', 'save the DuckDB database to a new file, for your own SQL'),
      ]),
    ],
  });
}

export function readReportOptions(command: Command, isTerminal: boolean): ReportCommandOptions {
  const given = command.opts<Partial<Omit<ReportCommandOptions, 'rows'>>>();
  const { baseline = [], events = [], output = 'html', db, includeNoise = false } = given;
  const rows = command.args;
  const policy = (given.policy ?? []).flatMap((names) => names.split(',').map((name) => name.trim()));
  const problems = [...problemsOf(command), ...stdinProblems([...rows, ...baseline])];
  if (policy.includes('')) problems.push('--policy: names no policy');
  if (rows.length === 0) problems.push('no ROWS are named; - reads standard input');
  if (output === 'html' && isTerminal)
    problems.push('--output html: write the page to a file (report … > report.html), or take --output table');
  if (problems.length > 0) throw new UsageError(problems, pathOf(command));
  return { rows, baseline, events, output, db, includeNoise, policy };
}
