// `npm run update -- NAME` writes what is made of sources and committed: tables of documents, schemas, the chart, expected files.
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';

/** The tests that write expected texts: all that compare with such a file. */
const wording = globSync('test/**/*.test.ts').filter((file) =>
  /\b(?:expectLines|toMatchFileSnapshot)\(/.test(readFileSync(file, 'utf8')),
);
const helm = ['node scripts/update-helm-chart.ts', 'oxfmt deploy/helm'];

/** Commands, one after another. */
const updates = {
  audit: ['node scripts/update-audit-docs.ts', 'oxfmt docs/audit.schema.json deploy/audit'],
  causes: ['node scripts/update-causes-docs.ts', ...helm],
  config: ['node scripts/update-config-docs.ts', 'oxfmt docs/config.schema.json'],
  helm,
  metrics: ['node scripts/update-metrics-docs.ts'],
  outputs: ['node scripts/update-outputs.ts'],
  picture: ['node scripts/update-picture.ts'],
  ports: ['node scripts/update-port-names.ts'],
  samples: ['node scripts/update-samples.ts'],
  wording: [`vitest run ${wording.join(' ')} --update`],
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
