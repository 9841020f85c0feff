import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { foldersOf, type Manifest, parseManifests } from '../../deploy/manifests.ts';
import { ensureHelm } from '../control-plane/build.ts';
import { connect } from '../control-plane/connection.ts';
import { createDeploying, type Deploying } from '../deploying.ts';
import { comparable, withoutHelmsLabels, withoutNamespace } from './comparing.ts';
import { chart, createHelm, type Helm, type Values } from './helm.ts';

/** The chart gives what kustomize gives: real helm against real kubectl. */

let folder: string;
let helm: Helm;
let deploying: Deploying;

beforeAll(async () => {
  const path = await ensureHelm();
  folder = await mkdtemp(join(tmpdir(), 'kube-netfilter-tailer-chart-'));
  helm = createHelm(path, folder);
  deploying = createDeploying(connect(inject('controlPlane')), folder);
  // Helm is built where it is not there yet.
}, 900_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

const overlays = foldersOf('overlays');
/** The values that stand for each component. */
const components: Readonly<Record<string, Values>> = {
  'conntrack-details': { conntrack: { details: true } },
  'conntrack-owners': { conntrack: { owners: true } },
  'docker-runtime': { dockerRuntime: true },
  'host-network': { hostNetwork: true },
  'pod-monitor': { podMonitor: { enabled: true } },
};
const names = Object.keys(components);

const ways = overlays.flatMap((overlay) =>
  [[], ...names.map((name) => [name]), names].map((added): [string, readonly string[]] => [overlay, added]),
);

test('every component has its values', () => {
  expect(names).toEqual(foldersOf('components'));
});

test.each(ways)('preset %s with %j is the overlay with these components', async (overlay, added) => {
  const values = Object.assign({ preset: overlay }, ...added.map((name) => components[name]));
  const ours = parseManifests(await helm.template(values));
  const theirs = await deploying.render(
    `overlays/${overlay}`,
    added.map((name) => `components/${name}`),
  );
  expect(comparable(withoutHelmsLabels(ours))).toEqual(comparable(withoutNamespace(parseManifests(theirs))));
});

test('on OpenShift the constraints allow what the Pods ask for', async () => {
  const rendered = await helm.template({
    preset: 'openshift',
    hostNetwork: true,
    conntrack: { owners: true },
    config: { logLevel: 'warn' },
    extraVolumes: [{ name: 'more', secret: { secretName: 'more' } }],
  });
  expect(find(rendered, 'SecurityContextConstraints')).toMatchObject({
    allowHostNetwork: true,
    allowHostPorts: true,
    allowedCapabilities: ['SYS_PTRACE'],
    volumes: ['hostPath', 'projected', 'emptyDir', 'configMap', 'secret'],
  });
});

test('alerts and dashboard are those of deploy/monitoring', async () => {
  const values = { prometheusRule: { enabled: true }, dashboard: { enabled: true } };
  const ours = withoutHelmsLabels(parseManifests(await helm.template(values)));
  const made = ours.filter(({ kind }) => ['PrometheusRule', 'ConfigMap'].includes(kind));
  const theirs = parseManifests(await deploying.render('monitoring'));
  // A label that all objects of the chart have.
  for (const { metadata } of theirs)
    metadata.labels = { ...metadata.labels, 'app.kubernetes.io/name': 'kube-netfilter-tailer' };
  expect(comparable(made)).toEqual(comparable(theirs));
});

test('alerts and dashboard ask for the names of the release', async () => {
  const runbookBase = 'https://wiki.example.org/network/';
  const rendered = await helm.template(
    { fullnameOverride: 'drops', prometheusRule: { enabled: true, runbookBase }, dashboard: { enabled: true } },
    { release: 'any' },
  );
  const rule = JSON.stringify(find(rendered, 'PrometheusRule'));
  expect(rule).toContain('job=~\\".*drops.*\\"');
  expect(rule).toContain('created_by_name=\\"drops\\"');
  expect(rule).toContain('daemonset=\\"drops\\"');
  expect(rule).toContain('"runbook_url":"https://wiki.example.org/network/docs/alerts/KubeNetfilterTailerDown.md"');
  expect(rule).not.toMatch(/(?:job|daemonset|created_by_name)=~?\\"[^"]*kube-netfilter-tailer/);
  expect(rendered).toContain('daemonset=\\"drops\\"');
  expect(rendered).not.toContain('daemonset=\\"kube-netfilter-tailer\\"');
});

test('helm has nothing to say', async () => {
  const { code, stdout } = await helm.run(['lint', '--strict', chart], { config: { logLevel: 'debug' } });
  expect(stdout).not.toMatch(/WARNING|ERROR/);
  expect(code).toBe(0);
});

describe('values that are refused', () => {
  test.each<[string, Values, RegExp]>([
    ['a misspelled key', { tolerations: [], resourses: {} }, /additional properties 'resourses' not allowed/],
    ['one further down', { image: { repo: 'x' } }, /\/image.*additional properties 'repo' not allowed/],
    ['a misspelled setting', { config: { logLevle: 'debug' } }, /\/config.*additional properties 'logLevle'/],
    ['a setting that each Pod has its own of', { config: { node: 'node-a' } }, /additional properties 'node'/],
    ['a wrong value of a setting', { config: { podCache: 'all' } }, /\/config\/podCache.*'node', 'cluster'/],
    ['a wrong type of a setting', { config: { maxNodes: '5' } }, /\/config\/maxNodes.*got string, want integer/],
    ['no such preset', { preset: 'journald' }, /\/preset.*'journal'/],
    ['text where a truth should be', { podMonitor: { enabled: 'yes' } }, /\/podMonitor\/enabled.*want boolean/],
    ['a map where a list should be', { tolerations: { operator: 'Exists' } }, /\/tolerations.*want array/],
    ['a misspelled field of a toleration', { tolerations: [{ operater: 'Exists' }] }, /'operater' not allowed/],
    [
      'a variable that the chart sets',
      { extraEnv: [{ name: 'SOURCES', value: 'kernel' }] },
      /extraEnv: the chart sets SOURCES itself: take it out, and put the setting under config/,
    ],
    [
      'an address that is none',
      { config: { metricsAddress: '9090' } },
      /config.metricsAddress "9090": must be \[HOST\]:PORT/,
    ],
    ['a digest that is none', { image: { digest: 'abc' } }, /\/image\/digest/],
  ])('%s', async (_, values, message) => {
    const { code, stderr } = await helm.run(['template', 'x', chart], values);
    expect(code).not.toBe(0);
    // Helm breaks the text into lines.
    expect(stderr.replaceAll(/\s+/g, ' ')).toMatch(message);
  });
});

function find(rendered: string, kind: string): Manifest {
  const found = parseManifests(rendered).find((manifest) => manifest.kind === kind);
  if (found === undefined) throw new Error(`there is no ${kind}`);
  return found;
}
