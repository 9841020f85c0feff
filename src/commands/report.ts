/** The command `report`. The build makes a file of its own of it (scripts/build.mjs), which the image does not have. */
import { existsSync } from 'node:fs';
import { printable } from '../platform/printable.ts';
import { ReportError } from '../report/model.ts';
import { printReport } from '../report/report.ts';
import type { ReportCommandOptions } from './options/report-options.ts';
import type { Streams } from './terminal.ts';

export async function report(options: ReportCommandOptions, streams: Streams, now = Date.now()): Promise<0 | 1 | 2> {
  const fail = (message: string): 2 => {
    streams.err(`kube-netfilter-tailer: ${printable(message)}\n`);
    return 2;
  };
  if (options.db !== undefined && existsSync(options.db))
    return fail(`--db ${options.db}: is there already; name a new file, or remove it`);
  try {
    const isWhole = await printReport(
      { ...options, now },
      {
        stdin: () => streams.stdin,
        out: streams.out,
        onProblem: (problem) => streams.err(`${printable(problem)}\n`),
      },
    );
    return isWhole ? 0 : 1;
  } catch (error) {
    if (error instanceof ReportError) return fail(error.message);
    throw error;
  }
}
