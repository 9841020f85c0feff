import { loadAll } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createPrefixTable } from '../../src/read/parsing/netfilter/prefixes.ts';
import { readShipped, shippedFiles } from './files.ts';

// The part of Calico's CRDs that these files use; strict, so that an unknown field is found.
const rule = z.strictObject({
  action: z.enum(['Allow', 'Deny', 'Log', 'Pass']),
  protocol: z.enum(['TCP', 'UDP', 'ICMP', 'SCTP']).optional(),
  source: z.strictObject({ selector: z.string() }).optional(),
  destination: z.strictObject({ ports: z.array(z.number().int()) }).optional(),
});
const policy = z.strictObject({
  apiVersion: z.enum(['projectcalico.org/v3', 'crd.projectcalico.org/v1']),
  kind: z.enum(['NetworkPolicy', 'GlobalNetworkPolicy']),
  metadata: z.strictObject({ name: z.string(), namespace: z.string().optional() }),
  spec: z.strictObject({
    tier: z.literal('default'),
    order: z.number(),
    selector: z.string().optional(),
    namespaceSelector: z.string().optional(),
    types: z.array(z.enum(['Ingress', 'Egress'])).min(1),
    ingress: z.array(rule).optional(),
    egress: z.array(rule).optional(),
  }),
});
const patch = z.strictObject({
  spec: z.strictObject({
    // FelixConfiguration's schema has the same patterns (api/pkg/apis/projectcalico/v3/felixconfig.go).
    logPrefix: z.string().regex(/^([a-zA-Z0-9%: /_-])*$/),
    logActionRateLimit: z
      .string()
      .regex(/^[1-9]\d{0,3}\/(?:second|minute|hour|day)$/)
      .optional(),
    logActionRateLimitBurst: z.number().int().min(0).max(9999).optional(),
  }),
});

const calicoFiles = shippedFiles().filter((name) => name.startsWith('calico/'));
const patches = calicoFiles.filter((name) => name.endsWith('.patch.yaml'));
const policyFiles = calicoFiles.filter((name) => !patches.includes(name));
const policies = policyFiles.flatMap((name) => readPolicies(name).map((object) => ({ name, object })));

test('the files exist', () => {
  expect(patches).toHaveLength(2);
  expect(policies).toHaveLength(6);
});

describe.each(policies)('$object.metadata.name in $name', ({ object }) => {
  test('every Log rule stands right before a Deny rule, and both match the same packets', () => {
    const lists = [object.spec.ingress, object.spec.egress].filter((list) => list !== undefined);
    expect(lists).not.toEqual([]);
    for (const rules of lists) {
      const at = rules.findIndex(({ action }) => action === 'Log');
      expect(at).toBeGreaterThanOrEqual(0);
      expect(rules[at + 1]).toEqual({ ...rules[at], action: 'Deny' });
    }
  });

  test("a policy's types are those for which it has rules", () => {
    const { ingress, egress, types } = object.spec;
    expect(types).toEqual([...(ingress ? ['Ingress'] : []), ...(egress ? ['Egress'] : [])]);
  });

  test("Felix's prefix counts as a drop, and names the policy within the 29 characters of iptables", () => {
    const { namespace } = object.metadata;
    // Felix before 3.32 removes the tier from the name; since 3.32, the name is given without it.
    const name = object.metadata.name.replace(/^default\./, '');
    const kind = object.kind === 'NetworkPolicy' ? 'np' : 'gnp';
    const { logPrefix } = readPatch('calico/felix-configuration.patch.yaml');
    const written = logPrefix
      .replace('%k', kind)
      .replace('%p', namespace === undefined ? name : `${namespace}/${name}`);
    const printed = `${written}: `.slice(0, 29);
    expect(createPrefixTable().look(printed)).toMatchObject({
      verdict: 'dropped',
      enforcer: 'network-policy',
      policy: { name, namespace },
    });
  });
});

test.each(policies.filter(({ object }) => object.metadata.name.startsWith('default.')))(
  'Felix 3.32 with $object.metadata.name as in $name: counts as a drop, its name cut off by iptables',
  ({ object }) => {
    const { name, namespace } = object.metadata;
    const printed = `calico-drop ${namespace === undefined ? 'gnp ' : `np ${namespace}/`}${name}: `.slice(0, 29);
    const { verdict, policy: named } = createPrefixTable().look(printed);
    expect(verdict).toBe('dropped');
    expect(named?.name).toMatch(/^default\.[a-z-]+…$/);
    expect(name.startsWith(named?.name.slice(0, -1) ?? ' ')).toBe(true);
    expect(
      readShipped(
        object.kind === 'NetworkPolicy' ? 'calico/network-policy-crd.yaml' : 'calico/global-network-policy-crd.yaml',
      ),
    ).toContain('From 3.32 on leave "default." out');
  },
);

test.each(patches)('%s: the prefix counts as a drop', (name) => {
  expect(createPrefixTable().look(readPatch(name).logPrefix)).toMatchObject({
    verdict: 'dropped',
    enforcer: 'network-policy',
  });
});

test.each(['network-policy', 'global-network-policy'])('%s-crd.yaml is %s.yaml with the tier in its name', (name) => {
  const v3 = readPolicies(`calico/${name}.yaml`);
  const v1 = readPolicies(`calico/${name}-crd.yaml`);
  expect(v1.map(({ metadata }) => metadata.name)).toEqual(v3.map(({ metadata }) => `default.${metadata.name}`));
  expect(v1.map(({ apiVersion }) => apiVersion)).toEqual(v3.map(() => 'crd.projectcalico.org/v1'));
  expect(v1.map(({ kind, spec }) => ({ kind, spec }))).toEqual(v3.map(({ kind, spec }) => ({ kind, spec })));
});

function readPolicies(name: string): z.infer<typeof policy>[] {
  return z.array(policy).parse(loadAll(readShipped(name)));
}

function readPatch(name: string): z.infer<typeof patch>['spec'] {
  return z.tuple([patch]).parse(loadAll(readShipped(name)))[0].spec;
}
