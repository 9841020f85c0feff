import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type FlowRecord } from '../../../src/publish/audit/fields.ts';
import { type Engine, openEngine } from '../../../src/cli/report/engine.ts';
import { type ReadResult, readRows } from '../../../src/cli/report/read/read-rows.ts';
import type { ReportOptions } from '../../../src/cli/report/model.ts';
import { printReport } from '../../../src/cli/report/run-report.ts';

export const start = Date.parse('2026-11-20T09:00:00Z');
const minute = 60_000;

/** A day after the rows. */
export const now = start + 24 * 60 * minute;

/**
 * A flow from batch/worker to shop/postgres that was dropped in a minute of 2026-11-20. `number` selects the minute and
 * is part of the id.
 */
export function row(number: number, changes: FlowRecord = {}): FlowRecord {
  const at = start + number * minute;
  return {
    '@timestamp': new Date(at + minute).toISOString(),
    'schema.version': '1.0',
    'event.id': `id-${number}`,
    'event.name': 'network.flow.drop',
    'event.start': new Date(at + 5000).toISOString(),
    'event.end': new Date(at + 50_000).toISOString(),
    'event.action': 'dropped',
    'k8s.node.name': 'node-a',
    'network.transport': 'tcp',
    'network.packets': 1,
    'source.address': '10.244.0.41',
    'source.kind': 'Pod',
    'source.k8s.namespace.name': 'batch',
    'source.k8s.owner.kind': 'Deployment',
    'source.k8s.owner.name': 'worker',
    'destination.address': '10.244.1.30',
    'destination.port': 5432,
    'destination.kind': 'Pod',
    'destination.k8s.namespace.name': 'shop',
    'destination.k8s.owner.kind': 'StatefulSet',
    'destination.k8s.owner.name': 'postgres',
    'security_rule.name': 'default-deny',
    'policy.kind': 'NetworkPolicy',
    'policy.namespace': 'shop',
    ...changes,
  };
}

export function gap(number: number, changes: FlowRecord = {}): FlowRecord {
  const at = start + number * minute;
  return {
    '@timestamp': new Date(at + minute).toISOString(),
    'schema.version': '1.0',
    'event.id': `gap-${number}`,
    'event.name': 'network.flow.gap',
    'event.start': new Date(at + 5000).toISOString(),
    'event.end': new Date(at + 50_000).toISOString(),
    'event.action': 'lost',
    'event.reason': 'kernel',
    'k8s.node.name': 'node-a',
    ...changes,
  };
}

export const linesOf = (rows: readonly unknown[]): string => rows.map((each) => `${JSON.stringify(each)}\n`).join('');

/** Reads files into the table `flows` of a new database, and hands both over. */
export async function withRows<T>(
  folder: string,
  named: readonly string[],
  use: (engine: Engine, reading: ReadResult) => Promise<T> | T,
  stdin: Readable = Readable.from([]),
): Promise<T> {
  const engine = await openEngine(':memory:', join(folder, 'spilled'));
  try {
    return await use(engine, await readRows(engine, 'flows', { named, stdin: () => stdin, folder }));
  } finally {
    engine.close();
  }
}

export interface Printed {
  out: string;
  problems: string[];
  isWhole: boolean;
}

/** Returns the output of a report on these files. */
export async function printed({
  onProblem = () => {},
  ...options
}: Partial<ReportOptions> & { onProblem?: (problem: string) => void }): Promise<Printed> {
  const result: Printed = { out: '', problems: [], isWhole: false };
  const all: ReportOptions = {
    rows: [],
    baseline: [],
    events: [],
    output: 'json',
    db: undefined,
    includeNoise: false,
    policy: [],
    now,
    ...options,
  };
  const streams = {
    stdin: Readable.from([]),
    out: (text: string) => void (result.out += text),
    err(text: string) {
      const problem = text.trimEnd().replace(/^report: /, '');
      onProblem(problem);
      result.problems.push(problem);
    },
  };
  result.isWhole = await printReport(all, streams, 'report');
  return result;
}

/** Writes a file and returns its path. */
export function writer(path: (name: string) => string): (name: string, content: string | Buffer) => string {
  return (name, content) => {
    writeFileSync(path(name), content);
    return path(name);
  };
}

/** Makes the fields of a verdict, in a row of the schema that has them. */
export function verdictOf(verdict: FlowRecord['policy.verdict'], ...policies: readonly string[]): FlowRecord {
  return {
    'schema.version': '1.2',
    'policy.verdict': verdict,
    'policy.verdict_evidence': 'evaluated',
    'policy.decided_by': policies.join(',') || undefined,
  };
}

/** Rows as a hostile writer would have them: each text tries to be something else in one of the outputs. */
export function hostileRows(): FlowRecord[] {
  const names = JSON.parse(readFileSync(join(import.meta.dirname, 'hostile.json'), 'utf8')) as string[];
  return names.map((name, number) =>
    row(number, {
      'network.packets': names.length - number,
      'source.k8s.namespace.name': name,
      'source.k8s.owner.kind': name,
      'source.k8s.owner.name': name,
      'destination.kind': 'external',
      'destination.k8s.namespace.name': undefined,
      'destination.k8s.owner.name': undefined,
      'destination.address': name,
      'network.transport': name,
      'security_rule.name': name,
      'policy.kind': undefined,
      'policy.namespace': undefined,
      ...(number % 2 === 0 ? verdictOf('denied', name) : {}),
      'k8s.node.name': name,
      'k8s.cluster.name': 'prod',
      'event.action': name,
    }),
  );
}
