import { afterEach, expect, test, vi } from 'vitest';
import { readRunOptions } from '../../src/cli/options/run-options.ts';
import { UsageError } from '../../src/cli/options/command.ts';
import { configFile, settings } from '../../src/agent/config/settings.ts';
import { readConfig } from '../agent/config/reading.ts';
import { subjectsOf } from '../subject.ts';
import { asksForHelp, helpOf, parsed } from './parsed.ts';

const env = { NODE_NAME: 'node-a' };

afterEach(() => {
  vi.unstubAllEnvs();
});

const configOf = (args: string[], given?: Record<string, string>): unknown =>
  readRunOptions(parsed('run', ...args), given).config;

/** The problems of a wrong command line, one a line. */
function problemsOf(args: string[], given: Record<string, string> = env): string[] {
  try {
    readRunOptions(parsed('run', ...args), given);
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

test("settings without options come from the process's environment", () => {
  vi.stubEnv('NODE_NAME', 'node-z');
  vi.stubEnv('MAX_NODES', '3');
  expect(configOf(['--max-services', '4'])).toMatchObject({ node: 'node-z', maxNodes: 3, maxServices: 4 });
});

test('unusable settings are reported all at once, each with its origin', () => {
  const problems = problemsOf(['--max-nodes', 'x', '--state-dir', 'y'], { LOG_LEVEL: 'z' });
  expect(subjectsOf(problems)).toEqual(['NODE_NAME or --node', '--state-dir "y"', 'LOG_LEVEL "z"', '--max-nodes "x"']);
});

test.each([['--help'], ['-h'], ['--node', 'NOT A NODE', '--help']])('help is asked for by %j', (...args) => {
  expect(asksForHelp('run', ...args)).toBe(true);
});

test.each([configFile, ...Object.values(settings)])('help names --$flag, its variable and its default', (setting) => {
  const [, text = ''] = helpOf('run').split(`      --${setting.flag} ${setting.value}\n`);
  const own = text.split(/\n(?: {6}--|\n)/, 1)[0]?.replaceAll(/\s+/g, ' ') ?? '';
  expect(own).toContain(setting.help);
  if (setting.env !== '') expect(own).toContain(`(${setting.env})`);
  if ('default' in setting && setting.default !== '') expect(own).toContain(`Default: ${setting.default}`);
  expect(own.includes('may be repeated')).toBe('list' in setting);
});
