import { loadAll } from 'js-yaml';
import type { Helm } from '../helm/helm.ts';

/** An object as the chart renders it, with the fields that the tests read. */
export interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template: {
      readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
      readonly spec: { readonly containers: readonly { readonly name: string; readonly args?: readonly string[] }[] };
    };
  };
}

/** The object of that kind and name; throws with Helm's message. */
export async function render(
  helm: Helm,
  chart: string,
  flags: readonly string[],
  [kind, name]: [string, string],
): Promise<Rendered> {
  const { code, stdout, stderr } = await helm.run([
    'template',
    'release',
    chart,
    '--namespace',
    'kube-system',
    ...flags,
  ]);
  if (code !== 0) throw new Error(stderr);
  const objects = loadAll(stdout) as (Rendered | null)[];
  const found = objects.find((each) => each?.kind === kind && each.metadata.name === name);
  if (found == null) throw new Error(`${chart} renders no ${kind} ${name}`);
  return found;
}
