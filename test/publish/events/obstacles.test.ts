import { expect, test } from 'vitest';
import { createPublisher } from '../../../src/publish/events/publisher.ts';
import { createWriteBudget } from '../../../src/publish/events/write-budget.ts';
import { createSeriesTable } from '../../../src/count/series/series.ts';
import { externalEnd, finding, flow, nine, podRef } from '../../builders.ts';

const gone = { kind: 'refused', status: 404, reason: 'NamespaceNotFound', message: '', retryAfter: undefined } as const;

test('other work gets its turn while thousands of series of a deleted Namespace are given up', async () => {
  const table = createSeriesTable({ limits: { perObject: 8, total: 2000 }, now: () => nine });
  for (let pod = 0; pod < 1000; pod++) {
    const details = flow({ port: 80, peer: externalEnd({ address: '203.0.113.9' }) });
    table.count(finding({ identity: `drop ${pod}`, regarding: podRef(`web-${pod}`), details }), nine);
  }
  let abandoned = 0;
  let most = 0;
  const publisher = createPublisher({
    table,
    budget: createWriteBudget(),
    keep: () => Promise.resolve(),
    write: () => Promise.resolve({ kind: 'refused', verb: 'create', refusal: gone }),
    report: { attempted: () => {}, abandoned: () => void abandoned++ },
    now: () => nine + 2000,
  });
  const running = publisher.run();
  for (let before = 0; table.sizes.pending > 0; before = abandoned) {
    await new Promise((resolve) => void setImmediate(resolve));
    most = Math.max(most, abandoned - before);
  }
  await publisher.stop(0);
  await running;
  expect(most).toBeLessThan(600);
});
