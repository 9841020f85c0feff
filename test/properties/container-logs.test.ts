import { globSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lines as corpus } from '../corpus/lines.ts';
import { lines as programLines } from '../explain/incidents/catalogue/lines.ts';
import { forAllAsync } from '../for-all.ts';
import { createLineReaders, readingOf } from './line-readers.ts';
import { objects, prefixes } from './wrapping.ts';

/**
 * The agent and `replay` read the log of a container alike, and neither removes anything but the marks of the runtime.
 */

const readers = createLineReaders();
const noon = Date.UTC(2026, 10, 21, 12);

const paths = [
  'kube-system_kube-proxy-lw8zd_0f/kube-proxy/0.log',
  'calico-system_calico-node-x7x2k_0f/calico-node/3.log',
  'kube-system_kindnet-x7x2k_0f/kindnet-cni/0.log',
  'kube-system_cilium-x7x2k_0f/cilium-agent/0.log',
  'kube-system_aws-node-x7x2k_0f/aws-eks-nodeagent/0.log',
  'kube-system_ovn-x7x2k_0f/ovn-controller/0.log',
];

const ofSamples = globSync(`${import.meta.dirname}/../../samples/*.log`)
  .toSorted()
  .flatMap((file) => readFileSync(file, 'utf8').split('\n').slice(0, 40));
const texts = [...corpus, ...programLines].map(({ text }) => text).concat(ofSamples);
const anyText = fc.constantFrom(...texts.filter((text) => text !== '' && text.length < 8192));
/** The output of a container that quotes another's log, or its own. */
const anyPrinted = fc
  .tuple(anyText, fc.option(fc.constantFrom(...objects, ...prefixes), { nil: undefined, freq: 1 }))
  .map(([text, wrapping]) => (wrapping === undefined ? text : text.split('\n').map(wrapLine(wrapping)).join('\n')));

function wrapLine({ wrap }: (typeof objects)[number]): (line: string) => string {
  return (line) => wrap([line], noon).replace(/\n$/, '');
}

const runtimes: Record<string, (line: string, at: number) => string> = {
  cri: (line, at) => `${new Date(at).toISOString()} stderr F ${line}\n`,
  docker: (log, at) => `${JSON.stringify({ log: `${log}\n`, stream: 'stderr', time: new Date(at).toISOString() })}\n`,
};

function printedBy(runtime: string, printed: readonly string[]): string {
  const print = runtimes[runtime] as (typeof runtimes)[string];
  return printed
    .flatMap((text) => text.split('\n'))
    .map((line, index) => print(line, noon + index))
    .join('');
}

test.each(paths.flatMap((path) => Object.keys(runtimes).map((runtime) => [path, runtime] as const)))(
  'the log %s, written by %s, is read by replay as by the agent',
  async (path, runtime) => {
    await forAllAsync([fc.array(anyPrinted, { minLength: 1, maxLength: 8 })], { numRuns: 40 }, async (printed) => {
      const { replay, agent } = await readers.contained({ path, text: printedBy(runtime, printed) });
      expect(replay).toStrictEqual(agent);
      expect(agent.length).toBeGreaterThan(0);
    });
  },
);

test("a line in a container's log has the same meaning as the bare line of that writer", async () => {
  const anyLine = anyPrinted.filter((text) => !text.includes('\n'));
  await forAllAsync([fc.constantFrom(...paths), anyLine], { numRuns: 250 }, async (path, text) => {
    const { replay } = await readers.contained({ path, text: printedBy('cri', [text]) });
    const bare = readingOf({ text, host: undefined, source: path }, noon, 'container', false);
    expect(replay).toStrictEqual([bare]);
  });
});
