import fc from 'fast-check';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../src/agent/config/config.ts';
import { settingNames, settings } from '../../../src/agent/config/settings.ts';
import { printJson, printYaml, withoutDefaults } from '../../../src/cli/options/run-options.ts';
import type { Flags } from '../../../src/agent/config/layer.ts';
import { verdicts } from '../../../src/base/model/packet.ts';
import { readFileOf } from './reading.ts';
import { forAll } from '../../for-all.ts';

/** Reads printed settings back, from the file alone. */
const readBack = (text: string) => loadConfig({ flags: { config: 'printed' }, env: {}, readText: () => text });
const read = (flags: Flags, env: Record<string, string> = {}) => loadConfig({ flags, env, readText: () => '' });

describe('read back as a file, it is the same', () => {
  const path = fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => `/${text}`);
  const line = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).filter((text) => /^.*\S.*$/.test(text));
  const name = fc.stringMatching(/^[a-z0-9][a-z0-9.-]{0,20}[a-z0-9]$/);
  const pattern = fc.stringMatching(/^[a-z0-9.*-]{1,8}$/);
  const patterns = fc.array(pattern, { minLength: 1, maxLength: 2 }).map((list) => list.join(','));
  const number = fc.nat(999_999_999).map(String);
  const truth = fc.constantFrom('true', 'false');
  const source = fc.oneof(
    fc.constantFrom('auto', 'kernel', 'containers', 'journal'),
    line.map((text) => `file:/${text}`),
    line.map((text) => `journal:/${text}`),
  );
  const awkward = fc.constantFrom(
    ...`null ~ true 1e3 # it's " % @ !!x &a *a > | \u2028 << = \\ 0x1 1_000 12:30 no`.split(' '),
    '- a',
    'a: b',
    'a\nb',
    '',
  );
  const flags: fc.Arbitrary<Flags> = fc.record(
    {
      node: name,
      source: fc.uniqueArray(source, {
        minLength: 1,
        maxLength: 4,
        selector: (text) => (text.startsWith('journal') ? 'journal' : text.trim()),
      }),
      containers: fc.array(
        fc.tuple(patterns, patterns, patterns).map((parts) => parts.join('/')),
        { maxLength: 3 },
      ),
      'pod-logs': path,
      'state-dir': fc.oneof(
        path,
        awkward.map((text) => `/${text}`),
      ),
      'pod-cache': fc.constantFrom(...settings.podCache.choices),
      prefix: fc.array(
        fc
          .tuple(
            fc.oneof(
              line,
              awkward.filter((text) => /^.+$/.test(text)),
            ),
            fc.constantFrom(...verdicts),
          )
          .map(([a, b]) => `${a}=${b}`),
        { maxLength: 4 },
      ),
      'include-noise': truth,
      'time-zone': fc.constantFrom('UTC', 'Europe/Berlin', '+02:00'),
      'reverse-dns': truth,
      'metrics-address': fc.constantFrom(':9090', '[::1]:80', 'localhost:0', '127.0.0.1:1'),
      'health-address': fc.constantFrom(':9091', '[::1]:81', 'localhost:0', '127.0.0.1:2'),
      'legacy-metric': fc.constantFrom(...settings.legacyMetric.choices),
      'log-level': fc.constantFrom(...settings.logLevel.choices),
      kubeconfig: fc.oneof(awkward, fc.string({ unit: 'grapheme' })),
      'max-nodes': number,
      'max-services': number,
      'max-endpoint-slices': number,
      'proc-root': path,
    },
    { requiredKeys: ['node'] },
  );

  test('with default values', () => {
    forAll([flags], { numRuns: 200 }, (given) => {
      const { config, given: effective } = read(given);
      const again = readBack(printYaml(effective));
      expect(again.config).toEqual(config);
      // Every value came from the file.
      expect(Object.values(again.given).every(({ origin }) => origin.kind === 'file')).toBe(true);
    });
  });

  test('without default values', () => {
    forAll([flags], { numRuns: 100 }, (given) => {
      const { config, given: effective } = read(given);
      expect(readBack(printYaml(withoutDefaults(effective))).config).toEqual(config);
    });
  });

  test('as JSON', () => {
    forAll([flags], { numRuns: 100 }, (given) => {
      const { config, given: effective } = read(given);
      const { config: printed } = JSON.parse(printJson(effective, [])) as { config: unknown };
      expect(readBack(JSON.stringify(printed)).config).toEqual(config);
    });
  });
});

const example = readFileOf('maxNodes: 5\nprefixes:\n  a: dropped', {
  env: { LOG_LEVEL: 'debug', METRICS_SERVER_PORT: '8080' },
  flags: { 'time-zone': 'Europe/Berlin' },
});

test('each value has a comment that names its origin', () => {
  const lines = printYaml(example.given).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'node: node-a  # NODE_NAME',
      'sources:  # default',
      '  - auto',
      'prefixes:  # /etc/knt/settings.yaml:3:3',
      '  - a=dropped',
      'timeZone: Europe/Berlin  # --time-zone',
      'metricsAddress: :8080  # METRICS_SERVER_PORT',
      'logLevel: debug  # LOG_LEVEL',
      'maxNodes: 5  # /etc/knt/settings.yaml:1:11',
    ]),
  );
  const keys = Object.keys(load(lines.join('\n')) as object);
  // These are not set here, and have no default.
  const without = new Set([
    'kubeconfig',
    'healthAddress',
    'dropsAddress',
    'directory',
    'cluster',
    'auditOtlpHeaders',
    'auditOtlpCa',
  ]);
  expect(keys).toEqual(settingNames.filter((name) => !without.has(name)));
});

test('without default values, only values of options, variables or the file are printed', () => {
  expect(Object.keys(withoutDefaults(example.given)).toSorted()).toEqual([
    'logLevel',
    'maxNodes',
    'metricsAddress',
    'node',
    'prefixes',
    'timeZone',
  ]);
});

test('the name of a file cannot end the comment', () => {
  const { given } = loadConfig({
    flags: { config: '/a\nnode: other', node: 'node-a' },
    env: {},
    readText: () => 'maxNodes: 1',
  });
  expect(readBack(printYaml(given)).config.node).toBe('node-a');
});

test('as JSON, settings and their origins have the same keys', () => {
  const { config, from } = JSON.parse(printJson(example.given, [])) as Record<string, Record<string, unknown>>;
  expect(Object.keys(from ?? {})).toEqual(Object.keys(config ?? {}));
  expect(config).toMatchObject({ maxNodes: 5, includeNoise: false, prefixes: ['a=dropped'] });
  expect(from).toMatchObject({
    maxNodes: '/etc/knt/settings.yaml:1:11',
    includeNoise: 'default',
    logLevel: 'LOG_LEVEL',
  });
});
