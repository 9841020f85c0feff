/** Help and options of `report`. */
import { nearest } from '../../config/suggest.ts';
import { parseOptions } from './parse-options.ts';
import { UsageError } from './usage-error.ts';

const outputs = ['html', 'table', 'markdown', 'csv', 'json'] as const;

export interface ReportCommandOptions {
  rows: string[];
  baseline: string[];
  events: string[];
  output: (typeof outputs)[number];
  db: string | undefined;
  includeNoise: boolean;
  policy: string[];
  /** Of `replay`, which has found that nothing was dropped. */
  mayBeEmpty?: boolean;
}

export const reportHelp = `Usage: kube-netfilter-tailer report ROWS...

A report on rows of the audit (docs/audit.md): who was denied what, when, by which rule, and what is new since a baseline.
ROWS are files of NDJSON or patterns in quotes; .gz and .zst are unpacked; - is standard input.

  kube-netfilter-tailer report '/var/log/audit/*.ndjson*' > report.html
  kube-netfilter-tailer report --baseline before.ndjson after.ndjson > changes.html
  kube-netfilter-tailer replay --pods cluster.json -o audit kern.log | kube-netfilter-tailer report --output table -

What to read
  --baseline ROWS          rows to compare with: what appeared, what vanished; may be repeated
  --events FILE            Events as JSON, of replay or kubectl, whose incidents are marked; may be repeated
  --include-noise          take multicast, broadcast, DHCP, IGMP, VRRP and neighbour discovery in, too

  --policy NAME            only records that name this policy, or one of several with commas between; * and ? as in patterns:
                           shop/web, 'NetworkPolicy shop/web', 'shop/*', web

What to show
  -o, --output FORMAT      html      one page that needs no network (default)
                           table     for a terminal
                           markdown  for a ticket
                           csv       every pair of source, destination and service, for a spreadsheet
                           json      all sums, and every pair
      --db FILE            leave the database (DuckDB) in a new file, for SQL of your own

It needs the package @duckdb/node-api, which npm installs with this program and which its image lacks.

Exit status
  0  all rows were read
  1  some rows or files could not be read; the report has the others
  2  the command line is wrong, or there is no row to report on
`;

/** Reads the arguments after `report`. Throws a `UsageError` that lists all that is wrong. */
export function readReportOptions(args: readonly string[], isTerminal: boolean): ReportCommandOptions | 'help' {
  const { values, last, switches, operands, problems } = parseOptions(args, forms, true);
  if (switches.has('help')) return 'help';
  const given = last('output') ?? 'html';
  const output = outputs.find((each) => each === given);
  if (output === undefined) {
    const meant = nearest(given, outputs);
    problems.push(
      `--output ${given}: must be one of ${outputs.join(', ')}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
    );
  }
  const baseline = [...(values['baseline'] ?? [])];
  const policy = (values['policy'] ?? []).flatMap((names) => names.split(',').map((name) => name.trim()));
  if (policy.includes('')) problems.push('--policy: names no policy');
  if (operands.length === 0) problems.push('no ROWS are named; - reads standard input');
  if ([...operands, ...baseline].filter((name) => name === '-').length > 1)
    problems.push('standard input (-) can be read only once');
  if (output === 'html' && isTerminal)
    problems.push('--output html: write the page to a file (report … > report.html), or take --output table');
  if (problems.length > 0) throw new UsageError(problems, 'report');
  return {
    rows: [...operands],
    baseline,
    events: [...(values['events'] ?? [])],
    output: output ?? 'html',
    db: last('db'),
    includeNoise: switches.has('include-noise'),
    policy,
  };
}

const forms = {
  baseline: { type: 'string' },
  events: { type: 'string' },
  'include-noise': { type: 'boolean' },
  policy: { type: 'string' },
  output: { type: 'string', short: 'o' },
  db: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;
