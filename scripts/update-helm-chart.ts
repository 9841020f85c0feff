// Brings up to date what the Helm chart has from other files: copies, the schema of `config`, the table of its README.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import {
  admissionPolicyFile,
  chartFolder,
  configSchema,
  copied,
  readSchema,
  withReasons,
  withValuesTable,
} from './helm-chart.ts';

const root = join(import.meta.dirname, '..');
const chart = join(root, chartFolder);

const policy = join(root, admissionPolicyFile);
writeFileSync(policy, withReasons(readFileSync(policy, 'utf8')));
for (const path of copied) copyFileSync(join(root, path), join(chart, 'files', basename(path)));

const schema = readSchema();
schema.properties = { ...schema.properties, config: configSchema() };
writeFileSync(join(chart, 'values.schema.json'), `${JSON.stringify(schema, undefined, 2)}\n`);

const readme = join(chart, 'README.md');
writeFileSync(readme, withValuesTable(readFileSync(readme, 'utf8')));
