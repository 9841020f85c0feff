import { readFileSync } from 'node:fs';
import type { Sink } from '../deliver.ts';
import { createFileSink } from './file.ts';
import { createOtlpSink } from './otlp.ts';
import { writeAll } from '../../platform/write-all.ts';

export type SinkSetting = { kind: 'stdout' } | { kind: 'file'; path: string } | { kind: 'otlp'; url: string };

/** The part of `Config` that sinks need. */
export interface SinkSettings {
  node: string;
  cluster?: string | undefined;
  /** In MiB. */
  auditFileSize: number;
  /** In MiB. */
  auditFileTotal: number;
  auditOtlpHeaders?: string | undefined;
  auditOtlpCa?: string | undefined;
}

/** Throws if the CA file cannot be read. The headers' file is read at each request. */
export function createSink(sink: SinkSetting, settings: SinkSettings): Sink {
  switch (sink.kind) {
    case 'stdout':
      return createStdoutSink();
    case 'file':
      return createFileSink({
        path: sink.path,
        size: settings.auditFileSize,
        total: settings.auditFileTotal,
      });
    default:
      return createOtlpSink({
        url: sink.url,
        headers: () => (settings.auditOtlpHeaders === undefined ? {} : readHeaders(settings.auditOtlpHeaders)),
        ca: settings.auditOtlpCa === undefined ? undefined : readFileSync(settings.auditOtlpCa, 'utf8'),
        resource: {
          'service.name': 'kube-netfilter-tailer',
          'k8s.node.name': settings.node,
          ...(settings.cluster !== undefined && { 'k8s.cluster.name': settings.cluster }),
        },
      });
  }
}

/** Reads `NAME: VALUE` lines. Errors contain only the number of a line, because its text may be a secret. */
function readHeaders(file: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    if (line.trim() === '') continue;
    const [, name, value] = /^([\w-]{1,100}):\s*(\S.*)$/.exec(line.trim()) ?? [];
    if (name === undefined || value === undefined) throw new Error(`${file}: line ${index + 1} is no "NAME: VALUE"`);
    headers[name] = value;
  }
  return headers;
}

/** Writes rows between the lines of the log. Only rows have `event.name`, and only log lines have `msg`. */
function createStdoutSink(): Sink {
  return {
    name: 'stdout',
    mostRows: 500,
    send: (rows) => {
      writeAll(1, rows.join(''));
      return Promise.resolve(0);
    },
    close: () => Promise.resolve(),
  };
}
