import { afterEach, describe, expect, test, vi } from 'vitest';
import { readRunOptions, runHelp } from '../../src/cli/run-options.ts';
import { UsageError } from '../../src/cli/usage-error.ts';
import { readConfig, settings } from '../../src/config.ts';

const env = { NODE_NAME: 'node-a' };

afterEach(() => {
  vi.unstubAllEnvs();
});

/** What is said of a wrong command line, one problem a line. */
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
])('%j', (args, expected) => {
  expect(readRunOptions(args, env)).toEqual({ ...readConfig({}, env), ...expected });
});

test('what is not given comes from the environment of the process', () => {
  vi.stubEnv('NODE_NAME', 'node-z');
  vi.stubEnv('MAX_NODES', '3');
  expect(readRunOptions(['--max-services', '4'])).toMatchObject({ node: 'node-z', maxNodes: 3, maxServices: 4 });
});

describe('what cannot be followed', () => {
  test.each<[string[], string | RegExp]>([
    [['--colour', 'red'], "Unknown option '--colour'"],
    [['kern.log'], /^Unexpected argument 'kern\.log'/],
    [['--node'], /^Option '--node <value>' argument missing/],
    [['--include-noise'], /^Option '--include-noise <value>' argument missing/],
    [['-x'], /^Unknown option '-x'/],
    [['--no-node'], /--no-node/],
  ])('%j', (args, expected) => {
    expect(problemsOf(args)).toEqual([expect.stringMatching(expected)]);
  });

  test('is all said at once', () => {
    expect(problemsOf(['--max-nodes', 'x', '--state-dir', 'y'], { LOG_LEVEL: 'z' })).toEqual([
      expect.stringMatching(/^NODE_NAME or --node: /),
      'STATE_DIR or --state-dir "y": must be an absolute path',
      'LOG_LEVEL or --log-level "z": must be debug, info, warn or error',
      'MAX_NODES or --max-nodes "x": must be a whole number',
    ]);
  });
});

describe('help', () => {
  test.each([['--help'], ['-h'], ['--node', 'NOT A NODE', '--help']])('is asked for by %j', (...args) => {
    expect(readRunOptions(args, {})).toBe('help');
  });

  test.each(Object.values(settings))('names --$flag, its variable and its default', (setting) => {
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
