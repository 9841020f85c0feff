import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { settings } from '../../src/config/settings.ts';
import { createReload } from '../../src/config/reload.ts';
import type { Config } from '../../src/config/schema.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';

type Logged = [level: 'info' | 'warn' | 'error', text: string, fields: Record<string, unknown>];

/** A file that holds `text` or, when that is an Error, cannot be read. */
function scene(
  text: string,
  { env = {}, flags = {} }: { env?: Record<string, string>; flags?: Record<string, string> } = {},
) {
  let now: string | Error = text;
  const readText = (): string => {
    if (now instanceof Error) throw now;
    return now;
  };
  const loaded = loadConfig({ flags: { config: '/f', ...flags }, env: { NODE_NAME: 'node-a', ...env }, readText });
  return {
    ...follow(loaded),
    write: (next: string | Error): void => {
      now = next;
    },
  };
}

function follow(loaded: ReturnType<typeof loadConfig>) {
  const logged: Logged[] = [];
  const applied: Config[] = [];
  const writer = (level: Logged[0]) => (fields: unknown, line?: string) =>
    logged.push([level, line ?? '', fields as Record<string, unknown>]);
  const reload = createReload({
    loaded,
    log: { info: writer('info'), warn: writer('warn'), error: writer('error') },
    apply: (config) => applied.push(config),
  });
  return {
    logged,
    applied,
    reload,
    config: loaded.config,
    look: (times = 2): void => {
      for (let i = 0; i < times; i++) reload.look();
    },
    /** What was logged since the last call: levels and texts. */
    lines: () => logged.splice(0).map(([level, line]) => `${level}: ${line}`),
  };
}

test('while the file does not change, nothing is logged or applied', () => {
  const { look, logged, applied } = scene('logLevel: debug');
  look(100);
  expect([logged, applied]).toEqual([[], []]);
});

test('without a config file, nothing is logged', () => {
  const loaded = loadConfig({ flags: { node: 'node-a' }, env: {}, readText: () => '' });
  const { look, logged, reload } = follow(loaded);
  look(3);
  expect(logged).toEqual([]);
  expect(reload.counts).toEqual({ ok: 0, failed: 0 });
});

test('a change is followed when it has stood for two looks, and once', () => {
  const { write, look, applied, config, logged, reload } = scene('logLevel: info');
  write('logLevel: debug\nprefixes: {a: dropped}\nincludeNoise: true');
  look(1);
  expect(applied).toEqual([]);
  look(5);
  expect(applied).toEqual([
    { ...config, logLevel: 'debug', prefixes: [{ prefix: 'a', verdict: 'dropped' }], includeNoise: true },
  ]);
  expect(logged).toEqual([
    ['info', 'Settings have changed', { file: '/f', settings: ['prefixes', 'includeNoise', 'logLevel'] }],
  ]);
  expect(reload.counts).toEqual({ ok: 1, failed: 0 });
});

test('a file that is being written is not read half', () => {
  const { write, look, applied, logged } = scene('logLevel: info\nincludeNoise: true');
  for (const text of ['', 'logLev', 'logLevel: debug\n', 'logLevel: debug\nincl']) {
    write(text);
    look(1);
  }
  write('logLevel: debug\nincludeNoise: true');
  look();
  expect(applied).toMatchObject([{ logLevel: 'debug', includeNoise: true }]);
  expect(logged).toHaveLength(1);
});

test('a setting that is taken out has its default again', () => {
  const { write, look, applied } = scene('logLevel: debug\nprefixes: {a: dropped}');
  write('# all gone');
  look();
  expect(applied).toMatchObject([{ logLevel: 'info', prefixes: [] }]);
});

describe('a change of a setting that needs a restart', () => {
  test('is reported once to need a restart, and stays in force', () => {
    const { write, look, applied, lines } = scene('maxNodes: 1');
    write('maxNodes: 2\nstateDir: /a');
    look(10);
    expect(applied).toEqual([]);
    expect(lines()).toEqual([
      'info: The config file has changed, but no setting that is followed at once',
      'warn: Changed, but needs a restart: stateDir, maxNodes',
    ]);
  });

  test('does not come along with a setting that is followed', () => {
    const { write, look, applied, config, lines } = scene('maxNodes: 1');
    write('maxNodes: 2\nlogLevel: debug');
    look();
    expect(applied).toEqual([{ ...config, logLevel: 'debug' }]);
    expect(lines()).toEqual(['info: Settings have changed', 'warn: Changed, but needs a restart: maxNodes']);
  });

  test('is no problem when it is taken back', () => {
    const { write, look, lines } = scene('maxNodes: 1');
    write('maxNodes: 2');
    look();
    lines();
    write('maxNodes: 1');
    look();
    expect(lines()).toEqual(['info: The config file has changed, but no setting that is followed at once']);
  });

  test.each(Object.entries(settings))('%s: what the table says holds', (name, setting) => {
    const others: Record<string, string> = {
      node: 'node-b',
      sources: '[kernel]',
      containers: '[a/b/c]',
      units: '[k3s]',
      podCache: 'cluster',
      podLookups: '[pod-cidr]',
      prefixes: '[a=dropped]',
      includeNoise: 'true',
      timeZone: 'Europe/Berlin',
      reverseDns: 'false',
      metricsAddress: '":1"',
      healthAddress: '":2"',
      legacyMetric: 'name',
      logLevel: 'debug',
      maxNodes: '1',
      maxServices: '1',
      maxEndpointSlices: '1',
    };
    const { write, look, applied, lines } = scene('node: node-a', { env: { NODE_NAME: '' } });
    write(`${name === 'node' ? '' : 'node: node-a\n'}${name}: ${others[name] ?? '/other'}`);
    look();
    expect(applied).toHaveLength('reload' in setting ? 1 : 0);
    expect(lines().some((line) => line.endsWith(`needs a restart: ${name}`))).toBe(!('reload' in setting));
  });
});

describe('a file that is wrong', () => {
  test('is reported once with all that is wrong, and changes nothing', () => {
    const { write, look, applied, logged, reload } = scene('logLevel: debug');
    write('logLevel: x\nmaxNode: 1\nincludeNoise: true');
    look(10);
    expect(applied).toEqual([]);
    expect(logged).toEqual([
      [
        'error',
        'The config file has changed and is wrong: the settings stay as they are',
        {
          file: '/f',
          problems: [
            '/f:2:1: maxNode: there is no such setting; did you mean maxNodes?',
            '/f:1:11: logLevel "x": must be debug, info, warn or error',
          ],
        },
      ],
    ]);
    expect(reload.counts).toEqual({ ok: 0, failed: 1 });
  });

  test('is followed once it is right', () => {
    const { write, look, applied, reload } = scene('logLevel: debug');
    write('logLevel: x');
    look();
    write('logLevel: warn');
    look();
    expect(applied).toMatchObject([{ logLevel: 'warn' }]);
    expect(reload.counts).toEqual({ ok: 1, failed: 1 });
  });

  test('that is again as it was before the mistake is reported as read, and nothing is applied', () => {
    const { write, look, applied, lines } = scene('logLevel: debug');
    write('{');
    look();
    write('logLevel: debug');
    look();
    expect(applied).toEqual([]);
    expect(lines()).toEqual([
      'error: The config file has changed and is wrong: the settings stay as they are',
      'info: The config file has changed, but no setting that is followed at once',
    ]);
  });

  test('that cannot be read is reported once, and once when it can be read again', () => {
    const { write, look, lines, reload } = scene('logLevel: debug');
    write(new Error('cannot be read: no such file'));
    look(10);
    expect(lines()).toEqual(['error: The config file cannot be read: no such file: the settings stay as they are']);
    write('logLevel: debug');
    look(10);
    expect(lines()).toEqual(['info: The config file can be read again']);
    expect(reload.counts).toEqual({ ok: 0, failed: 1 });
  });
});

test('an option or a variable goes over a changed file, too', () => {
  const { write, look, applied } = scene('{}', { env: { LOG_LEVEL: 'warn' }, flags: { 'include-noise': 'false' } });
  write('logLevel: debug\nincludeNoise: true');
  look();
  expect(applied).toEqual([]);
});

describe('a mounted ConfigMap', () => {
  const folder = temporaryFolder();

  /** As the kubelet does it: the new files in a folder of their own, then one link is swapped. */
  function swap(revision: string, text: string): void {
    mkdirSync(folder(revision));
    writeFileSync(folder(revision, 'settings.yaml'), text);
    symlinkSync(revision, folder('..data_tmp'));
    renameSync(folder('..data_tmp'), folder('..data'));
  }

  test('is followed through the swap of its link', () => {
    swap('..1', 'logLevel: info');
    symlinkSync('..data/settings.yaml', folder('settings.yaml'));
    const { look, applied, lines } = follow(
      loadConfig({ flags: { config: folder('settings.yaml'), node: 'node-a' }, env: {} }),
    );
    swap('..2', 'logLevel: debug');
    rmSync(folder('..1'), { recursive: true });
    look();
    expect(applied).toMatchObject([{ logLevel: 'debug' }]);
    lines();
    rmSync(folder('..data'));
    look();
    expect(lines()).toEqual(['error: The config file cannot be read: no such file: the settings stay as they are']);
  });
});

describe('whether what the file says holds', () => {
  test('from the start, and without a file', () => {
    expect(scene('logLevel: info').reload.inForce).toBe(true);
    const loaded = loadConfig({ flags: { node: 'node-a' }, env: {}, readText: () => '' });
    expect(follow(loaded).reload.inForce).toBe(true);
  });

  test.each<[string, string | Error]>([
    ['is wrong', 'logLevel: loud'],
    ['cannot be read', new Error('is gone')],
    ['needs a restart', 'maxNodes: 7'],
    ['needs a restart in part', 'logLevel: debug\nmaxNodes: 7'],
  ])('not while it %s, and then again', (_, next) => {
    const { write, look, reload } = scene('logLevel: info');
    write(next);
    look();
    expect(reload.inForce).toBe(false);
    look();
    expect(reload.inForce).toBe(false);
    write('logLevel: warn');
    look();
    expect(reload.inForce).toBe(true);
  });

  test('a wrong one that is gone and comes back is still wrong', () => {
    const { write, look, reload } = scene('logLevel: info');
    for (const next of ['logLevel: loud', new Error('is gone'), 'logLevel: loud']) {
      write(next);
      look();
    }
    expect(reload.inForce).toBe(false);
  });
});
