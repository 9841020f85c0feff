import { test } from 'vitest';
import { causes, hints } from '../../../../src/explain/incidents/catalogue/catalogue.ts';
import type { Cause } from '../../../../src/explain/incidents/catalogue/cause.ts';
import { incidentMessage } from '../../../../src/explain/incidents/reporting/message.ts';
import type { NodeFacts } from '../../../../src/base/model/incident.ts';
import { felixSettings, incidentDetails, noFacts, nine } from '../../../builders.ts';
import { expectLines } from '../../../expected-file.ts';
import { situationsOf } from './situations.ts';

const node = 'node-b';

/** Each sentence that the cause can say, once, with the first situation in which it says it. */
function linesOf(cause: Cause): string[] {
  const situations = situationsOf(cause);
  const sentences = (['what', 'why', 'fix', 'impact'] as const).flatMap((part) => {
    const first = new Map<string, string>();
    for (const [name, details] of situations) {
      const text = cause[part]?.(details, node);
      if (text !== undefined && !first.has(text)) first.set(text, name);
    }
    return Array.from(first, ([text, name]) => `${part}${name === '' ? '' : ` (${name})`}: ${text}`);
  });
  return [`${cause.code} ${cause.name}`, `title: ${cause.title}`, ...sentences, ''];
}

/** Facts under which a cause prints more. */
const besides: readonly (readonly [code: string, Partial<NodeFacts>])[] = [
  ['KN102', { felix: { kind: 'unreadable', reason: 'forbidden' } }],
  ['KN102', { felix: { kind: 'unreadable', reason: 'failed' } }],
  ['KN204', { felix: { kind: 'settings', settings: felixSettings({ logSeverityScreen: 'Error' }) } }],
  ['KN104', { backends: { 'kube-proxy': 'legacy', felix: 'nf_tables' } }],
];

test('all sentences of all causes, and the notice on a Pod, are in causes.expected.txt', async () => {
  const beside = besides.flatMap(([code, facts]) =>
    hints({ code, diagnosis: code, facts: { ...noFacts, ...facts } }).map((hint) => `beside ${code}: ${hint}`),
  );
  const pod = incidentDetails({ role: 'pod-notice' });
  const notice = `notice of a Pod: ${incidentMessage(pod, node)}`;
  const over = [nine + 300_000, undefined].map(
    (ended) => `notice of a Pod that is over: ${incidentMessage({ ...pod, phase: 'over', ended }, node)}`,
  );
  await expectLines(import.meta.dirname, 'causes.expected.txt', [
    ...causes.flatMap(linesOf),
    ...beside,
    notice,
    ...over,
  ]);
});
