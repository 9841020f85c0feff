/** `suggest`: prints new NetworkPolicies that admit a connection and as little else as possible. */
import { DEFAULT_SCALAR_STYLE_RULES, dump, type DumpOptions, SCALAR_STYLE } from 'js-yaml';
import {
  type End,
  openedPorts,
  type PolicyFlow,
  type PolicySuggestion,
  policyRefText,
  suggest,
  type Suggestion,
} from '../../explain/policies/policies.ts';
import { printable } from '../../base/platform/printable.ts';
import { nearest } from '../../agent/config/suggest.ts';
import { programName } from '../options/command.ts';
import type { WhyOptions } from '../options/why-options.ts';
import { cell, plural, type Streams } from '../terminal.ts';
import { countNewlyAdmitted, readAuditRows } from './newly-admitted.ts';
import { type AskedConnection, servicesThatReplaceSource } from './connections.ts';
import { endText } from './ends.ts';
import { type KnownObjects, WhyError } from './known-objects.ts';
import { readQuestion, type Tell, withVerdict } from './why.ts';

export async function suggestPolicies(options: WhyOptions, streams: Pick<Streams, 'out' | 'err'>): Promise<number> {
  return await withVerdict(streams, programName, async (tell) => {
    const { objects, connections } = await readQuestion(options, true, tell);
    const texts = new Set<string>();
    const found: number[] = [];
    for (const { flow } of differingIn(connections)) {
      const { status, text } = await suggestFor(flow, options, objects, tell);
      found.push(status);
      if (text !== '') texts.add(text);
    }
    return { status: [1, 3].find((status) => found.includes(status)) ?? 0, text: [...texts].join('---\n') };
  });
}

/** Leaves out Pods behind a Service that have the labels of an earlier one, because policies select by labels. */
function differingIn(connections: readonly AskedConnection[]): readonly AskedConnection[] {
  const first = new Map<string, AskedConnection>();
  for (const connection of connections) {
    const { source, destination, port } = connection.flow;
    const { namespace, labels, name } = destination.kind === 'pod' ? destination.pod : { name: endText(destination) };
    const key = JSON.stringify([endText(source), namespace, labels ?? name, port]);
    if (!first.has(key)) first.set(key, connection);
  }
  return [...first.values()];
}

async function suggestFor(
  flow: PolicyFlow,
  options: WhyOptions,
  objects: KnownObjects,
  tell: Tell,
): Promise<{ status: number; text: string }> {
  const { pods, policies, namespaces, ownerOf, calico } = objects;
  const suggestion = suggest({
    flow,
    policies,
    namespaces: [...namespaces.values()],
    pods: [...pods.values()],
    ownerOf,
    calico,
  });
  const typos = suggestion.kind === 'policies' ? portNameTexts(suggestion.policies, flow) : [];
  if (suggestion.kind === 'policies' && typos.length === 0) {
    const text = suggestion.policies.map((each) => policyYaml(each, flow, objects)).join('---\n');
    return { status: 0, text: `${await auditText(options, flow, suggestion.policies, objects, tell)}${text}` };
  }
  const reasons = suggestion.kind === 'policies' ? typos : [reasonOf(suggestion)];
  for (const reason of reasons) tell(reason);
  return { status: statuses[suggestion.kind], text: '' };
}

/** Quotes labels such as `0X1F` and `1_e5`, because kubectl would read them as numbers. */
const yamlStyle: DumpOptions = {
  lineWidth: -1,
  scalarStyleRules: [
    (layout) => {
      if (layout.node.tag === 'tag:yaml.org,2002:str' && goNumber.test(layout.node.value))
        layout.style = SCALAR_STYLE.SINGLE_QUOTED;
    },
    ...Object.values(DEFAULT_SCALAR_STYLE_RULES),
  ],
};

/** Matches all that sigs.k8s.io/yaml reads as a number (strconv.ParseInt in any base, or a float, with `_`), and some other texts. */
const goNumber = /^[-+]?(?:0[box][\da-f_]+|[\d_.]+(?:e[-+]?[\d_]+)?)$/i;

/** The exit statuses without a suggestion. `policies`: an existing policy misspells the name of a port, which a new one would only hide. */
const statuses = { 'not-needed': 0, refused: 1, policies: 1, unknown: 3 } as const;

function reasonOf(suggestion: Exclude<Suggestion, { kind: 'policies' }>): string {
  switch (suggestion.kind) {
    case 'not-needed':
      return 'policies admit the connection already; "why" names the rule';
    case 'unknown':
      return `nothing is suggested without ${suggestion.missing.join('; ')}`;
    case 'refused': {
      const { by, direction, reason } = suggestion;
      if (reason === 'foreign')
        return `${policyRefText(by)} isolates the Pod for ${direction}, as no NetworkPolicy does: one that admits it might isolate other Pods; change that one`;
      return reason === 'admin'
        ? `${policyRefText(by)} denies it for ${direction}, and goes over each NetworkPolicy: change that one`
        : `${policyRefText(by)} denies it for ${direction}; a NetworkPolicy that admits it would isolate the Pod, and so deny what is admitted now: change that one`;
    }
    default:
      return suggestion satisfies never;
  }
}

function portNameTexts(suggested: readonly PolicySuggestion[], { destination, protocol, port }: PolicyFlow): string[] {
  return suggested
    .flatMap(({ near }) => near.portNames)
    .filter(({ name, own }) => nearest(name, own) !== undefined)
    .map(
      ({ policy, path, name, own }) =>
        `${policyRefText(policy)} ${path} wants the ${protocol} port ${name}, which no Pod of that Namespace has; port ${port} of ${endText(destination)} is ${own.join(' or ')}: change the name in that policy`,
    );
}

async function auditText(
  { audit = [] }: WhyOptions,
  flow: PolicyFlow,
  suggested: readonly PolicySuggestion[],
  objects: KnownObjects,
  tell: Tell,
): Promise<string> {
  if (audit.length === 0) return '';
  const admitted = countNewlyAdmitted(flow, suggested, objects);
  const { rows, problems } = await readAuditRows(audit, admitted.take);
  for (const problem of problems) tell(problem);
  if (rows === 0 && problems.length > 0) throw new WhyError('--audit: no row could be read');
  return admitted
    .lines(rows)
    .map((line) => `# ${cell(line, 300)}\n`)
    .join('');
}

function policyYaml(suggested: PolicySuggestion, flow: PolicyFlow, objects: KnownObjects): string {
  const { ownerOf } = objects;
  const { policy, peers, selected, anyPort, direction, near } = suggested;
  const [own, other] = direction === 'ingress' ? [flow.destination, flow.source] : [flow.source, flow.destination];
  const peer = endText(other);
  const who = peers === undefined ? peer : `${plural(peers, 'Pod')} (as ${peer})`;
  const counts =
    direction === 'ingress'
      ? `admits ${who} to ${plural(selected, 'Pod')}`
      : `admits ${plural(selected, 'Pod')} to ${who}`;
  const { labelsOf } = suggested;
  const exceptions = near.exceptions.slice(0, 3).map(({ policy: of, path, except }) => {
    const left = other.kind === 'pod' ? `${peer} (${other.address})` : peer;
    return `${policyRefText(of)} ${path} leaves ${left} out by "except ${except}": this undoes that exception`;
  });
  const isDns = openedPorts(flow).length > 1;
  const comments = [
    `${counts}; isolates no Pod that is not isolated already`,
    labelsText(own, labelsOf.own, ownerOf),
    labelsText(other, labelsOf.peer, ownerOf),
    ...exceptions,
    other.kind === 'node' || (other.kind === 'pod' && other.pod.hostNetwork)
      ? 'Cilium, for one, matches no Node with ipBlock: there, name its entity host or remote-node'
      : '',
    other.kind === 'pod' && other.pod.hostNetwork
      ? `${peer} is on its Node's network: all of Node ${other.pod.node ?? other.address} is ${direction === 'ingress' ? 'admitted' : 'reached'}`
      : '',
    ...(direction === 'ingress' ? nodeTexts(flow, objects) : []),
    isDns ? 'DNS needs TCP too: for answers that do not fit into a UDP packet' : '',
    anyPort ? 'a NetworkPolicy cannot name this protocol: it admits all protocols and ports' : '',
  ];
  const lines = comments.filter((comment) => comment !== '').map((comment) => `# ${printable(comment)}\n`);
  return `${lines.join('')}${dump(policy, yamlStyle)}`;
}

/** Says which other clients a rule for a Node admits: those whose address the Node replaces. */
function nodeTexts({ source, destination, port }: PolicyFlow, objects: KnownObjects): string[] {
  if (source.kind !== 'node' || destination.kind !== 'pod') return [];
  const services = servicesThatReplaceSource(destination.pod, port, objects).map(({ name }) => name);
  const clients =
    services.length === 0
      ? ''
      : `, and every client outside the cluster that comes through this Node by ${services.slice(0, 3).join(', ')} (externalTrafficPolicy: Cluster)`;
  return [`this admits everything on the network of ${endText(source)}${clients}`];
}

function labelsText(end: End, from: PolicySuggestion['labelsOf']['peer'], ownerOf: KnownObjects['ownerOf']): string {
  if (end.kind !== 'pod' || from === undefined) return '';
  const owner = ownerOf(end.pod);
  if (from === 'owner' && owner !== undefined)
    return `labels of ${endText(end)}: those that its ${owner.kind} ${end.pod.namespace}/${owner.name} selects by`;
  if (from === 'none')
    return `labels of ${endText(end)}: none that lasts, so this is wider than need be until its template has one`;
  return `labels of ${endText(end)}: its own, without those of a revision`;
}
