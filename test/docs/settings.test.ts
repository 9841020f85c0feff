import { expect, test } from 'vitest';
import { successors, withoutSuccessor } from '../../src/agent/config/layer.ts';
import { configFile, settings } from '../../src/agent/config/settings.ts';
import { documentPaths, textOf } from './documents.ts';
import { readMarkdown } from './markdown.ts';

const tables: { others: Record<string, string> } = {
  // Words in the documents that look like settings of this program, and their owners.
  others: {
    CALICO_IPV4POOL_CIDR: 'Calico',
    CAP_SYS_PTRACE: 'Linux',
    DEBIAN_IMAGE: 'Dockerfile',
    DEFAULT_FORWARD_POLICY: 'ufw',
    FELIX_BPFENABLED: 'Calico',
    FELIX_IPTABLESBACKEND: 'Calico',
    FELIX_IPV6SUPPORT: 'Calico',
    FELIX_LOGSEVERITYSCREEN: 'Calico',
    FINAL_REJECT: 'firewalld',
    IP_AUTODETECTION_METHOD: 'Calico',
    KUBEBUILDER_ASSETS: 'the end-to-end tests',
    KUBERNETES_SERVICE_HOST: 'Kubernetes',
    KUBERNETES_SERVICE_PORT: 'Kubernetes',
    MALLOC_ARENA_MAX: 'glibc',
    MAX_NODE: 'an example of a name with a typo',
    DOCS_URL: 'src/agent/config/docs-url.ts, for every command',
    NO_COLOR: 'https://no-color.org',
    NETWORK_POLICY: 'a tier of AWS',
    NETWORK_POLICY_ENFORCING_MODE: 'AWS VPC CNI',
    NODE_IMAGE: 'Dockerfile',
    POLICY_JUDGES: 'the tests of policies',
    POD_NAME: 'deploy/base/daemonset.yaml, for doctor',
    POD_NAMESPACE: 'deploy/base/daemonset.yaml, for doctor',
    SLACK_WEBHOOK_URL: 'event exporters',
    STATE_INVALID_DROP: 'firewalld',
    SYSLOG_IDENTIFIER: 'journald',
  },
};

/** Words of that form that are not settings of this program, and their owners. */
const others: Readonly<Record<string, string>> = tables.others;

/** Reasons of Cilium and of the kernel look like variables; test/explain/drops/reasons.test.ts holds these lists. */
const isReason = (at: string): boolean => /^docs\/(?:logging\/cilium|kernel-drops(?:-tests)?)\.md:/.test(at);

const variables = new Set([
  configFile.env,
  ...Object.values(settings).map(({ env }) => env),
  ...Object.keys(successors),
  ...withoutSuccessor,
]);

/** Names of variables in sentences: `LOG_LEVEL`, `POD_CACHE=cluster`. One word alone may be anything. */
const named = documentPaths().flatMap((document) =>
  readMarkdown(textOf(document)).spans.flatMap(({ line, text }) => {
    const [, name] = /^([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=.*)?$/.exec(text) ?? [];
    return name === undefined ? [] : [{ name, at: `${document}:${line}` }];
  }),
);

test('every variable that a document names is a setting of this or another program', () => {
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter(({ name, at }) => !variables.has(name) && !Object.hasOwn(others, name) && !isReason(at))).toEqual(
    [],
  );
});

test.each(Object.keys(others))('a document still names %s', (name) => {
  expect(named.map((each) => each.name)).toContain(name);
});
