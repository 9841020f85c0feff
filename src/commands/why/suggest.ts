/** `suggest`: prints new NetworkPolicies that admit a connection and as little else as possible. */
import { DEFAULT_SCALAR_STYLE_RULES, dump, type DumpOptions, SCALAR_STYLE } from 'js-yaml';
import {
  type End,
  type Flow,
  openedPorts,
  policyText,
  suggest,
  type Suggested,
  type Suggestion,
} from '../../policies/policies.ts';
import { printable } from '../../platform/printable.ts';
import { nearest } from '../../config/suggest.ts';
import type { WhyOptions } from '../options/why-options.ts';
import { cell, plural, type Streams } from '../terminal.ts';
import { countNewlyAdmitted, readAuditRows } from './newly-admitted.ts';
import { claimNotes, findFlow, tunnelNotes } from './ends.ts';
import { type KnownObjects, WhyError } from './known-objects.ts';
import { endText, readObjects, withVerdict, writeNotes } from './why.ts';

export async function suggestPolicies(options: WhyOptions, streams: Pick<Streams, 'out' | 'err'>): Promise<number> {
  return await withVerdict(streams, async () => {
    const objects = await readObjects(options, true, streams.err);
    const { pods, policies, namespaces, ...known } = objects;
    const flow = findFlow(options, objects);
    writeNotes([...tunnelNotes(flow, objects), ...claimNotes(flow, objects)], streams.err);
    const suggestion = suggest({
      flow,
      policies,
      namespaces: [...namespaces.values()],
      pods: [...pods.values()],
      ownerOf: known.ownerOf,
      calico: known.calico,
    });
    const typos = suggestion.kind === 'policies' ? portNameTexts(suggestion.policies, flow) : [];
    if (suggestion.kind === 'policies' && typos.length === 0) {
      const text = suggestion.policies.map((each) => policyYaml(each, flow, known.ownerOf)).join('---\n');
      return { status: 0, text: `${await auditText(options, flow, suggestion.policies, objects, streams.err)}${text}` };
    }
    const reasons = suggestion.kind === 'policies' ? typos : [reasonOf(suggestion)];
    for (const reason of reasons) streams.err(`kube-netfilter-tailer: ${printable(reason)}\n`);
    return { status: statuses[suggestion.kind], text: '' };
  });
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
        return `${policyText(by)} isolates the Pod for ${direction}, as no NetworkPolicy does: one that admits it might isolate other Pods; change that one`;
      return reason === 'admin'
        ? `${policyText(by)} denies it for ${direction}, and goes over each NetworkPolicy: change that one`
        : `${policyText(by)} denies it for ${direction}; a NetworkPolicy that admits it would isolate the Pod, and so deny what is admitted now: change that one`;
    }
    default:
      return suggestion satisfies never;
  }
}

function portNameTexts(suggested: readonly Suggested[], { destination, protocol, port }: Flow): string[] {
  return suggested
    .flatMap(({ near }) => near.portNames)
    .filter(({ name, own }) => nearest(name, own) !== undefined)
    .map(
      ({ policy, path, name, own }) =>
        `${policyText(policy)} ${path} wants the ${protocol} port ${name}, which no Pod of that Namespace has; port ${port} of ${endText(destination)} is ${own.join(' or ')}: change the name in that policy`,
    );
}

async function auditText(
  { audit = [] }: WhyOptions,
  flow: Flow,
  suggested: readonly Suggested[],
  objects: KnownObjects,
  err: (text: string) => void,
): Promise<string> {
  if (audit.length === 0) return '';
  const admitted = countNewlyAdmitted(flow, suggested, objects);
  const { rows, problems } = await readAuditRows(audit, admitted.take);
  for (const problem of problems) err(`kube-netfilter-tailer: ${printable(problem)}\n`);
  if (rows === 0 && problems.length > 0) throw new WhyError('--audit: no row could be read');
  return admitted
    .lines(rows)
    .map((line) => `# ${cell(line, 300)}\n`)
    .join('');
}

function policyYaml(suggested: Suggested, flow: Flow, ownerOf: KnownObjects['ownerOf']): string {
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
    return `${policyText(of)} ${path} leaves ${left} out by "except ${except}": this undoes that exception`;
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
    isDns ? 'DNS needs TCP too: for answers that do not fit into a UDP packet' : '',
    anyPort ? 'a NetworkPolicy cannot name this protocol: it admits all protocols and ports' : '',
  ];
  const lines = comments.filter((comment) => comment !== '').map((comment) => `# ${printable(comment)}\n`);
  return `${lines.join('')}${dump(policy, yamlStyle)}`;
}

function labelsText(end: End, from: Suggested['labelsOf']['peer'], ownerOf: KnownObjects['ownerOf']): string {
  if (end.kind !== 'pod' || from === undefined) return '';
  const owner = ownerOf(end.pod);
  if (from === 'owner' && owner !== undefined)
    return `labels of ${endText(end)}: those that its ${owner.kind} ${end.pod.namespace}/${owner.name} selects by`;
  if (from === 'none')
    return `labels of ${endText(end)}: none that lasts, so this is wider than need be until its template has one`;
  return `labels of ${endText(end)}: its own, without those of a revision`;
}
