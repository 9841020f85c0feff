import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { daemonSetOf, type Manifest, parseManifests } from '../../deploy/manifests.ts';
import { createHelm, HELM_WITHIN_MS, type Helm, type Values } from './helm.ts';

/** Two releases in one cluster, such as one for each pool of nodes, leave each other alone. */

let helm: Helm;

beforeAll(async () => {
  helm = await createHelm();
}, HELM_WITHIN_MS);
afterAll(() => helm.remove());

const everything: Values = {
  preset: 'openshift',
  config: { logLevel: 'info' },
  podMonitor: { enabled: true },
  prometheusRule: { enabled: true },
  dashboard: { enabled: true },
};

interface Place {
  readonly release: string;
  readonly namespace: string;
}
const first: Place = { release: 'kube-netfilter-tailer', namespace: 'kube-netfilter-tailer' };

describe.each<[string, Place]>([
  ['in one namespace, the name of one being the beginning of the other', { ...first, release: `${first.release}-gpu` }],
  ['of one name in two namespaces', { ...first, namespace: 'other' }],
  ['with names as long as can be', { release: 'r'.repeat(53), namespace: 'n'.repeat(63) }],
])('%s', (_, second) => {
  const both = (): Promise<Manifest[][]> =>
    Promise.all([first, second].map(async (place) => parseManifests(await helm.template(everything, place))));

  test('have no object in common', async () => {
    const [left = [], right = []] = (await both()).map((manifests) =>
      manifests.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`),
    );
    expect(left.length).toBeGreaterThan(9);
    expect(left.filter((name) => right.includes(name))).toEqual([]);
  });

  test('select no Pod of each other', async () => {
    const [left = [], right = []] = await both();
    const selected = { ...daemonSetOf(right).spec.template.metadata.labels, namespace: second.namespace };
    const selector = { ...daemonSetOf(left).spec.selector.matchLabels, namespace: first.namespace };
    expect(selected).not.toMatchObject(selector);
  });

  test("have dashboards that Grafana can show beside each other: it has one folder for all releases' files", async () => {
    const [left, right] = (await both()).map(dashboardOf);
    for (const key of ['file', 'uid', 'title'] as const) expect(right?.[key]).not.toBe(left?.[key]);
    // Longer ones, and those with a dot, Grafana refuses.
    expect(right?.uid).toMatch(/^[\w-]{1,40}$/);
  });

  test("have alerts that do not speak of the other's agents, where the operator scrapes them", async () => {
    const [left = [], right = []] = await both();
    const jobs = Array.from(JSON.stringify(ruleOf(left)).matchAll(/job=~\\"([^\\"]+)\\"/g), ([, job = '']) => job);
    expect(jobs.length).toBeGreaterThan(3);
    for (const job of jobs) {
      // Prometheus anchors such a pattern.
      expect(jobOf(left)).toMatch(new RegExp(`^(?:${job})$`));
      expect(jobOf(right)).not.toMatch(new RegExp(`^(?:${job})$`));
    }
  });
});

function ruleOf(manifests: readonly Manifest[]): Manifest | undefined {
  return manifests.find(({ kind }) => kind === 'PrometheusRule');
}

/** Returns the job as the operator names it, where a PodMonitor does not say otherwise. */
function jobOf(manifests: readonly Manifest[]): string {
  const { namespace, name } = manifests.find(({ kind }) => kind === 'PodMonitor')?.metadata ?? { name: '' };
  return `${namespace}/${name}`;
}

function dashboardOf(manifests: readonly Manifest[]): { file: string; uid: string; title: string } {
  const found = manifests.find(({ metadata }) => metadata.name.endsWith('-dashboard')) as
    | (Manifest & { data: Record<string, string> })
    | undefined;
  const [[file, text] = ['', '{}']] = Object.entries(found?.data ?? {});
  return { file, ...(JSON.parse(text) as { uid: string; title: string }) };
}
