import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../src/agent/config/config.ts';
import { settingNames, settings } from '../../../src/agent/config/settings.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { subjectsOf } from '../../subject.ts';
import { others } from './other-values.ts';
import { createReloadScene, follow } from './reload-scene.ts';

test('while the file does not change, nothing is logged or applied', () => {
  const { look, logged, applied } = createReloadScene('logLevel: debug');
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

test('a change is applied once, after two looks have seen it', () => {
  const { write, look, applied, config, logged, reload } = createReloadScene('logLevel: info');
  write('logLevel: debug\nprefixes: {a: dropped}\nincludeNoise: true');
  look(1);
  expect(applied).toEqual([]);
  look(5);
  expect(applied).toEqual([
    { ...config, logLevel: 'debug', prefixes: [{ prefix: 'a', verdict: 'dropped' }], includeNoise: true },
  ]);
  expect(logged).toEqual([
    ['info', expect.any(String), { file: '/f', settings: ['prefixes', 'includeNoise', 'logLevel'] }],
  ]);
  expect(reload.counts).toEqual({ ok: 1, failed: 0 });
});

test('a file that is still being written is not read in part', () => {
  const { write, look, applied, logged } = createReloadScene('logLevel: info\nincludeNoise: true');
  for (const text of ['', 'logLev', 'logLevel: debug\n', 'logLevel: debug\nincl']) {
    write(text);
    look(1);
  }
  write('logLevel: debug\nincludeNoise: true');
  look();
  expect(applied).toMatchObject([{ logLevel: 'debug', includeNoise: true }]);
  expect(logged).toHaveLength(1);
});

test('a removed setting has its default again', () => {
  const { write, look, applied } = createReloadScene('logLevel: debug\nprefixes: {a: dropped}');
  write('# all gone');
  look();
  expect(applied).toMatchObject([{ logLevel: 'info', prefixes: [] }]);
});

test('a change that needs a restart is reported once, and the old value stays in force', () => {
  const { write, look, applied, records } = createReloadScene('maxNodes: 1');
  write('maxNodes: 2\nstateDir: /a');
  look(10);
  expect(applied).toEqual([]);
  expect(records()).toEqual([
    { level: 'info', settings: [] },
    { level: 'warn', settings: ['stateDir', 'maxNodes'] },
  ]);
});

test('a change that needs a restart does not take effect together with another change', () => {
  const { write, look, applied, config, records } = createReloadScene('maxNodes: 1');
  write('maxNodes: 2\nlogLevel: debug');
  look();
  expect(applied).toEqual([{ ...config, logLevel: 'debug' }]);
  expect(records()).toEqual([
    { level: 'info', settings: ['logLevel'] },
    { level: 'warn', settings: ['maxNodes'] },
  ]);
});

test.each(settingNames)('a change that needs a restart: %s: the table is right', (name) => {
  const setting = settings[name];
  const [value] = others[name];
  const text = /^(?:true|false|\d+)$/.test(String(value)) ? value : JSON.stringify(value);
  const { write, look, applied, records } = createReloadScene('node: node-a', { env: { NODE_NAME: '' } });
  write(`${name === 'node' ? '' : 'node: node-a\n'}${name}: ${String(text)}`);
  look();
  expect(applied).toHaveLength('reload' in setting ? 1 : 0);
  expect(records()).toContainEqual({ level: 'reload' in setting ? 'info' : 'warn', settings: [name] });
});

test('a wrong file is reported once with all its mistakes, and changes nothing', () => {
  const { write, look, applied, logged, reload } = createReloadScene('logLevel: debug');
  write('logLevel: x\nmaxNode: 1\nincludeNoise: true');
  look(10);
  expect(applied).toEqual([]);
  expect(logged).toEqual([
    ['error', expect.any(String), { file: '/f', problems: [expect.any(String), expect.any(String)] }],
  ]);
  expect(subjectsOf(logged[0]?.[2]['problems'] as string[])).toEqual(['/f:2:1: maxNode', '/f:1:11: logLevel "x"']);
  expect(reload.counts).toEqual({ ok: 0, failed: 1 });
});

test('a wrong file is applied once it is right', () => {
  const { write, look, applied, reload } = createReloadScene('logLevel: debug');
  write('logLevel: x');
  look();
  write('logLevel: warn');
  look();
  expect(applied).toMatchObject([{ logLevel: 'warn' }]);
  expect(reload.counts).toEqual({ ok: 1, failed: 1 });
});

test('a file that cannot be read is reported once, and once more when it can be read again', () => {
  const { write, look, records, reload } = createReloadScene('logLevel: debug');
  write(new Error('no luck'));
  look(10);
  expect(records()).toEqual([{ level: 'error', reason: 'no luck' }]);
  write('logLevel: debug');
  look(10);
  expect(records()).toEqual([{ level: 'info' }]);
  expect(reload.counts).toEqual({ ok: 0, failed: 1 });
});

test('an option or a variable also overrides a changed file', () => {
  const { write, look, applied } = createReloadScene('{}', {
    env: { LOG_LEVEL: 'warn' },
    flags: { 'include-noise': 'false' },
  });
  write('logLevel: debug\nincludeNoise: true');
  look();
  expect(applied).toEqual([]);
});

const folder = temporaryFolder();

/** Swaps the files as the kubelet does: new files in a folder of their own, then one link. */
function swap(revision: string, text: string): void {
  mkdirSync(folder(revision));
  writeFileSync(folder(revision, 'settings.yaml'), text);
  symlinkSync(revision, folder('..data_tmp'));
  renameSync(folder('..data_tmp'), folder('..data'));
}

test('a mounted ConfigMap is followed when its link is swapped', () => {
  swap('..1', 'logLevel: info');
  symlinkSync('..data/settings.yaml', folder('settings.yaml'));
  const { look, applied, records } = follow(
    loadConfig({ flags: { config: folder('settings.yaml'), node: 'node-a' }, env: {} }),
  );
  swap('..2', 'logLevel: debug');
  rmSync(folder('..1'), { recursive: true });
  look();
  expect(applied).toMatchObject([{ logLevel: 'debug' }]);
  records();
  rmSync(folder('..data'));
  look();
  expect(records()).toEqual([{ level: 'error', reason: expect.any(String) }]);
});

test.each<[string, string | Error]>([
  ['is wrong', 'logLevel: loud'],
  ['cannot be read', new Error('is gone')],
  ['needs a restart', 'maxNodes: 7'],
  ['needs a restart in part', 'logLevel: debug\nmaxNodes: 7'],
])('the file is not in force while it %s, and is again later', (_, next) => {
  const { write, look, reload } = createReloadScene('logLevel: info');
  write(next);
  look();
  expect(reload.inForce).toBe(false);
  look();
  expect(reload.inForce).toBe(false);
  write('logLevel: warn');
  look();
  expect(reload.inForce).toBe(true);
});

test('a wrong file that disappears and comes back is still wrong', () => {
  const { write, look, reload } = createReloadScene('logLevel: info');
  for (const next of ['logLevel: loud', new Error('is gone'), 'logLevel: loud']) {
    write(next);
    look();
  }
  expect(reload.inForce).toBe(false);
});
