import type { Millis } from '../../../model/log-line.ts';
import { type Pod, podOf } from '../../../resolving/objects.ts';
import { ago } from '../ago.ts';
import { answersOf, type Check } from '../check.ts';
import type { ContainerLook } from '../container-look.ts';

const programs = ['kube-proxy', 'calico-node'] as const;

export interface ContainerSourceOptions {
  root: string;
  look: ContainerLook;
  /** Of this node; undefined where the API server does not answer. */
  pods: readonly Pod[] | undefined;
  now: () => Millis;
}

/** Whether the logs of kube-proxy and calico-node are there and can be read, where these have Pods. */
export function checkContainerSource({ root, look, pods, now }: ContainerSourceOptions): Check {
  const { ok, problem, warning } = answersOf('source containers');
  if (look.kind === 'missing')
    return problem(
      `there is no ${root}`,
      `mount the node's ${root} read-only, and what its links point to; or leave containers out of SOURCES`,
    );
  if (look.kind === 'error')
    return problem(look.reason, 'let the user of the agent read it: the folders belong to root');
  const shut = look.logs.flatMap(({ path, state }) => ('reason' in state ? [`${path}: ${state.reason}`] : []));
  if (shut.length > 0)
    return problem(
      shut.join('; '),
      'let the user of the agent read it; if it is a link, mount the folder of the runtime that it points to',
    );

  const missing = programs.filter(
    (program) => !look.logs.some(({ container }) => container === program) && podOf(program, pods ?? []) !== undefined,
  );
  const found = look.logs.map(shown).join(', ') || 'none that is meant';
  if (missing.length > 0)
    return warning(
      `the logs of ${missing.join(' and ')} are not found in ${root}, though there is such a Pod on this node (found: ${found})`,
      'check CONTAINERS: it names their namespaces, Pods and containers',
    );
  if (look.logs.length === 0)
    return ok(
      `${root} can be read; no log of kube-proxy or calico-node${pods === undefined ? '' : ', and no Pod of them on this node'}`,
    );
  return ok(found);

  function shown({ namespace, pod, state }: (typeof look & { kind: 'logs' })['logs'][number]): string {
    return `${namespace}/${pod}${'written' in state ? ` (last line ${ago(state.written, now())})` : ''}`;
  }
}
