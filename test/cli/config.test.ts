import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkConfig, printConfig } from '../../src/cli/options/run-options.ts';
import { UsageError } from '../../src/cli/options/command.ts';
import { settings } from '../../src/agent/config/settings.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { subjectsOf } from '../subject.ts';
import { parsed } from './parsed.ts';
import { program, subjectsIn } from './program.ts';

const env = { NODE_NAME: 'node-a' };
const folder = temporaryFolder();

function runConfig([verb = '', ...args]: string[], given: Record<string, string>): string {
  const command = parsed('config', verb, ...args);
  return verb === 'print' ? printConfig(command, given) : checkConfig(command);
}

function file(name: string, text: string): string {
  writeFileSync(folder(name), text);
  return folder(name);
}

function problemsOf(args: string[], given: Record<string, string> = env): string[] {
  try {
    runConfig(args, given);
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    const lines = (error as Error).message.split('\n');
    expect(lines.pop()).toMatch(/^Try: kube-netfilter-tailer config(?: print| check)? --help$/);
    return lines.map((line) => line.replace('kube-netfilter-tailer: ', ''));
  }
  return [];
}

test('print shows the values of options, variables and the file', () => {
  const configFile = file('set.yaml', 'maxNodes: 5');
  expect(runConfig(['print', '--config', configFile, '--log-level=debug'], env)).toBe(
    `node: node-a  # NODE_NAME\nlogLevel: debug  # --log-level\nmaxNodes: 5  # ${configFile}:1:11\n`,
  );
});

test('--effective shows all settings', () => {
  const printed = runConfig(['print', '--effective'], env);
  expect(printed).toContain('node: node-a  # NODE_NAME\n');
  expect(printed).toContain('maxNodes: 200  # default\n');
  expect(printed.match(/^\w+:/gm)).toHaveLength(
    Object.values(settings).filter((setting) => 'default' in setting || setting.flag === 'node').length,
  );
});

test('warnings are comments', () => {
  const printed = runConfig(['print'], { ...env, WATCH_LOGS_INTERVAL_SECONDS: '5', METRICS_SERVER_PORT: '1' });
  expect(printed.split('\n')).toEqual([
    expect.stringMatching(/^# METRICS_SERVER_PORT /),
    expect.stringMatching(/^# WATCH_LOGS_INTERVAL_SECONDS /),
    'node: node-a  # NODE_NAME',
    'metricsAddress: :1  # METRICS_SERVER_PORT',
    '',
  ]);
});

test('warnings are also in JSON', () => {
  const printed = runConfig(['print', '-o', 'json'], { ...env, METRICS_SERVER_PORT: '1' });
  expect(JSON.parse(printed)).toMatchObject({ warnings: [expect.stringMatching(/^METRICS_SERVER_PORT /)] });
});

test.each([['-o', 'json'], ['--output=json']])('print: %s', (...args) => {
  expect(JSON.parse(runConfig(['print', ...args], { ...env, MAX_NODES: '1' }))).toEqual({
    config: { node: 'node-a', maxNodes: 1 },
    from: { node: 'NODE_NAME', maxNodes: 'MAX_NODES' },
    warnings: [],
  });
});

test('print refuses the same values as run, all at once', () => {
  expect(subjectsOf(problemsOf(['print', '--max-nodes', 'x'], {}))).toEqual(['NODE_NAME or --node', '--max-nodes "x"']);
  expect(subjectsOf(problemsOf(['print', '-o', 'toml']))).toEqual(['--output toml']);
  expect(problemsOf(['print', '--effective=yes'])).toHaveLength(1);
});

test('a correct file is accepted, even if it does not name the node', () => {
  const right = file('right.yaml', 'maxNodes: 5');
  expect(runConfig(['check', right], {})).toBe(`${right}: right\n`);
});

test('a wrong file is refused, whatever the environment has', () => {
  const wrong = file('wrong.yaml', 'maxNods: 5\nlogLevel: x');
  expect(subjectsOf(problemsOf(['check', wrong], { LOG_LEVEL: 'debug' }))).toEqual([
    `${wrong}:1:1: maxNods`,
    `${wrong}:2:11: logLevel "x"`,
  ]);
});

test('the program prints and ends with status 0', async () => {
  expect(await program(['config', 'print', '--node', 'node-z'], { env: { NODE_NAME: '', CONFIG_FILE: '' } })).toEqual({
    status: 0,
    out: 'node: node-z  # --node\n',
    err: '',
  });
});

test('the program prints the problem, with exit status 2, and run refuses the file in the same words', async () => {
  const wrong = file('wrong-run.yaml', 'maxNods: 5');
  const checked = await program(['config', 'check', wrong]);
  expect([checked.status, checked.out, subjectsIn(checked.err)]).toEqual([2, '', [`${wrong}:1:1: maxNods`]]);
  const { status, out, err } = await program(['run'], { env: { NODE_NAME: 'node-a', CONFIG_FILE: wrong } });
  expect([status, out]).toEqual([2, '']);
  expect(err).toBe(checked.err.replace('config check --help', 'run --help'));
});
