import { tablesOf } from '../tables.ts';

const tables = tablesOf(import.meta.filename) as { placeholders: (readonly [what: string, value: string])[] };
/**
 * What stands for the words in capitals of the documents, in the cluster of samples/cluster.json and on the node of test/e2e/docs. The first
 * row that fits is taken. `$…` is set there.
 */
export const placeholders: readonly (readonly [what: string, value: string])[] = tables.placeholders;

/** A Pod of each namespace that commands speak of; without one, of the default namespace. */
const pods: Readonly<Record<string, string>> = {
  'kube-system': 'kube-proxy-9r5cn',
  'calico-system': 'calico-node-9fz4d',
  'kube-netfilter-tailer': 'kube-netfilter-tailer-4h7tz',
  default: 'netcheck',
};

/** Commands that are shown with a gap, and one way to fill it. */
export const elided: Readonly<Record<string, string>> = {
  'docker buildx build --platform linux/amd64,linux/arm64 …':
    'docker buildx build --platform linux/amd64,linux/arm64 --target plain .',
  'kubectl rollout restart daemonset/…':
    'kubectl -n kube-netfilter-tailer rollout restart daemonset/kube-netfilter-tailer',
};

/** The command as it can be run. Variables of the shell that have the name of a placeholder are left. */
export function fill(text: string): string {
  let filled = elided[text] ?? text;
  const put = (what: string, value: string): void => {
    filled = filled.replaceAll(new RegExp(String.raw`(?<![$\w{-])(?:${what})(?![\w-]|=)`, 'g'), () => value);
  };
  for (const [what, value] of placeholders) put(what, value);
  const [, namespace = 'default'] = / -n ([\w-]+)/.exec(filled) ?? [];
  put('POD', pods[namespace] ?? 'no-pod-of-this-namespace');
  return filled.replaceAll(/(?<![\w/])\/tmp\//g, () => '$TMPDIR/');
}
