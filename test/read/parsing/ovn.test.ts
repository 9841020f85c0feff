import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PacketObservation } from '../../../src/base/model/packet.ts';
import { parse } from '../../../src/read/parsing/formats.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';

const prefixes = createPrefixTable();

type Side = 'receiver' | 'sender';

/** The name of an ACL before it is cut, and the policy to which it belongs. */
interface Acl {
  readonly name: string;
  readonly side: Side;
  readonly kind?: string;
  readonly namespace?: string;
  readonly policy?: string;
}

/** Labels of up to 63 characters, and names with dots. */
const label = fc.stringMatching(/^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
const subdomain = fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => labels.join('.'));
const side = fc.constantFrom<Side>('receiver', 'sender');
const index = fc.nat(99);
const directionOf = (of: Side): 'Ingress' | 'Egress' => (of === 'receiver' ? 'Ingress' : 'Egress');

/** Names that GetACLName of OVN-Kubernetes makes (go-controller/pkg/libovsdb/util/acl.go). */
const ofOvnKubernetes = fc.oneof(
  fc.tuple(label, side).map(([namespace, of]): Acl => ({ name: `NP:${namespace}:${directionOf(of)}`, side: of })),
  fc.tuple(label, subdomain, side, index).map(([namespace, policy, of, rule]): Acl => ({
    name: `NP:${namespace}:${policy}:${directionOf(of)}:${rule}`,
    side: of,
    kind: 'NetworkPolicy',
    namespace,
    policy,
  })),
  fc
    .tuple(
      fc.constantFrom(['ANP', 'AdminNetworkPolicy'] as const, ['BANP', 'BaselineAdminNetworkPolicy'] as const),
      subdomain,
      side,
      index,
    )
    .map(([[short, kind], policy, of, rule]): Acl => ({
      name: `${short}:${policy}:${directionOf(of)}:${rule}`,
      side: of,
      kind,
      policy,
    })),
  fc.tuple(label, index).map(([namespace, rule]): Acl => ({
    name: `EF:${namespace}:${rule}`,
    side: 'sender',
    kind: 'EgressFirewall',
    namespace,
    policy: 'default',
  })),
);

const families = fc.constantFrom('IPv4', 'IPv6');

/** Names that Kube-OVN makes (pkg/controller/network_policy.go and its neighbours). */
const ofKubeOvn = fc.oneof(
  fc.tuple(label, subdomain, side).map(([namespace, policy, of]): Acl => ({
    name: `${namespace}/${policy}`,
    side: of,
    kind: 'NetworkPolicy',
    namespace,
    policy,
  })),
  fc
    .tuple(label, subdomain, side, families, fc.constantFrom('0', '7', '7/ipBlock', 'all'))
    .map(([namespace, policy, of, family, rule]): Acl => ({
      name: `np/${policy}.${namespace}/${directionOf(of).toLowerCase()}/${family}/${rule}`,
      side: of,
      kind: 'NetworkPolicy',
      namespace,
      policy,
    })),
  fc
    .tuple(
      fc.constantFrom(
        ['anp', 'AdminNetworkPolicy'] as const,
        ['banp', 'BaselineAdminNetworkPolicy'] as const,
        ['cnp', 'ClusterNetworkPolicy'] as const,
      ),
      subdomain,
      side,
      families,
      index,
    )
    .map(([[short, kind], policy, of, family, rule]): Acl => ({
      name: `${short}/${policy}/${directionOf(of).toLowerCase()}/${family}/${rule}`,
      side: of,
      kind,
      policy,
    })),
);

const cuts = {
  'OVN-Kubernetes': (name: string): string => name.slice(0, 63),
  'Kube-OVN': (name: string): string => (name.length > 63 ? `${name.slice(0, 60)}...` : name),
};

function parsed(name: string, of: Side): PacketObservation {
  const port = of === 'receiver' ? 'to-lport' : 'from-lport';
  const line = `2026-11-30T18:51:49.154Z|00005|acl_log(ovn_pinctrl0)|INFO|name="${name}", verdict=drop, severity=warning, direction=${port}: tcp,nw_src=10.73.0.8,nw_dst=10.73.0.3,nw_ttl=64,nw_frag=no,tp_src=45000,tp_dst=5432,tcp_flags=syn`;
  return parse(line, prefixes) as PacketObservation;
}

test.each([
  ['OVN-Kubernetes', ofOvnKubernetes],
  ['Kube-OVN', ofKubeOvn],
] as const)('%s: the name of an ACL says whose policy it is of and which end it refuses', (project, acls) => {
  fc.assert(
    fc.property(acls, ({ name, side: of, kind, namespace, policy }) => {
      const written = cuts[project](name);
      const { policy: read, policySide } = parsed(written, of);
      if (written === name) {
        expect(policySide).toBe(of);
        expect(read?.kind).toBe(kind);
        expect(read?.namespace).toBe(namespace);
        expect(withoutMark(read?.name)).toBe(policy);
        return;
      }
      // The part that is cut off is unknown. The remaining part belongs to the same name.
      expect([of, undefined]).toContain(policySide);
      if (read === undefined) return;
      expect(read.kind).toBe(kind);
      expect((namespace ?? '').startsWith(withoutMark(read.namespace) ?? '')).toBe(true);
      expect((policy ?? '').startsWith(withoutMark(read.name) ?? '')).toBe(true);
    }),
  );
});

/** Removes the mark of a name that is cut, or may be. */
function withoutMark(name: string | undefined): string | undefined {
  return name?.replace(/…$/, '');
}

test('an ACL of a private Subnet of Kube-OVN names the Subnet', () => {
  fc.assert(
    fc.property(subdomain, (subnet) => {
      fc.pre(subnet.length <= 63);
      expect(parsed(subnet, 'receiver')).toMatchObject({
        policy: { kind: 'Subnet', name: subnet },
        policySide: 'receiver',
      });
      expect(parsed(subnet, 'sender').policy?.kind).toBe(undefined);
    }),
  );
});
