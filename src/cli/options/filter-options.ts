/** Options of `drops` and `drops top` that leave out flows, like those of `hubble observe`. */
import { protocolKeywords, protocolName } from '../../base/model/packet.ts';
import { durationOf } from './command.ts';
import { nameText, targetNameOf, type TargetName, podKindOf, podTypes } from './target-name.ts';
import { checked, converted, type OptionTable, type OptionValues } from './option-table.ts';

/** ICMP includes ICMPv6. */
const protocols: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(protocolKeywords.map((name) => [name.toLowerCase(), [name]])),
  icmp: ['ICMP', 'ICMPv6'],
  icmpv4: ['ICMP'],
};
const protocolChoices = ['tcp', 'udp', 'sctp', 'icmp', 'icmpv6'];

export interface PortFilter {
  readonly port: number;
  /** Undefined for any. */
  readonly protocol: string | undefined;
}

function portOf(text: string): PortFilter | undefined {
  const [, digits = '', name] = /^(\d{1,5})(?:\/(\w+))?$/.exec(text) ?? [];
  const protocol = name?.toUpperCase();
  const isRight = Number(digits) >= 1 && Number(digits) <= 65_535;
  return isRight && /^(?:TCP|UDP|SCTP|undefined)$/.test(String(protocol))
    ? { port: Number(digits), protocol }
    : undefined;
}

const pods = {
  value: 'POD',
  // Several values, as hubble takes them: repeated, or with commas.
  list: /,/,
  schema: converted(
    targetNameOf,
    "must be the beginning of a Pod's name, NAMESPACE/POD, or TYPE/NAME such as deploy/web or svc/shop/web",
  ),
} as const;

export const filterOptions = {
  fromPods: {
    ...pods,
    flag: 'from-pod',
    help: 'from Pods whose names begin with POD, or NAMESPACE/POD; or from the present Pods of TYPE/NAME, TYPE/NAMESPACE/NAME',
  },
  toPods: { ...pods, flag: 'to-pod', help: 'to such Pods' },
  ports: {
    flag: 'port',
    value: 'PORT',
    help: 'to this port, such as 53 or 53/UDP',
    list: /,/,
    schema: converted(portOf, 'must be a port such as 53, 53/UDP or 5432/TCP'),
  },
  protocols: {
    flag: 'protocol',
    value: 'PROTOCOL',
    help: 'tcp, udp, sctp, icmp, icmpv6, or another by its name or number',
    choices: protocolChoices,
    list: /,/,
    schema: converted(
      (text) =>
        protocols[text.toLowerCase()] ??
        (/^(?:\d|\d\d|1\d\d|2[0-4]\d|25[0-5])$/.test(text) ? [protocolName(text) ?? text] : undefined),
      `must be one of ${protocolChoices.join(', ')}, or the name or number of another protocol`,
    ),
  },
  verdicts: {
    flag: 'verdict',
    value: 'VERDICT',
    help: 'dropped or rejected',
    choices: ['dropped', 'rejected'],
    list: /,/,
    schema: converted(
      (text) => (['dropped', 'rejected'] as const).find((each) => each === text.toLowerCase()),
      'must be dropped or rejected',
    ),
  },
  policyNames: {
    flag: 'policy',
    value: 'NAME',
    help: "by this policy: web, shop/web, 'NetworkPolicy shop/web', with * and ? as in patterns",
    list: /,/,
    schema: checked((text) => text.trim() !== '', 'names no policy'),
  },
  since: {
    value: 'DURATION',
    help: 'last packet at most this long ago, for example 10m or 2h',
    schema: converted(durationOf, 'must be a duration such as 90s, 10m or 2h'),
  },
} as const satisfies OptionTable;

export type FilterValues = OptionValues<typeof filterOptions>;

export const filterGroup = 'Flows, as for hubble; several values with commas, or repeated';

/** Reads the operand, and in which namespaces it is. Adds problems. */
export function readTarget<Given extends { allNamespaces: boolean; namespace: string | undefined }>(
  operands: readonly string[],
  given: Given,
  problems: string[],
): { target: TargetName | undefined; within: Given } {
  const [operand, ...others] = operands;
  if (operand === undefined) return { target: undefined, within: given };
  if (others.length > 0)
    problems.push(
      podKindOf(operand) === undefined
        ? `${operands.join(' ')}: takes one name; --from-pod and --to-pod take several`
        : `${operands.join(' ')}: write ${operand}/${others[0]}`,
    );
  // `node/NAME` more likely means a Node than a Namespace of that name.
  const target = /^nodes?\//i.test(operand) ? undefined : targetNameOf(operand);
  if (target === undefined) {
    problems.push(`${operand}: ${nameProblem(operand)}`);
    return { target, within: given };
  }
  const { namespace = given.namespace } = target;
  if (namespace !== given.namespace && given.namespace !== undefined)
    problems.push(`${operand}: is not in --namespace ${given.namespace}`);
  else if (given.allNamespaces && target.namespace === undefined && target.kind !== 'Pod')
    problems.push(`${nameText(target)}: is in one namespace; name it: TYPE/NAMESPACE/NAME`);
  const allNamespaces = given.allNamespaces && target.namespace === undefined;
  return { target, within: { ...given, namespace, allNamespaces } };
}

function nameProblem(operand: string): string {
  const [type = '', ...rest] = operand.split('/');
  const kind = rest.length === 0 ? 'Pod' : podKindOf(type);
  if (kind !== undefined) return `is not the name of a ${kind === 'Pod' ? 'Pod' : kind.toLowerCase()}`;
  const types = Object.keys(podTypes).slice(1);
  return `must be POD, NAMESPACE/POD, or TYPE/NAME with one of ${types.map((each) => each.toLowerCase()).join(', ')}`;
}

/** Without a Namespace, a workload or a Service cannot be found. */
export function filterProblems({
  fromPods,
  toPods,
  allNamespaces,
}: FilterValues & { allNamespaces: boolean }): string[] {
  return Object.entries({ 'from-pod': fromPods, 'to-pod': toPods }).flatMap(([flag, names]) =>
    names
      .filter(({ kind, namespace }) => allNamespaces && kind !== 'Pod' && namespace === undefined)
      .map((name) => `--${flag} ${nameText(name)}: with --all-namespaces, name its namespace: TYPE/NAMESPACE/NAME`),
  );
}
