/** `suggest`: the least new NetworkPolicies that admit a connection. */
import { dump } from 'js-yaml';
import { type Flow, policyText, suggest, type Suggested, type Suggestion } from '../../policies/policies.ts';
import { printable } from '../../platform/printable.ts';
import type { WhyOptions } from '../options/why-options.ts';
import type { Streams } from '../streams.ts';
import { findFlow } from './find-end.ts';
import { readObjects, withStatus } from './inputs.ts';
import { endText } from './report.ts';

/** Resolves to the exit status. */
export async function suggestPolicies(options: WhyOptions, streams: Pick<Streams, 'out' | 'err'>): Promise<number> {
  return await withStatus(streams, async () => {
    const { pods, policies, namespaces, ...known } = await readObjects(options, true, streams.err);
    const flow = findFlow(options, { pods, policies, namespaces, ...known });
    const suggestion = suggest({
      flow,
      policies: [...policies.values()],
      namespaces: [...namespaces.values()],
      pods: [...pods.values()],
      calico: known.calico,
    });
    if (suggestion.kind === 'policies') {
      return { status: 0, text: suggestion.policies.map((each) => policyYaml(each, flow)).join('---\n') };
    }
    streams.err(`kube-netfilter-tailer: ${printable(reasonOf(suggestion))}\n`);
    return { status: statuses[suggestion.kind], text: '' };
  });
}

const statuses = { 'not-needed': 0, refused: 1, unknown: 3 } as const;

function reasonOf(suggestion: Exclude<Suggestion, { kind: 'policies' }>): string {
  switch (suggestion.kind) {
    case 'not-needed':
      return 'policies admit the connection already';
    case 'unknown':
      return `nothing is suggested without ${suggestion.missing.join('; ')}`;
    case 'refused': {
      const { by, direction, reason } = suggestion;
      if (reason === 'calico')
        return `${policyText(by)} isolates the Pod for ${direction}, as no NetworkPolicy does: one that admits it might isolate other Pods; change that one`;
      return reason === 'admin'
        ? `${policyText(by)} denies it for ${direction}, and goes over each NetworkPolicy: change that one`
        : `${policyText(by)} denies it for ${direction}; a NetworkPolicy that admits it would isolate the Pod, and so deny what is admitted now: change that one`;
    }
    default:
      return suggestion satisfies never;
  }
}

function policyYaml({ policy, peers, selected, anyPort, direction }: Suggested, { source, destination }: Flow): string {
  const peer = endText(direction === 'ingress' ? source : destination);
  const who = peers === undefined ? peer : `${count(peers)} (as ${peer})`;
  const counts =
    direction === 'ingress' ? `admits ${who} to ${count(selected)}` : `admits ${count(selected)} to ${who}`;
  const ports = anyPort ? '# a NetworkPolicy cannot name this protocol: it admits all protocols and ports\n' : '';
  return `# ${printable(counts)}; isolates no Pod that is not isolated already\n${ports}${dump(policy, { lineWidth: -1 })}`;
}

function count(pods: number): string {
  return pods === 1 ? '1 Pod' : `${pods} Pods`;
}
