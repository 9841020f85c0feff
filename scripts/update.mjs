// `npm run update -- NAME` writes what is made of sources and committed: tables of documents, schemas, the chart, expected files.
import { spawnSync } from 'node:child_process';

const wording = [
  'agent/wording',
  'commands/wording',
  'config/wording',
  'corpus/corpus',
  'kubernetes/wording',
  'parsing/components/program-record',
  'sources/envelope',
  'sources/wording',
  'incidents/catalogue/wording',
  'incidents/catalogue/causes',
  'drops/advice',
  'drops/policy-verdict',
  'commands/doctor/wording',
  'commands/doctor/enable-logging',
  'report/outputs',
  'policies/wording',
  'policies/suggest',
  'commands/why',
];
const helm = ['node scripts/update-helm-chart.ts', 'oxfmt deploy/helm'];

/** Commands, one after another. */
const updates = {
  audit: ['node scripts/update-audit-docs.ts', 'oxfmt docs/audit.schema.json deploy/audit'],
  causes: ['node scripts/update-causes-docs.ts', ...helm],
  config: ['node scripts/update-config-docs.ts', 'oxfmt docs/config.schema.json'],
  helm,
  metrics: ['node scripts/update-metrics-docs.ts'],
  picture: ['node scripts/update-picture.ts'],
  ports: ['node scripts/update-port-names.ts'],
  samples: ['node scripts/update-samples.ts'],
  wording: [`vitest run ${wording.map((name) => `test/${name}.test.ts`).join(' ')} --update`],
};

const [name = '', ...args] = process.argv.slice(2);
const commands = Object.entries(updates).find(([each]) => each === name)?.[1];
if (commands === undefined) {
  console.error(`npm run update -- NAME: one of ${Object.keys(updates).join(', ')}`);
  process.exit(2);
}
for (const command of commands) {
  const [program = '', ...words] = command.split(' ');
  const { status } = spawnSync(program, [...words, ...args], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
