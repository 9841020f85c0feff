import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readDoctorOptions } from '../../../src/cli/options/run-options.ts';
import { UsageError } from '../../../src/cli/options/command.ts';
import { settings } from '../../../src/agent/config/settings.ts';
import { readConfig } from '../../agent/config/reading.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { helpOf, parsed } from '../parsed.ts';

const within = temporaryFolder();
const env = { NODE_NAME: 'node-a' };

test('settings are read as run reads them', () => {
  expect(readDoctorOptions(parsed('doctor', '--state-dir', '/state'), { ...env, MAX_NODES: '7' })).toEqual({
    config: { ...readConfig({}, env), stateDir: '/state', maxNodes: 7 },
    problems: [],
    warnings: [],
    output: 'text',
    sendTestEvent: false,
    enableLogging: false,
    pod: undefined,
    access: { flags: expect.objectContaining({ context: undefined }), timeout: undefined },
  });
});

test.each([
  [['-o', 'json'], { output: 'json' }],
  [['--enable-logging', '-o', 'json'], { enableLogging: true, output: 'json' }],
  [['--context', 'c', '--request-timeout=2s'], { access: { flags: { context: 'c' }, timeout: 2000 } }],
  [['--send-test-event'], { sendTestEvent: true, pod: undefined }],
  [['--send-test-event', '--pod', 'shop/web-0'], { sendTestEvent: true, pod: { namespace: 'shop', name: 'web-0' } }],
])('is refused: %j', (args, expected) => {
  expect(readDoctorOptions(parsed('doctor', ...args), env)).toMatchObject(expected);
});

test('wrong settings in the environment are reported, and the others are in force', () => {
  const wrong = { ...env, MAX_NODES: 'many', LOG_LEVEL: 'loud', MAX_SERVICES: '9' };
  expect(readDoctorOptions(parsed('doctor', '--prefix', 'a=dropped'), wrong)).toMatchObject({
    config: { node: 'node-a', maxNodes: 200, logLevel: 'info', maxServices: 9, prefixes: [{ prefix: 'a' }] },
    problems: [expect.stringMatching(/^LOG_LEVEL "loud"/), expect.stringMatching(/^MAX_NODES "many"/)],
  });
});

test.each([[{}], [{ NODE_NAME: 'NOT A NODE' }]])('is not the name of a Node: %j', (given) => {
  expect(readDoctorOptions(parsed('doctor'), given)).toMatchObject({
    config: { node: '' },
    problems: [expect.stringContaining('NODE_NAME')],
  });
});

test.each([
  [[], { CONFIG_FILE: '/no/such/file' }],
  [['--config', '/no/such/file'], {}],
])('a missing config file is reported: %j %j', (args, given) => {
  expect(readDoctorOptions(parsed('doctor', ...args), { ...env, ...given })).toMatchObject({
    config: { node: 'node-a' },
    problems: ['/no/such/file: cannot be read: no such file'],
  });
});

test('correct settings in a wrong file are in force', () => {
  writeFileSync(within('half.yaml'), 'stateDir: /else\nlogLevel: loud\nmaxNods: 5');
  expect(readDoctorOptions(parsed('doctor', '--config', within('half.yaml')), env)).toMatchObject({
    config: { stateDir: '/else', logLevel: 'info' },
    problems: [expect.stringMatching(/half\.yaml:3:1: maxNods/), expect.stringMatching(/half\.yaml:2:11: logLevel/)],
  });
});

test('with a wrong option and a wrong file, the option ends it', () => {
  expect(() => readDoctorOptions(parsed('doctor', '--max-nodes=x', '--config', '/no/such/file'), env)).toThrow(
    /^kube-netfilter-tailer: --max-nodes "x": must be a whole number\nTry: /,
  );
});

test.each([
  [['--max-nodes', 'many'], /--max-nodes "many"/],
  [['--output', 'yaml'], /: --output yaml: /],
  [['--send-test-event', '--pod', 'web-0'], /--pod web-0: must be NAMESPACE\/NAME/],
  [['--send-test-event', '--pod', 'a/b/c'], /--pod a\/b\/c: must be NAMESPACE\/NAME/],
  [['--pod', 'a/b'], /--pod is only for --send-test-event/],
  [['--colour'], /'--colour'/],
])('a wrong command line is refused: %j', (args, expected) => {
  expect(() => readDoctorOptions(parsed('doctor', ...args), env)).toThrow(UsageError);
  expect(() => readDoctorOptions(parsed('doctor', ...args), env)).toThrow(expected);
});

test('help names all settings and the meaning of each exit status', () => {
  const help = helpOf('doctor');
  for (const { flag } of Object.values(settings)) expect(help).toContain(`--${flag} `);
  expect(help).toMatch(/Exit status:\n( {2}[012] {2}\S.*\n( {5}.*\n)?){3}$/);
});
