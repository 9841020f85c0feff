import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { replay, sample } from './program.ts';
import { eventsIn, json, writerIn } from './scene.ts';

const write = writerIn(temporaryFolder());

/** `ServiceChainMissing node-a x2`: what a sample gives that ends before its second line with `marker`. */
async function eventsBefore(name: string, marker: string): Promise<string[]> {
  const text = readFileSync(sample(`kube-proxy-lw8zd-${name}.log`), 'utf8');
  const end = text.indexOf(marker, text.indexOf(marker) + 1);
  const events = eventsIn(await replay([...json, write(`kube-proxy-lw8zd-${end}`, text.slice(0, end))]));
  return events.map((event) => event.replace(/ \S*\/(\S+ x\d+) .*$/, ' $1'));
}

test.concurrent.each([
  ['twice', 'with the second failure', '"Sync failed"', 'ServiceChainMissing node-a x2'],
  ['twice', 'within the record of it', 'Error occurred at line: 33', 'ServiceChainMissing node-a x2'],
  ['lock', 'with the second failure', '"Sync failed"', 'XtablesLockHeld node-a x2'],
])('an incident in kube-proxy-lw8zd-%s.log, though the log ends %s', async (name, _, marker, event) => {
  await expect(eventsBefore(name, marker)).resolves.toContain(event);
});

test('no incident in a log that ends before the second failure', async () => {
  await expect(eventsBefore('twice', '"Failed to execute')).resolves.toEqual([]);
});
