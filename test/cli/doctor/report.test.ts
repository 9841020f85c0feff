import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { readConfig } from '../../agent/config/reading.ts';
import { runChecks } from '../../../src/cli/doctor/doctor.ts';
import { gatherFacts } from '../../../src/cli/doctor/facts.ts';
import {
  answersOf,
  type Check,
  type DoctorReport,
  jsonReport,
  statusOf,
  textReport,
} from '../../../src/cli/doctor/report.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { nine } from '../../builders.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { answered, fakeApi, fakeMachine, programs } from './fake.ts';

const within = temporaryFolder();

function report(...checks: Check[]): DoctorReport {
  return { version: '0.1.0', node: 'node-a', time: nine, checks };
}

const mixed = report(
  answersOf('settings').ok('can be used'),
  answersOf('rights').problem('missing: patch events', 'grant it'),
  answersOf('prefix with a name that is longer than others').warning('two\nlines', 'do it'),
  answersOf('agent').unknown('none answers', 'ask it'),
  answersOf('node').ok('node-a is there'),
);

test('a line for each check, and one of advice', () => {
  expect(textReport(mixed, (_, text) => text)).toBe(
    `ok       settings  can be used
problem  rights    missing: patch events
         → grant it
warning  prefix with a name that is longer than others  two\\x0alines
         → do it
unknown  agent     none answers
         → ask it
ok       node      node-a is there

1 problem, 1 warning, 1 unknown, 2 ok
`,
  );
});

test('text: only the status has a colour', () => {
  const painted = textReport(
    report(answersOf('clock').warning('late', 'set it')),
    (status, text) => `<${status}>${text}</>`,
  );
  expect(painted).toBe('<warning>warning</>  clock  late\n         → set it\n\n1 warning\n');
});

describe('JSON', () => {
  const status = z.enum(['ok', 'warning', 'problem', 'unknown']);
  const count = z.number();
  const schema = z.strictObject({
    version: z.string(),
    node: z.string(),
    time: z.iso.datetime(),
    status: z.enum(['ok', 'warning', 'problem']),
    summary: z.strictObject({ ok: count, unknown: count, warning: count, problem: count }),
    checks: z.array(z.strictObject({ name: z.string(), status, finding: z.string(), advice: z.nullable(z.string()) })),
  });

  test('has these keys and no others', () => {
    const parsed = schema.parse(JSON.parse(jsonReport(mixed)));
    expect(parsed).toMatchObject({ status: 'problem', summary: { ok: 2, unknown: 1, warning: 1, problem: 1 } });
    expect(parsed.checks[0]).toEqual({ name: 'settings', status: 'ok', finding: 'can be used', advice: null });
  });

  test('docs/doctor.md names each of them', () => {
    const text = readFileSync(new URL('../../../docs/doctor.md', import.meta.url), 'utf8');
    for (const key of [...Object.keys(schema.def.shape), 'name', 'finding', 'advice'])
      expect(text).toContain(`\`${key}\``);
  });
});

test.each([
  [[answersOf('a').ok('')], 'ok'],
  [[answersOf('a').unknown('', '')], 'ok'],
  [[answersOf('a').ok(''), answersOf('b').warning('', ''), answersOf('c').unknown('', '')], 'warning'],
  [[answersOf('b').warning('', ''), answersOf('c').problem('', '')], 'problem'],
  [[], 'ok'],
] as const)('all together: %#', (checks, expected) => {
  expect(statusOf(checks)).toBe(expected);
});

test('a whole node on which all is well', async () => {
  const log = within('kern.log');
  writeFileSync(
    log,
    '2026-11-21T08:59:00Z node-a kernel: [1.2] calico-drop: IN=eth0 OUT=cali0 SRC=10.1.1.1 DST=10.1.1.2 LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=1 PROTO=TCP SPT=4 DPT=5 WINDOW=1 RES=0x00 SYN URGP=0\n',
  );
  const api = fakeApi(({ path }) => {
    if (path === '/version') return answered({ gitVersion: 'v1.36.3' });
    if (path === '/api/v1/nodes') return answered({ items: [{ metadata: { name: 'node-a', uid: 'u' } }] });
    if (path.endsWith('/selfsubjectaccessreviews')) return answered({ status: { allowed: true } });
    return path === '/api/v1/pods' ? answered({ items: [] }) : undefined;
  });
  const machine = fakeMachine({
    run: programs({
      'iptables-legacy-save': '',
      'ip6tables-legacy-save': '',
      'iptables-nft-save': '[1:60] -A FORWARD -j LOG --log-prefix "calico-drop: "\n',
      'ip6tables-nft-save': '',
      nft: 'log prefix "calico-drop: "',
    }),
    readFile: () => '0',
  });
  const usual = readConfig({}, { NODE_NAME: 'node-a', SOURCES: `file:${log},containers` });
  const metricsAddress = '127.0.0.1:1';
  const config = { ...usual, podLogs: within('pods'), stateDir: within('state'), metricsAddress };
  for (const folder of [config.podLogs, config.stateDir]) mkdirSync(folder);
  const prefixes = createPrefixTable();
  const facts = gatherFacts({ config, prefixes, api, ownPod: undefined, machine });
  const given = { config, problems: [], warnings: [], isPod: false, prefixes, now: nine };
  const text = textReport(report(...(await runChecks(facts, () => given))), (_, part) => part)
    .replaceAll(metricsAddress, usual.metricsAddress.replace(/^(?=:)/, '127.0.0.1'))
    .replaceAll(config.podLogs, usual.podLogs)
    .replaceAll(config.stateDir, usual.stateDir)
    .replaceAll(log, '/var/log/kern.log');
  await expect(text).toMatchFileSnapshot('report.expected.txt');
  // doctor only reads: the API server does not store reviews of rights.
  expect(api.asked.filter(({ verb, path }) => verb !== 'GET' && !path.endsWith('reviews'))).toEqual([]);
});
