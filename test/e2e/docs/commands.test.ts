import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allCommands } from '../../docs/all-commands.ts';
import type { Command } from '../../docs/commands.ts';
import { textOf } from '../../docs/documents.ts';
import { fill } from '../../docs/fillings.ts';
import { readMarkdown } from '../../docs/markdown.ts';
import { type Outcome as Expected, outcomeOf, ruleOf, type Way } from '../../docs/rules.ts';
import { bundle } from '../bundle.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import type { Outcome } from '../outcome.ts';
import { fillCluster } from './cluster.ts';
import { createPlace, type Place } from './place.ts';
import { type ProbedPod, startProbedPod } from './probed-pod.ts';

const commands = allCommands();
const documents = [...new Set(commands.map(({ document }) => document))];

let controlPlane: ControlPlane;
let place: Place;
let agent: ProbedPod;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  agent = await startProbedPod();
  await fillCluster(controlPlane, agent.address);
  place = await createPlace(controlPlane, bundle, {
    'kustomization.yaml': yamlIn('docs/deploy.md', '# kustomization.yaml'),
    'settings.yaml': yamlIn('docs/configuration.md', 'sources:'),
    'cluster.json': textOf('samples/cluster.json'),
    'POD.log': textOf('samples/kube-proxy-lw8zd-lock.log'),
    'rules.txt': '*filter\n-A FORWARD -j ACCEPT\nCOMMIT\n',
  });
});

afterAll(async () => {
  await place?.destroy();
  await agent?.destroy();
  await controlPlane?.stop();
});

const counts: Record<string, number> = {};

test.each([
  ['kubectl get pods --al', 'unknown flag'],
  ['kubectl get podz', 'resource type'],
  ['kubectl get pods -n shop nobody', 'not found'],
  ['kubectl get pods --field-selector spec.node=a', 'not supported'],
  ['kubectl logs -n kube-system kube-proxy-9r5cn --prev', 'unknown flag'],
  ['kubectl logs -n kube-system kube-proxy-9r5cn -c sidecar', 'sidecar'],
  ['kubectl exec -n kube-system kube-proxy-9r5cn -- iptables --lst', 'unknown option'],
  ['kubectl get pods --al | grep a', 'unknown flag'],
  ['iptables --lst; true', 'unknown option'],
  ['npm start replay', 'without --'],
  ['kube-netfilter-tailer doctor --send', 'unknown option'],
  ['no-such-program 2>/dev/null | cat', '127'],
])('a wrong command is found: %s', async (command, problem) => {
  expect(await tryText(command, 'run', [])).toContain(problem);
});

test.each(documents)('is run as written: %s', async (document) => {
  const ending: (() => Promise<void>)[] = [];
  const wrong: string[] = [];
  await reset();
  for (const command of commands.filter((each) => each.document === document && !isLast(each))) {
    const problem = await tryCommand(command, ending);
    if (problem !== undefined) wrong.push(problem);
  }
  for (const end of ending) await end().catch((error: unknown) => wrong.push(String(error)));
  expect(wrong.join('\n')).toBe('');
});

test('commands that remove things do so at the end', async () => {
  const over = new AbortController();
  const controller = finishNamespaces(over.signal);
  const wrong: string[] = [];
  for (const command of commands.filter(isLast)) wrong.push((await tryCommand(command, [])) ?? '');
  over.abort();
  await controller;
  expect(wrong.join('')).toBe('');
});

test('every command was run', () => {
  console.info(counts);
  expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(commands.length);
});

const done = new Map<string, Promise<string | undefined>>();

async function tryCommand(command: Command, ending: (() => Promise<void>)[]): Promise<string | undefined> {
  const rule = ruleOf(command);
  if (rule === undefined) return `${placeOf(command)}: no rule of test/docs/rules.ts takes "${command.text}"`;
  counts[rule.name] = (counts[rule.name] ?? 0) + 1;
  const text = fill(command.text);
  // Commands in sentences are independent, so each is tried once; commands in blocks build on each other.
  const before = command.from === 'block' ? undefined : done.get(text);
  const trial = before ?? tryText(text, rule.way, ending);
  done.set(text, trial);
  const problem = await trial;
  return problem === undefined ? undefined : `${placeOf(command)}: ${command.text}\n  ${problem}`;
}

async function reset(): Promise<void> {
  const { code, stderr } = await place.run('reset');
  if (code !== 0) throw new Error(`[docs] the node's rules cannot be put back: ${stderr}`);
}

async function tryText(text: string, way: Way, ending: (() => Promise<void>)[]): Promise<string | undefined> {
  const expected = outcomeOf(text);
  const whole = expected?.before === undefined ? text : `${expected.before}\n${text}`;
  if (way === 'leave') return undefined;
  if (way === 'start') {
    const { end, printed } = place.start(text);
    await printed(expected?.prints ?? /./);
    ending.push(async () => {
      const problem = problemWith(await end(), expected);
      if (problem !== undefined) throw new Error(problem);
    });
    return undefined;
  }
  if (way === 'set') return problemWith(await place.set(text), expected);
  if (way === 'stop') return problemWith(await place.runAndStop(text), expected);
  if (way === 'help') return problemWith(await place.run(`${text} --help`), expected);
  for (let left = expected?.within ?? 0; ; left -= 0.5) {
    const problem = problemWith(await place.run(whole), expected);
    if (problem === undefined || left <= 0) return problem;
    await delay(500);
  }
}

function isLast({ text }: Command): boolean {
  return outcomeOf(fill(text))?.isLast === true;
}

function placeOf({ document, line }: Command): string {
  return `${document}:${line}`;
}

function yamlIn(document: string, begins: string): string {
  const block = readMarkdown(textOf(document)).blocks.find(({ lines }) =>
    lines.some((line) => line.startsWith(begins)),
  );
  if (block === undefined) throw new Error(`${document} has no block with ${begins}`);
  return `${block.lines.join('\n')}\n`;
}

/** Matches what programs print about unknown arguments, and shells about unknown programs. */
const misunderstanding =
  /unknown (?:flag|shorthand flag|command|option|argument)|unrecogni[sz]ed (?:option|argument)|(?:invalid|illegal) option|doesn't have a resource type|command not found|No such option/i;

/** Says what is wrong with how a command ended; `undefined` if it is as expected, which is exit status 0 by default. */
function problemWith({ code, stdout, stderr }: Outcome, expected: Expected | undefined): string | undefined {
  const { exits = [0], prints } = expected ?? {};
  const printed = `\n${(stderr || stdout).trim().split('\n').slice(-6).join('\n')}`.replaceAll('\n', '\n    ');
  if (!exits.includes(code)) return `ended with ${code}, not with ${exits.join(' or ')}:${printed}`;
  if (misunderstanding.test(stderr)) return `was not understood:${printed}`;
  if (prints !== undefined && !prints.test(stdout) && !prints.test(stderr))
    return `printed nothing like ${prints}:${printed}`;
  return undefined;
}

/** A namespace is gone when its controller has finished it, which does not run here. */
async function finishNamespaces(over: AbortSignal): Promise<void> {
  const { request } = controlPlane;
  while (!over.aborted) {
    const { body } = await request('GET', '/api/v1/namespaces');
    for (const namespace of (body as { items: { metadata: Record<string, string>; spec: object }[] }).items) {
      const { metadata } = namespace;
      if (metadata['deletionTimestamp'] === undefined) continue;
      const path = `/api/v1/namespaces/${metadata['name']}/finalize`;
      await request('PUT', path, { body: { ...namespace, spec: { finalizers: [] } } });
    }
    await delay(200);
  }
}
