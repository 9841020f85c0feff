import { isLabel, isSubdomain } from '../../../base/platform/api-names.ts';
import type { IncidentDetails } from '../../../base/model/incident.ts';

/**
 * Names in texts come from strangers. Names of Kubernetes, chains and modules are ASCII, so other characters become question marks, as do
 * characters that a chat program reads as a mention or a link. Each text stays one line of bounded length.
 */
export function short(name: string, limit = 40): string {
  const text = name
    .slice(0, 4 * limit)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/[^\x20-\x7e…]|<|(?<=:\/)\//gu, '?')
    .trim();
  return text.length > limit ? `${text.slice(0, limit - 1).trimEnd()}…` : text;
}

function whole(count: number): number {
  return Number.isFinite(count) ? Math.min(Math.max(0, Math.trunc(count)), 999_999_999) : 0;
}

/** Returns `a, b and 3 more`, or '' without names. */
export function listText(names: readonly string[], more: number, limit = 2, width = 40): string {
  const named = names.filter((name) => short(name, width) !== '');
  const shown = named.slice(0, limit).map((name) => short(name, width));
  const left = named.length - shown.length + whole(more);
  if (shown.length === 0) return '';
  if (left > 0) return `${shown.join(', ')} and ${left} more`;
  return shown.length > 1 ? `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}` : (shown[0] ?? '');
}

export function subjects(details: IncidentDetails, limit = 2, width = 40): string {
  return listText(details.subjects, details.moreSubjects, limit, width);
}

export function bracketed(details: IncidentDetails): string {
  const named = subjects(details);
  return named === '' ? '' : ` (${named})`;
}

export function agreeing(details: IncidentDetails, one: string, many: string): string {
  return details.subjects.length + whole(details.moreSubjects) > 1 ? many : one;
}

/** Returns distinct words that are safe to paste into a shell: at most `limit` words, and 50 characters in all. */
export function shellWords(names: readonly string[], limit = 4): string[] {
  const words = names.flatMap((name) => name.slice(0, 200).split(/[\s,]+/));
  const safe = [...new Set(words.filter((word) => /^[A-Za-z0-9][\w.-]{0,31}$/.test(word)))].slice(0, limit);
  while (safe.join(' ').length > 50) safe.pop();
  return safe;
}

export function onlyFamily(details: IncidentDetails): string {
  return details.families.length === 1 && /^IPv[46]$/.test(details.families[0] ?? '')
    ? ` (${details.families[0]})`
    : '';
}

export function amountText(count: number, one: string): string {
  return `${whole(count)} ${one}${count === 1 ? '' : 's'}`;
}

export function program(details: IncidentDetails): string {
  switch (details.failing) {
    case 'kernel':
      return 'the kernel';
    case 'felix':
    case 'confd':
    case 'bird':
      return `calico-node (${details.failing})`;
    case 'unknown':
      return 'a network program';
    default:
      return details.failing;
  }
}

/** Returns the failing Pod as arguments of `kubectl`: `-n kube-system kube-proxy-x7k2p`; undefined if it is not known. */
export function failingPodArguments(details: IncidentDetails): string | undefined {
  const [namespace = '', pod = ''] = details.failingPod?.split('/') ?? [];
  // A longer name would leave no room for the rest of the text.
  return isLabel(namespace) && isSubdomain(pod) && pod.length <= 80 ? `-n ${namespace} ${pod}` : undefined;
}

export function podArguments(details: IncidentDetails, namespace = 'kube-system'): string {
  return failingPodArguments(details) ?? `-n ${namespace} POD`;
}

export function felixSettings(details: IncidentDetails) {
  const { felix } = details.facts;
  return felix?.kind === 'settings' ? felix.settings : undefined;
}

export function felixPatch(name: string, setting: string): string {
  return `kubectl patch felixconfiguration ${name} --type=merge --patch='{"spec":{${setting}}}'`;
}

/** Returns what a Pod cannot rely on while the rules of its node are out of date. */
export function unreachable(details: IncidentDetails): string {
  return details.failing === 'felix' || details.failing === 'calico-node'
    ? 'New policies may not apply to this Pod, and new Pods of its node may have no network.'
    : 'New or moved Services may not be reachable from this Pod.';
}
