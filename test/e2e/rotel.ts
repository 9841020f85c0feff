import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from './until.ts';

/** The collector rotel, which prints every record that it gets. Rejects if it does not listen within 20 s. */
export async function startRotel(folder: string, [http = 0, grpc = 0]: readonly number[]) {
  const printed = join(folder, 'rotel.log');
  const file = openSync(printed, 'w');
  const url = `http://127.0.0.1:${http}`;
  const child = spawn(
    'rotel-agent',
    [
      'start',
      '--otlp-http-endpoint',
      `127.0.0.1:${http}`,
      '--otlp-grpc-endpoint',
      `127.0.0.1:${grpc}`,
      '--exporter',
      'blackhole',
      '--debug-log',
      'logs',
      '--debug-log-verbosity',
      'detailed',
      '--pid-file',
      join(folder, 'rotel.pid'),
    ],
    { stdio: ['ignore', file, file] },
  );
  const closed = once(child, 'close');
  await until(
    () => fetch(url).catch(() => undefined),
    () => `[rotel] does not listen: ${readFileSync(printed, 'utf8').slice(0, 1000)}`,
    20_000,
  );
  return {
    url,
    /** The records that it has printed: names and values of attributes, EventName, and the node from the Resource. */
    records: () => recordsIn(readFileSync(printed, 'utf8')),
    async stop() {
      child.kill();
      await closed;
    },
  };
}

function recordsIn(text: string): Record<string, string>[] {
  const records: Record<string, string>[] = [];
  for (const batch of text.split(/^ResourceLog #/m).slice(1)) {
    const [resource = '', ...found] = batch.split(/^LogRecord #/m);
    const node = /-> k8s\.node\.name: Str\((.*)\)/.exec(resource)?.[1] ?? '';
    for (const record of found) {
      const attributes = [...record.matchAll(/^ {5}-> (\S+): \w+\((.*)\)$/gm)].map(([, name = '', value = '']) => [
        name,
        value,
      ]);
      const name = /^EventName: (.*)$/m.exec(record)?.[1] ?? '';
      records.push({ ...(Object.fromEntries(attributes) as Record<string, string>), EventName: name, Resource: node });
    }
  }
  return records;
}
