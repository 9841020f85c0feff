/**
 * Compiles policies of Cilium (cilium.io/v2), CiliumNetworkPolicy and CiliumClusterwideNetworkPolicy, as far as API objects decide them
 * (pkg/policy/api, pkg/k8s/apis/cilium.io/utils). Rules that isolate are in the tier of NetworkPolicies. Rules that deny, and those that
 * admit without isolating, override them.
 */
import { at, type Json, list, shown, text } from '../../../base/platform/json.ts';
import {
  CiliumEndpoints,
  CiliumNetworks,
  CiliumSelector,
  domainNames,
  entityPeer,
  isEntity,
  requestPort,
} from '../cilium/peers.ts';
import { unseenClause } from '../calico/clauses.ts';
import { serviceAccountLabel } from '../calico/endpoint.ts';
import { type Clause, type Policy, type Rule, type Subject, unusable } from '../policy.ts';
import { readSelector } from '../clauses/labels.ts';
import { readNetworks } from '../clauses/networks.ts';
import { exceptText, nodePeer } from '../clauses/peers.ts';
import { isPortProtocol, PortName, PortRange } from '../clauses/ports.ts';
import { type PolicyDirection, type PolicyRef, anyTier, ciliumTier, networkPolicyTier, Unknown } from '../model.ts';
import { ciliumPolicyFields, ciliumRuleFields, isGiven, strangeField } from './fields.ts';
import { changedOf, refOf, strangeClauses, unknownPolicy } from './read.ts';

/** Returns up to three policies for each spec, because its rules are evaluated in several places (see `compileSpec`); none for Nodes. */
export function compileCiliumPolicy(object: Json): Policy[] {
  const given = refOf(object);
  const namespace = given.kind === 'CiliumNetworkPolicy' ? (given.namespace ?? 'default') : undefined;
  const ref = { ...given, namespace };
  const [spec, specs] = [at(object, 'spec'), list(at(object, 'specs'))];
  const hasSpec = isGiven(spec);
  if (!hasSpec && specs.length === 0) return [unknownPolicy(object, anyTier, 'it has no spec')];
  return [
    ...(hasSpec ? compileSpec(object, spec, ref, '') : []),
    ...specs.flatMap((each, index) => compileSpec(object, each, ref, `specs[${index}].`)),
  ];
}

function compileSpec(object: Json, spec: Json, ref: PolicyRef, before: string): Policy[] {
  const { namespace } = ref;
  if (isGiven(at(spec, 'nodeSelector'))) return [];
  const strange = strangeField(spec, ciliumPolicyFields);
  if (strange !== undefined) return [unknownPolicy(object, anyTier, `it has the unknown field ${strange}`)];
  const selector = readSelector(endpointSelectorOf(spec, namespace));
  if (selector instanceof Unknown) return [unknownPolicy(object, anyTier, selector.missing)];
  const common = { ref, subject: subjectOf(new CiliumSelector(selector)), changed: changedOf(object) };
  const sections = { ingress: sectionsOf(spec, 'ingress'), egress: sectionsOf(spec, 'egress') };
  if (sections.ingress.mixes || sections.egress.mixes)
    return [unknownPolicy(object, anyTier, 'a rule names its peers in several ways')];
  const rules = (direction: PolicyDirection, action: 'deny' | 'admit'): Rule[] =>
    sections[direction][action].flatMap((given, index) =>
      readRule(given, {
        direction,
        namespace,
        action,
        path: `${before}${direction}${action === 'deny' ? 'Deny' : ''}[${index}]`,
      }),
    );
  const part = (tier: string, order: number, of: (direction: PolicyDirection) => Rule[] | undefined): Policy[] => {
    const both = { ingress: of('ingress'), egress: of('egress') };
    return both.ingress === undefined && both.egress === undefined ? [] : [{ ...common, tier, order, rules: both }];
  };
  return [
    ...part(ciliumTier, 0, (direction) => (sections[direction].deny.length > 0 ? rules(direction, 'deny') : undefined)),
    // A policy that does not isolate still admits what other policies deny by isolating.
    ...part(ciliumTier, 1, (direction) =>
      !sections[direction].isolates && sections[direction].admit.length > 0 ? rules(direction, 'admit') : undefined,
    ),
    ...part(networkPolicyTier, 0, (direction) =>
      sections[direction].isolates ? rules(direction, 'admit') : undefined,
    ),
  ];
}

/** A policy selects only Pods of its own Namespace: Cilium overwrites a label that names another one. */
function endpointSelectorOf(spec: Json, namespace: string | undefined): Json {
  const given = at(spec, 'endpointSelector');
  const key = 'k8s:io.kubernetes.pod.namespace';
  if (namespace === undefined || at(given, 'matchLabels', key) === undefined) return given;
  return { ...(given as object), matchLabels: { ...(at(given, 'matchLabels') as object), [key]: namespace } };
}

interface Sections {
  readonly admit: readonly Json[];
  readonly deny: readonly Json[];
  readonly isolates: boolean;
  /** The rule names its peers in several ways. Some versions of Cilium refuse that, others combine them. */
  readonly mixes: boolean;
}

/** Without rules nothing is isolated, even if enableDefaultDeny says so. An empty rule isolates. */
function sectionsOf(spec: Json, direction: PolicyDirection): Sections {
  const [admit, deny] = [list(at(spec, direction)), list(at(spec, `${direction}Deny`))];
  const isolates = admit.length + deny.length > 0 && at(spec, 'enableDefaultDeny', direction) !== false;
  const mixes = [...admit, ...deny].some((given) => peerFieldsOf(given, direction).length > 1);
  return { admit, deny, isolates, mixes };
}

/** The selector need not contain the Namespace, because policies are found by it. */
function subjectOf(selector: CiliumSelector): Subject {
  return {
    selects(pod, namespace, { labelOf }) {
      const account = labelOf(serviceAccountLabel);
      return selector.matches({ pod, namespace, account: typeof account === 'string' ? account : undefined });
    },
    text: () => `endpointSelector ${selector.text()}`,
  };
}

type ReadPeer = (value: Json, namespace: string | undefined, field: string) => Clause;

/** How fields name the other end, without `from` or `to`. */
const peers: Readonly<Record<string, ReadPeer>> = {
  Endpoints: endpointsPeer,
  CIDR: (value) => networksPeer(value, []),
  CIDRSet: networkSetPeer,
  Entities: (value) => (isEntity(value) ? entityPeer(value) : unusable('an entity is unknown')),
  Nodes: (value) => nodePeer(readSelector(value)),
  FQDNs: (value) => domainNames(shown(at(value, 'matchName') ?? at(value, 'matchPattern'))),
  Services: () => unseenClause('toServices', 'the endpoints of Services that toServices names'),
  Groups: () => unseenClause('groups', 'the addresses of groups of the cloud'),
};

function peerFieldsOf(given: Json, direction: PolicyDirection): { field: string; read: ReadPeer; value: Json }[] {
  return Object.entries(peers).flatMap(([name, read]) => {
    const field = `${prefixes[direction]}${name}`;
    const value = at(given, field);
    return isGiven(value) ? [{ field, read, value }] : [];
  });
}

const prefixes = { ingress: 'from', egress: 'to' } as const;

interface Place {
  readonly direction: PolicyDirection;
  readonly namespace: string | undefined;
  readonly action: 'deny' | 'admit';
  readonly path: string;
}

/** Returns no rule if none can match: without peers and ports, or with an empty list of peers. */
function readRule(given: Json, { direction, namespace, action, path }: Place): Rule[] {
  const named = peerFieldsOf(given, direction).map(({ field, read, value }) => ({
    field,
    alternatives: list(value).map((each) => read(each, namespace, field)),
  }));
  const ports = list(at(given, 'toPorts')).flatMap(portClauses);
  const icmps = list(at(given, 'icmps')).flatMap((each) => list(at(each, 'fields')).map(icmpClause));
  const requires = at(given, `${prefixes[direction]}Requires`);
  const strange = [
    ...strangeClauses('a rule', given, ciliumRuleFields[direction]),
    // `fromRequires` and `toRequires` also restrict the rules of other policies.
    ...(isGiven(requires) ? [unusable(`${prefixes[direction]}Requires is not evaluated`)] : []),
    ...(at(given, 'authentication', 'mode') === 'required' ? [unusable('whether both ends are authenticated')] : []),
  ];
  const groups = [
    { field: 'rule', alternatives: strange.slice(0, 1) },
    { field: 'toPorts', alternatives: ports },
    { field: 'icmps', alternatives: icmps },
  ].filter(({ alternatives }) => alternatives.length > 0);
  const matchesNothing =
    named.some(({ alternatives }) => alternatives.length === 0) || named.length + groups.length === 0;
  return matchesNothing ? [] : [{ action, path, groups: [...named, ...groups] }];
}

/** A selector without a Namespace selects in the policy's own Namespace, or in all for a policy of the whole cluster. */
function endpointsPeer(value: Json, namespace: string | undefined, field: string): Clause {
  const selector = readSelector(value);
  if (selector instanceof Unknown) return unusable(selector.missing);
  const reserved = selector.find(({ key }) => key.startsWith('reserved:'));
  if (reserved === undefined) return new CiliumEndpoints(new CiliumSelector(selector, namespace), field);
  const entity = reserved.key.slice('reserved:'.length);
  return selector.length === 1 && isEntity(entity) ? entityPeer(entity) : unusable('a selector of reserved labels');
}

function networkSetPeer(value: Json): Clause {
  const group = at(value, 'cidrGroupRef') ?? at(value, 'cidrGroupSelector');
  if (isGiven(group)) return unseenClause(`CiliumCIDRGroup ${shown(group)}`, 'the addresses of CiliumCIDRGroups');
  return networksPeer(at(value, 'cidr'), list(at(value, 'except')));
}

function networksPeer(value: Json, except: readonly Json[]): Clause {
  const cidr = text(value) ?? '';
  const networks = readNetworks([cidr.includes('/') ? cidr : `${cidr}/${cidr.includes(':') ? 128 : 32}`]);
  const excepted = readNetworks(except);
  if (typeof networks === 'string' || typeof excepted === 'string')
    return unusable('an address of a rule is not a CIDR');
  return new CiliumNetworks(networks, excepted, `CIDR ${cidr}${exceptText(excepted)}`);
}

function portClauses(given: Json): Clause[] {
  const ports = list(at(given, 'ports')).flatMap(portsOf);
  const clauses = ports.length === 0 ? [new PortRange('TCP'), new PortRange('UDP'), new PortRange('SCTP')] : ports;
  const request = requestOf(given);
  return request === undefined ? clauses : clauses.map((clause) => requestPort(clause, request));
}

/** Returns what the proxy checks; undefined if there is no proxy, or if it admits everything. */
function requestOf(given: Json): string | undefined {
  if (list(at(given, 'serverNames')).length > 0) return 'the server name of TLS';
  const rules = at(given, 'rules');
  const dns = list(at(rules, 'dns'));
  if (dns.some((each) => at(each, 'matchPattern') === '*')) return undefined;
  const kinds = ['http', 'kafka', 'dns', 'l7'].filter((kind) => list(at(rules, kind)).length > 0);
  return kinds.length === 0 ? undefined : `the request (rules.${kinds[0]})`;
}

function portsOf(given: Json): Clause[] {
  const named = shown(at(given, 'protocol') ?? 'ANY').toUpperCase();
  const protocols = named === 'ANY' ? ['TCP', 'UDP', 'SCTP'] : [named];
  const port = shown(at(given, 'port') ?? '0');
  const end = at(given, 'endPort');
  return protocols.map((protocol) => {
    if (!isPortProtocol(protocol)) return unusable('a port has an unknown protocol');
    if (!/^\d{1,5}$/.test(port)) return new PortName(port.toLowerCase(), protocol);
    const first = Number(port);
    const last = typeof end === 'number' ? Math.max(first, end) : first;
    if (last > 65_535) return unusable('a port is not valid');
    return first === 0 && last === 0 ? new PortRange(protocol) : new PortRange(protocol, first, last);
  });
}

function icmpClause(given: Json): Clause {
  const family = at(given, 'family') === 'IPv6' ? 'ICMPv6' : 'ICMP';
  const type = shown(at(given, 'type'));
  return unseenClause(`${family} ${type}`, 'the type of ICMP', ({ flow }) => flow.protocol === family);
}
