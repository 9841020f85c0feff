// Writes docs/config.schema.json and the table of docs/configuration.md from the settings in src/agent/config/.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configJsonSchema, withTable } from './config-docs.ts';

const docs = join(import.meta.dirname, '../docs');
const page = join(docs, 'configuration.md');

writeFileSync(join(docs, 'config.schema.json'), `${JSON.stringify(configJsonSchema(), undefined, 2)}\n`);
writeFileSync(page, withTable(readFileSync(page, 'utf8')));
