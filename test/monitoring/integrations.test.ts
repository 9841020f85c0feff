import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import vm from 'node:vm';
import { parser as logql } from '@grafana/lezer-logql';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import type { CoreEvent } from '../../src/publish/events/event.ts';
import { textOf } from './files.ts';
import { eventsOfSample } from './sample-events.ts';

const { plugins } = load(textOf('deploy/integrations/k9s-plugins.yaml')) as {
  plugins: Record<string, { shortCut: string; description: string; scopes: string[]; command: string; args: string[] }>;
};

test('no view of k9s has two plug-ins on one key', () => {
  const keys = Object.values(plugins).flatMap(({ shortCut, scopes }) => scopes.map((scope) => `${scope} ${shortCut}`));
  expect(new Set(keys).size).toBe(keys.length);
});

test.each(Object.entries(plugins))(
  'k9s: %s passes names on unchanged, and kubectl-drops accepts its options',
  (_, { command, args }) => {
    const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-k9s-'));
    try {
      const written = (name: string, text: string): void => {
        writeFileSync(join(folder, name), text);
        chmodSync(join(folder, name), 0o755);
      };
      const main = new URL('../../src/main.ts', import.meta.url).pathname;
      written(
        'kubectl',
        `#!/bin/sh\nprintf '<%s>' "$@" > '${folder}/asked'\nexec '${process.execPath}' '${main}' "$@"\n`,
      );
      const clusters = [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }];
      written('less', '#!/bin/sh\ncat\n');
      const evil = `a'b"; touch ${folder}/owned #`;
      written(
        'config',
        JSON.stringify({
          clusters,
          users: [{ name: 'u', user: {} }],
          contexts: [{ name: evil, context: { cluster: 'c', user: 'u' } }],
        }),
      );
      const values: Record<string, string> = { $CONTEXT: evil, $NAMESPACE: 'shop', $NAME: 'cart-0' };
      const run = spawnSync(
        command,
        args.map((each) => values[each] ?? each),
        { encoding: 'utf8', env: { PATH: `${folder}:${process.env['PATH']}`, KUBECONFIG: join(folder, 'config') } },
      );
      // The options are understood and the context exists; only its API server does not.
      expect(run.stdout).toContain('ECONNREFUSED');
      const asked = spawnSync('cat', [join(folder, 'asked')], { encoding: 'utf8' }).stdout;
      expect(asked).toContain(`<drops><--context><${evil}>`);
      expect(spawnSync('ls', [folder], { encoding: 'utf8' }).stdout).not.toContain('owned');
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

interface Tool {
  name: string;
  command: string;
}

const { toolsets } = load(textOf('deploy/integrations/holmesgpt-toolset.yaml')) as {
  toolsets: Record<string, { prerequisites: { command: string }[]; tools: Tool[] }>;
};
const tools = Object.values(toolsets).flatMap((each) => each.tools);

/** Quotes as HolmesGPT does, by Python's shlex.quote. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'"'"'`)}'`;

/** Runs a command of the toolset in a shell, with values quoted as HolmesGPT does, and without an API server. */
function runTool(command: string, values: Readonly<Record<string, string>>) {
  const main = new URL('../../src/main.ts', import.meta.url).pathname;
  const filled = command.replaceAll(/\{\{ (\w+) \}\}/g, (_, name: string) => quoted(values[name] ?? ''));
  const script = `kubectl() { ${quoted(process.execPath)} ${quoted(main)} "$@" ; }\n${filled}`;
  const env = { PATH: process.env['PATH'], KUBECONFIG: new URL('no-server.yaml', import.meta.url).pathname };
  return spawnSync('sh', ['-c', script], { encoding: 'utf8', env });
}

test.each(tools)('HolmesGPT: $name asks the API server', ({ command }) => {
  const values = { namespace: 'shop', pod: 'cart-0', from: 'shop/cart-0', to: 'svc/shop/postgres', port: '5432/TCP' };
  expect(runTool(command, values).stderr).toContain('the connection to 127.0.0.1:1 was refused');
});

test.each(tools)('HolmesGPT: $name accepts no value as an option, which could name another server', ({ command }) => {
  for (const name of ['namespace', 'pod', 'from', 'to', 'port']) {
    const values = { namespace: 'shop', pod: 'cart-0', from: 'shop/cart-0', to: 'svc/shop/postgres', port: '5432/TCP' };
    const { stderr } = runTool(command, { ...values, [name]: '--server=http://127.0.0.2:2' });
    expect(stderr).not.toContain('the connection to 127.0.0.2');
  }
});

test('HolmesGPT: its check for the plug-in succeeds without a cluster', () => {
  const [check] = Object.values(toolsets).flatMap(({ prerequisites }) => prerequisites);
  expect(runTool(check?.command ?? '', {})).toMatchObject({ status: 0 });
});

interface Element {
  type: unknown;
  props: {
    columns: { label: string; getter: (event: CoreEvent) => unknown }[];
    data: CoreEvent[];
    errorMessage: string | null;
  };
  children: Element[];
}

const shown = (events: readonly object[] | null, error: Error | null = null): { asked: unknown; table: Element } => {
  const registered: { component?: () => Element }[] = [];
  let asked: unknown;
  const useList = (query: unknown): unknown[] => {
    asked = query;
    return [events, error];
  };
  const pluginLib = {
    React: { createElement: (type: unknown, props: unknown, ...children: unknown[]) => ({ type, props, children }) },
    K8s: { ResourceClasses: { Event: { useList } } },
    CommonComponents: { SectionBox: 'SectionBox', SimpleTable: 'SimpleTable', Link: 'Link' },
    registerRoute: (route: { component: () => Element }) => registered.push(route),
    registerSidebarEntry: () => {},
  };
  vm.runInNewContext(textOf('deploy/integrations/headlamp/main.js'), { window: { pluginLib } });
  const page = registered[0]?.component?.();
  return { asked, table: page?.children[0] as Element };
};

test('Headlamp, with stand-ins for its parts: the page lists Events of this program, the newest first', () => {
  const events = eventsOfSample('policy-deny').map((event) =>
    Object.assign(event, { lastOccurrence: event.lastTimestamp }),
  );
  const { asked, table } = shown(events);
  expect(asked).toEqual({ fieldSelector: 'source=kube-netfilter-tailer' });
  const times = table.props.data.map(({ lastTimestamp }) => lastTimestamp);
  expect(times).toEqual(times.toSorted().toReversed());
  expect(times.length).toBeGreaterThan(1);
  const [first] = table.props.data as [CoreEvent];
  const cells = Object.fromEntries(table.props.columns.map(({ label, getter }) => [label, getter(first)]));
  expect(cells).toMatchObject({ Count: first.count, Reason: first.reason, Message: first.message });
  expect(cells).toMatchObject({ Peer: '← Deployment/batch/worker', Port: '5432/TCP', Policy: '', Code: '' });
  expect(cells['Object']).toMatchObject({ type: 'Link', props: { params: { name: first.involvedObject.name } } });
});

test('Headlamp, with stand-ins for its parts: an Event of many peers says how many; one of an older version has empty cells', () => {
  const [event] = eventsOfSample('policy-deny') as [CoreEvent];
  const annotations = { 'kube-netfilter-tailer/peers': '41', 'kube-netfilter-tailer/ports': '7' };
  const cellsOf = (metadata: object): object => {
    const { columns } = shown([event]).table.props;
    return Object.fromEntries(columns.map(({ label, getter }) => [label, getter({ ...event, ...metadata })]));
  };
  expect(cellsOf({ metadata: { annotations } })).toMatchObject({ Peer: '41 peers', Port: '7 ports' });
  expect(cellsOf({ metadata: {} })).toMatchObject({ Peer: '', Port: '', Policy: '', Code: '' });
});

test('Headlamp, with stand-ins for its parts: the page is shown before anything has arrived, and without the right to list Events', () => {
  expect(shown(null).table.props).toMatchObject({ data: null, errorMessage: null });
  expect(shown(null, new Error('forbidden')).table.props.errorMessage).toContain('forbidden');
});

describe('Loki', () => {
  const page = textOf('docs/integrations.md');
  const queries = Array.from(page.matchAll(/^```logql\n(.*?)^```$/gms), ([, text = '']) => text.trim());

  test.each(queries)('%s is LogQL', (query) => {
    expect(errorsIn(query)).toBe(0);
    expect(query).toMatch(/\{job="(?:kubernetes-events|kube-netfilter-tailer)"/);
  });

  test('queries exist, and the parser finds mistakes', () => {
    expect(queries.length).toBeGreaterThan(2);
    expect(errorsIn('sum by (namespace) (rate({job="x"} | logfmt [5m])')).toBeGreaterThan(0);
  });

  test('the queries select by labels that Alloy sets', () => {
    const config = textOf('deploy/integrations/alloy.alloy');
    expect(config).toContain('job_name   = "kubernetes-events"');
    const labels = queries.flatMap((query) =>
      Array.from(/^[^{]*\{([^}]*)\}/.exec(query)?.[1]?.matchAll(/(\w+)=/g) ?? [], ([, label = '']) => label),
    );
    expect(labels.filter((label) => !['job', 'namespace', 'reason', 'type'].includes(label))).toEqual([]);
  });
});

describe('Loki with the audit', () => {
  const queries = textOf('deploy/audit/loki-queries.logql').trim().split('\n\n');

  test.each(queries)('%s is LogQL', (query) => {
    expect(errorsIn(query)).toBe(0);
    expect(query).toContain('{action=~"dropped|rejected"}');
  });

  test('both shippers set exactly the labels cluster, namespace and action', () => {
    const fluentBit = load(textOf('deploy/audit/fluent-bit.yaml')) as {
      pipeline: { outputs: { name: string; labels?: string }[] };
    };
    const vector = load(textOf('deploy/audit/vector.yaml')) as { sinks: { loki: { labels: object } } };
    const labels = fluentBit.pipeline.outputs.find(({ name }) => name === 'loki')?.labels?.split(', ');
    expect(labels?.map((each) => each.split('=')[0])).toEqual(['cluster', 'namespace', 'action']);
    expect(Object.keys(vector.sinks.loki.labels)).toEqual(['cluster', 'namespace', 'action']);
  });
});

function errorsIn(query: string): number {
  let errors = 0;
  logql.parse(query).iterate({ enter: ({ type }) => void (errors += type.isError ? 1 : 0) });
  return errors;
}
