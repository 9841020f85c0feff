import { afterEach, describe, expect, test, vi } from 'vitest';
import { readRunOptions, runHelp } from '../../src/commands/options/run-options.ts';
import { UsageError } from '../../src/commands/options/usage-error.ts';
import { configFile, settings } from '../../src/config/settings.ts';
import { readConfig } from '../config/reading.ts';
import { subjectsOf } from '../subject.ts';

const env = { NODE_NAME: 'node-a' };

afterEach(() => {
  vi.unstubAllEnvs();
});

const configOf = (args: string[], given?: Record<string, string>): unknown => {
  const read = readRunOptions(args, given);
  return read === 'help' ? read : read.config;
};

/** The problems of a wrong command line, one a line. */
function problemsOf(args: string[], given: Record<string, string> = env): string[] {
  try {
    readRunOptions(args, given);
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    const lines = (error as Error).message.split('\n');
    expect(lines.pop()).toBe('Try: kube-netfilter-tailer run --help');
    return lines.map((line) => {
      expect(line).toMatch(/^kube-netfilter-tailer: /);
      return line.replace('kube-netfilter-tailer: ', '');
    });
  }
  return [];
}

test.each<[string[], object]>([
  [[], {}],
  [['--node', 'node-b'], { node: 'node-b' }],
  [['--node=node-b', '--node', 'node-c'], { node: 'node-c' }],
  [['--source', 'kernel', '--source=file:/a'], { sources: [{ kind: 'kernel' }, { kind: 'file', path: '/a' }] }],
  [['--prefix', 'a,b=logged'], { prefixes: [{ prefix: 'a,b', verdict: 'logged' }] }],
  [['--include-noise', 'true', '--max-nodes', '7'], { includeNoise: true, maxNodes: 7 }],
  [['--kubeconfig', 'here'], { kubeconfig: 'here' }],
])('the command line %j', (args, expected) => {
  expect(configOf(args, env)).toEqual({ ...readConfig({}, env), ...expected });
});

test('what is not given comes from the environment of the process', () => {
  vi.stubEnv('NODE_NAME', 'node-z');
  vi.stubEnv('MAX_NODES', '3');
  expect(configOf(['--max-services', '4'])).toMatchObject({ node: 'node-z', maxNodes: 3, maxServices: 4 });
});

describe('what cannot be followed', () => {
  test.each<[string[], ...string[]]>([
    [['--colour', 'red'], '--colour'],
    [['--nod', 'a'], '--nod'],
    [['kern.log'], 'kern.log'],
    [['--', '--node'], '--node'],
    [['--include-noise'], '--include-noise'],
    [['--max-nodes', '--log-level', 'debug'], '--max-nodes'],
    [['--help=yes'], '--help'],
    [['-x'], '-x'],
    [['--no-node'], '--no-node'],
    [['--colour', 'red', 'kern.log'], '--colour', 'kern.log'],
    [['--colour=red', 'kern.log'], '--colour', 'kern.log'],
  ])('the command line %j', (args, ...expected) => {
    expect(subjectsOf(problemsOf(args))).toEqual(expected);
  });

  test('is reported all at once, each problem with where it is from', () => {
    const problems = problemsOf(['--max-nodes', 'x', '--state-dir', 'y', '--nods'], { LOG_LEVEL: 'z' });
    expect(subjectsOf(problems)).toEqual([
      '--nods',
      'NODE_NAME or --node',
      '--state-dir "y"',
      'LOG_LEVEL "z"',
      '--max-nodes "x"',
    ]);
  });

  test('is a config file that is not there', () => {
    expect(subjectsOf(problemsOf(['--config', '/nowhere/settings.yaml']))).toEqual(['/nowhere/settings.yaml']);
  });
});

describe('help', () => {
  test.each([['--help'], ['-h'], ['--node', 'NOT A NODE', '--help']])('is asked for by %j', (...args) => {
    expect(readRunOptions(args, {})).toBe('help');
  });

  test.each([configFile, ...Object.values(settings)])('names --$flag, its variable and its default', (setting) => {
    const [, text = ''] = runHelp.split(`  --${setting.flag} ${setting.value}`);
    const own = text.slice(0, text.indexOf('\n  --') > 0 ? text.indexOf('\n  --') : text.indexOf('\nExit'));
    expect(own).toContain(setting.help);
    if (setting.env !== '') expect(own).toContain(`(${setting.env})`);
    if ('default' in setting && setting.default !== '') expect(own).toContain(`Default: ${setting.default}`);
    expect(own.includes('may be repeated')).toBe('list' in setting);
  });

  test('says what the exit status means', () => {
    expect(runHelp).toMatch(/Exit status\n( {2}[012] {2}\S.*\n){3}$/);
  });
});
