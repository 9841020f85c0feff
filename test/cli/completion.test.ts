import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { complete } from '../../src/cli/complete.ts';
import { createDrops, createProgram } from '../../src/cli/options/program.ts';
import { json, refuse, type ScriptedServer, startScriptedServer } from '../agent/kubernetes/scripted-server.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { kubeconfigFor } from './scene.ts';

const path = temporaryFolder();

async function completed(words: readonly string[], root = createProgram()): Promise<string[]> {
  let out = '';
  await complete(root, words, (text) => void (out += text));
  return out.trimEnd().split('\n');
}
const wordsOf = (lines: readonly string[]): string[] => lines.slice(0, -1).map((line) => line.split('\t', 1)[0] ?? '');

test.each<[string, string[], string[]]>([
  ['commands', ['re'], ['replay', 'report']],
  ['commands of a command', ['drops', 't'], ['top']],
  ['commands of config', ['config', ''], ['print', 'check']],
  ['shells', ['completion', ''], ['bash', 'zsh', 'fish', 'kubectl']],
  ['options', ['replay', '--ou'], ['--output']],
  ['options behind another one', ['why', '--from', 'shop/web', '--to'], ['--to', '--token']],
  ['options of the command above', ['drops', 'why', '--all'], ['--all-namespaces', '--all']],
  ['values', ['drops', 'top', '--sort', ''], ['rate', 'packets', 'last', 'from', 'to']],
  ['values behind "="', ['drops', '--output=w'], ['--output=wide']],
  ['values by the short name', ['replay', '-o', 'm'], ['mermaid']],
  ['values of a setting', ['run', '--pod-cache', ''], ['node', 'cluster']],
  ['values of a setting whose placeholder is a word', ['run', '--log-level', 'd'], ['debug']],
  ['values behind a comma', ['drops', '--verdict', 'dropped,r'], ['dropped,rejected']],
  ['nothing, where nothing begins so', ['doctor', '--zzz'], []],
  ['no command behind an operand', ['drops', 'web-0', 't'], []],
])('offers %s', async (_, words, expected) => {
  const lines = await completed(words);
  expect([wordsOf(lines), lines.at(-1)]).toEqual([expected, ':4']);
});

test('an option has the beginning of its help', async () => {
  expect(await completed(['drops', '--watch'])).toEqual(['--watch\tkeep listing new drops', ':4']);
});

test.each([
  [['replay', '--pods', '']],
  [['replay', '-q', 'kern']],
  [['config', 'check', '']],
  [['drops', 'report', 'a', '']],
])('offers files for %j', async (words) => {
  expect(await completed(words)).toEqual([':0']);
});

const names = (...all: string[]) => ({ items: all.map((name) => ({ metadata: { name } })) });
const ask = async (...words: string[]) =>
  await completed(['--kubeconfig', path('kubeconfig'), ...words], createDrops('kubectl drops'));

describe('with a cluster', () => {
  let server: ScriptedServer;
  let asked: string[];
  const lists: Record<string, object> = {
    '/api/v1/namespaces': names('shop', 'shop-test', 'batch'),
    '/api/v1/nodes': names('node-a'),
    '/api/v1/namespaces/shop/pods': names('web-0', 'web-1', 'db-0', '$(id)'),
    '/api/v1/namespaces/batch/pods': names('worker-7'),
    '/apis/apps/v1/namespaces/shop/deployments': names('web'),
    '/api/v1/namespaces/batch/services': names('api'),
  };

  beforeEach(async () => {
    asked = [];
    server = await startScriptedServer(({ path: place, response }) => {
      asked.push(place);
      const found = lists[place];
      if (found === undefined) refuse(response, 403);
      else json(response, 200, { ...found, metadata: {} });
    });
    writeFileSync(path('kubeconfig'), kubeconfigFor(server.url));
  });
  afterEach(() => server.stop());

  test.each<[string, string[], string[], string]>([
    ['namespaces', ['-n', 'sh'], ['shop', 'shop-test'], ':4'],
    ['namespaces behind "="', ['--namespace=b'], ['--namespace=batch'], ':4'],
    ['Nodes', ['--node', ''], ['node-a'], ':4'],
    ['Pods of the namespace', ['-n', 'shop', 'w'], ['why', 'web-0', 'web-1'], ':4'],
    ['Pods, where -n and its value are one word', ['-nshop', 'web-'], ['web-0', 'web-1'], ':4'],
    ['types', ['-n', 'shop', 'deploy'], ['deployment/'], ':6'],
    ['workloads', ['-n', 'shop', 'deploy/'], ['deploy/web'], ':4'],
    ['Pods of top', ['top', '-n', 'shop', 'db'], ['db-0'], ':4'],
    ['Pods of why', ['-n', 'shop', 'why', 'db'], ['db-0'], ':4'],
    ['Pods of a filter', ['--from-pod', 'batch/w'], ['batch/worker-7'], ':4'],
    ['a second Pod of a filter', ['-n', 'shop', '--to-pod', 'web-0,db'], ['web-0,db-0'], ':4'],
    ['Services of another namespace', ['--to-pod', 'svc/batch/'], ['svc/batch/api'], ':4'],
    ['namespaces of an end', ['why', '--from', 'sh'], ['shop/', 'shop-test/'], ':6'],
    ['Pods of an end', ['why', '--to=shop/d'], ['--to=shop/db-0'], ':4'],
    ['contexts', ['--context', ''], ['c'], ':4'],
  ])('offers %s', async (_, words, expected, end) => {
    const lines = await ask(...words);
    expect([wordsOf(lines), lines.at(-1)]).toEqual([expected, end]);
  });

  test('names that are invalid in Kubernetes are not offered, because they would become part of a command line', async () => {
    expect(wordsOf(await ask('-n', 'shop', '--from-pod', ''))).toEqual(['web-0', 'web-1', 'db-0']);
  });

  test.each<[string, string[]]>([
    ['without the right to list them', ['-n', 'other', 'web']],
    ['a kubeconfig that is not there', ['--kubeconfig', '/nowhere', '-n', '']],
  ])('%s: offers nothing and prints nothing', async (_, words) => {
    expect(await ask(...words)).toEqual([':4']);
  });

  test('options are offered without a cluster', async () => {
    await ask('--wa');
    expect(asked).toEqual([]);
  });
});
