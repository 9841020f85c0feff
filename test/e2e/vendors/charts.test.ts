import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { beforeAll, describe, expect, test } from 'vitest';
import { at } from '../../../src/base/platform/json.ts';
import { allCommands } from '../../docs/all-commands.ts';
import { textOf } from '../../docs/documents.ts';
import { CILIUM_VERSION } from '../control-plane/binaries.ts';
import { ensurePrograms } from '../control-plane/build.ts';
import { helmOfFile } from '../helm/helm.ts';
import { render, type Rendered } from './charts.ts';
import { fetchModule } from './modules.ts';

/**
 * Runs the printed commands for other projects, from documents and `doctor`, through the code of those projects: their
 * charts, with the real Helm, and their own parsers. docs/other-projects.md lists the other commands.
 */

const run = promisify(execFile);
const helm = helmOfFile();

/** The words of each printed command with this beginning, as a shell splits them. */
function printed(beginning: RegExp): string[][] {
  const texts = new Set(allCommands().map(({ text }) => text));
  return [...texts].filter((text) => beginning.test(text)).map(wordsOf);
}

function wordsOf(command: string): string[] {
  const { stdout } = spawnSync('bash', ['-c', `printf '%s\\0' ${command}`], { encoding: 'utf8' });
  return stdout.split('\0').slice(0, -1);
}

describe('Cilium', () => {
  /** The flags that set values, of each command: those with the export, and those of the undo. */
  const flags = printed(/^helm .*upgrade cilium /).map((words) =>
    words.filter((_, i) => i >= words.findIndex((word) => word.startsWith('--set'))),
  );
  const exporting = flags.filter((words) => words.join(' ').includes('export.static.enabled=true'));
  const undoing = flags.filter((words) => words.join(' ').includes('export.static.enabled=false'));
  let chart: string;
  let parser: string;
  beforeAll(async () => {
    chart = join(await fetchModule('github.com/cilium/cilium', CILIUM_VERSION), 'install/kubernetes/cilium');
    parser = (await ensurePrograms(['cilium-flow-filters']))['cilium-flow-filters'];
  }, 900_000);

  const settings = async (words: readonly string[]): Promise<Readonly<Record<string, string>>> =>
    (await render(helm, chart, words, ['ConfigMap', 'cilium-config'])).data ?? {};
  const annotations = async (words: readonly string[]): Promise<unknown> =>
    (await render(helm, chart, words, ['DaemonSet', 'cilium'])).spec?.template.metadata.annotations;
  const read = async (value: string | undefined): Promise<unknown> => {
    const { stdout } = await run(parser, [value ?? '']);
    return JSON.parse(stdout);
  };

  test('doctor and the page print the same commands, and the page names the version', () => {
    expect([exporting.length, undoing.length]).toEqual([1, 1]);
    expect(textOf('docs/logging/cilium.md')).toContain(`Cilium ${CILIUM_VERSION}`);
  });

  test('each command that switches the export on gives filters that an agent can parse', async () => {
    for (const words of exporting) {
      const { 'hubble-export-allowlist': filters, ...others } = await settings(words);
      expect(await read(filters)).toEqual([{ verdict: ['DROPPED', 'ERROR'] }]);
      expect(others).toMatchObject({
        'enable-hubble': 'true',
        'hubble-export-file-path': '/var/run/cilium/hubble/events.log',
        'hubble-export-file-max-size-mb': '10',
        'hubble-export-file-max-backups': '5',
      });
    }
  });

  test('a filter that is an object instead of a string gives filters that no agent can parse', async () => {
    const flag = 'hubble.export.static.allowList=[{"verdict":["DROPPED"]}]';
    const { 'hubble-export-allowlist': filters } = await settings([
      '--set',
      'hubble.export.static.enabled=true',
      '--set-json',
      flag,
    ]);
    await expect(read(filters)).rejects.toThrow('failed to decode flow filters');
  });

  test('agents restart with each command, since their Pods change', async () => {
    const before = await annotations([]);
    for (const words of [...exporting, ...undoing]) expect(await annotations(words)).not.toEqual(before);
    expect(await annotations(exporting[0] ?? [])).not.toEqual(await annotations(undoing[0] ?? []));
  });

  test('the undo ends the export', async () => {
    for (const words of undoing) expect(Object.keys(await settings(words))).not.toContain('hubble-export-file-path');
  });

  test('each value of the chart that the documents name exists', () => {
    const values = load(readFileSync(join(chart, 'values.yaml'), 'utf8'));
    const page = textOf('docs/logging/cilium.md');
    const names = [...page.matchAll(/`(?:--set )?(hubble(?:\.\w+)+)/g)];
    expect(names.length).toBeGreaterThan(2);
    for (const [, name = ''] of names) expect([name, at(values, ...name.split('.'))]).not.toEqual([name, undefined]);
  });
});

describe('AWS VPC CNI', () => {
  const values = printed(/^aws eks update-addon /).map(
    (words) => JSON.parse(words.at(-1) ?? '') as Record<string, unknown>,
  );
  let chart: string;
  beforeAll(async () => {
    chart = join(await fetchModule('github.com/aws/amazon-vpc-cni-k8s', '1.23.2'), 'charts/aws-vpc-cni');
  }, 120_000);

  test('each command keeps enforcement, whatever it does to the log', async () => {
    expect(values).toHaveLength(2);
    for (const each of values) {
      const args = argumentsOf(await renderWith(each));
      expect(args).toContain('--enable-network-policy=true');
      expect(args).toContain('--log-file=/var/log/aws-routed-eni/network-policy-agent.log');
    }
  });

  test('one switches the log on, without allowed flows, and the other off', async () => {
    const switches = await Promise.all(
      values.map(async (each) =>
        argumentsOf(await renderWith(each))
          .filter((arg) => /^--(?:enable-policy-event-logs|log-level)=/.test(arg))
          .toSorted(),
      ),
    );
    expect(switches.map((each) => each.join(' ')).toSorted()).toEqual([
      '--enable-policy-event-logs=false --log-level=debug',
      '--enable-policy-event-logs=true --log-level=info',
    ]);
  });

  async function renderWith(each: Readonly<Record<string, unknown>>): Promise<Rendered> {
    const flags = Object.entries(each).flatMap(([name, value]) => ['--set-json', `${name}=${JSON.stringify(value)}`]);
    return render(helm, chart, flags, ['DaemonSet', 'aws-node']);
  }
});

/** Arguments of the policy agent's container. */
function argumentsOf({ spec }: Rendered): readonly string[] {
  return spec?.template.spec.containers.find(({ name }) => name === 'aws-eks-nodeagent')?.args ?? [];
}
