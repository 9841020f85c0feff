import { documentAt } from '../../../agent/config/docs-url.ts';
import { tolerableSkew } from '../../../publish/events/events.ts';
import { grantRightTo, policiesFile } from '../../../agent/kubernetes/kubernetes.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import type { CheckInput } from '../facts.ts';
import { sourceName } from '../kernel-log.ts';
import { answersOf, type Check, seeApiServer } from '../report.ts';

const mostProblems = 4;

export function checkSettings({ config, problems, warnings }: CheckInput): Check {
  const { ok, problem, warning } = answersOf('settings');
  if (problems.length > 0)
    return problem(
      inOneLine(problems),
      'correct it, or run ends with exit status 2. config print, with the same settings, prints every error. The other lines assume its default',
    );
  if (warnings.length > 0) return warning(inOneLine(warnings), 'nothing is broken; change it when you can');
  return ok(`can be used: node ${config.node}, sources ${config.sources.map(sourceName).join(', ')}`);
}

export function inOneLine(problems: readonly string[]): string {
  const more = problems.length > mostProblems ? [`and ${problems.length - mostProblems} more`] : [];
  return [...problems.slice(0, mostProblems), ...more].join('; ');
}

/** An answer that takes longer is slow; a tenth of a second is usual. Other checks have five seconds, and some ask twice. */
const slow: Millis = 3000;

export function checkApiServer({ version }: CheckInput): Check[] {
  return [checkReachable(version), checkClock(version.clockSkew)];
}

function checkReachable({ server, unusable, clockSkew, answer, took }: CheckInput['version']): Check {
  const { ok, problem, warning } = answersOf('api-server');
  const unknownServer = (why: string): Check =>
    problem(
      `the server at ${server} is not an API server: ${why}`,
      'check that the address is right, and that no proxy answers instead',
    );
  if (unusable !== undefined)
    return problem(unusable, 'run doctor in a Pod with the ServiceAccount of deploy/base, or name a --kubeconfig');
  if (answer.kind === 'answered') {
    const version = (answer.body as { gitVersion?: unknown } | null)?.gitVersion;
    if (typeof version !== 'string') return unknownServer('it returns no version');
    const finding = `${server} answers in ${took} ms (${version})`;
    return took <= slow ? ok(finding) : warning(`${finding}: that is slow`, 'see what the API server logs');
  }
  switch (answer.status) {
    case 0:
      // An answer that is not JSON comes from a proxy or a login page.
      if (clockSkew !== undefined && answer.message.includes('JSON')) return unknownServer(answer.message);
      return problem(
        `${server} does not answer: ${answer.message}`,
        'check that address and certificate are right, and that no firewall or NetworkPolicy blocks the connection',
      );
    case 401:
      return problem(
        `${server} does not accept the token or certificate (401)`,
        'check that the ServiceAccount still exists; start the Pod again, or renew the kubeconfig',
      );
    // Some API servers show their version to administrators only.
    case 403:
      return ok(`${server} answers in ${took} ms`);
    default:
      return warning(`${server} answers ${answer.status}: ${answer.message}`, 'see what the API server logs');
  }
}

function checkClock(skew: Millis | undefined): Check {
  const { ok, unknown, warning } = answersOf('clock');
  if (skew === undefined)
    return unknown("the API server's answer has no time", 'compare date -u on the node with another machine');
  const seconds = Math.abs(skew / 1000).toFixed(Math.abs(skew) < 10_000 ? 1 : 0);
  if (Math.abs(skew) <= tolerableSkew) return ok(`within ${seconds} s of the API server's`);
  return warning(
    `${seconds} s ${skew > 0 ? 'ahead of' : 'behind'} the API server's`,
    'let chrony, ntpd or systemd-timesyncd set the clocks: ages of Events are wrong, and event exporters may skip them as too old',
  );
}

export function checkNode({ config: { node }, ownNode, nodes }: CheckInput): Check {
  const { ok, problem, unknown } = answersOf('node');
  if (ownNode === undefined) return unknown('no Node is named', 'set NODE_NAME or --node');
  if (ownNode.kind === 'refused') return unknown(`not known: ${ownNode.why}`, seeApiServer);
  if (ownNode.found !== undefined) return ok(`${node} is there`);
  return problem(
    `there is no Node ${node}${nodes.length === 0 ? '' : `; there ${nodes.length === 1 ? 'is' : 'are'} ${nodes.join(', ')}`}`,
    'NODE_NAME must be the name that kubectl get nodes shows; in a Pod: valueFrom fieldRef spec.nodeName',
  );
}

export function checkRights({ reviews }: CheckInput): Check {
  const { ok, problem, unknown, warning } = answersOf('rights');
  const missing = reviews.filter(({ allowed }) => allowed === false);
  if (missing.length > 0) {
    const names = missing.map(({ right: { group, resource }, verb }) =>
      group === '' ? `${verb} ${resource}` : `${verb} ${resource}.${group}`,
    );
    const grants = new Set(missing.map(({ right }) => grantRightTo(right.resource)));
    const lost = new Set(missing.map(({ right }) => right.without));
    return (missing.some(({ right }) => right.required) ? problem : warning)(
      `missing: ${names.join(', ')}`,
      `${[...grants].join(', and ')}; without it ${[...lost].join('; ')}`,
    );
  }
  const unanswered = reviews.find(({ allowed }) => typeof allowed === 'string');
  if (unanswered !== undefined) return unknown(`not known: ${unanswered.allowed}`, seeApiServer);
  return ok(`all ${reviews.length} are granted`);
}

export function checkGuard({ guard, config, version }: CheckInput): Check {
  const { ok, problem, unknown, warning } = answersOf('admission-policy');
  if (guard === undefined) return ok("not tried: this is not an agent's Pod");
  if (guard === 'holds') return ok('limits an agent to its own node');
  if (guard !== 'open') return unknown(`not known: ${guard.why}`, seeApiServer);
  const { minor } = version.answer.kind === 'answered' ? (version.answer.body as { minor?: unknown }) : {};
  const tooOld = Number.parseInt(String(minor), 10) < 30;
  return (config.nodeCondition ? problem : warning)(
    `none limits this agent: its token may write Events of every node${config.nodeCondition ? ', and change the status of every Node' : ''}`,
    tooOld
      ? 'update to Kubernetes 1.30 or newer, and add the component admission-policy'
      : 'add the component admission-policy; if it is there, its matchConditions name another ServiceAccount, as with namespace: or namePrefix: of kustomize (docs/components.md)',
  );
}

export function checkPodLookups({ config, ways }: CheckInput): Check {
  const { ok, unknown, warning } = answersOf('pod-lookups');
  if (config.podCache === 'cluster') return ok('not needed: all Pods are watched');
  if (config.podLookups.length === 0) return ok('off: Events show only addresses of Pods on other nodes');
  if (ways === undefined) return unknown('not known: the API server does not answer', seeApiServer);
  const { used = [], unused = [] } = Object.groupBy(ways, ({ usable }) => (usable ? 'used' : 'unused'));
  const textsOfWays = (some: typeof ways): string[] => some.map(({ way, why }) => `${way} (${why})`);
  const others = unused.length === 0 ? '' : `; not: ${textsOfWays(unused).join('; ')}`;
  if (used.length > 0) return ok(`by ${textsOfWays(used).join(', then ')}${others}`);
  return warning(
    `Pods of other nodes are not found by their addresses${others}`,
    `${documentAt('docs/lookups.md')} has a way for each kind of cluster`,
  );
}

export function checkPolicies({ policyRights }: CheckInput): Check {
  const { ok, unknown, warning } = answersOf('policies');
  if (policyRights === undefined) return ok('off: Events do not say which policy denied a packet');
  const { granted, kinds, unevaluated, missing } = policyRights;
  if (granted === undefined) return unknown('it is not known whether policies may be listed', seeApiServer);
  if (!granted)
    return warning(
      'may not list networkpolicies, so Events do not say which policy denied a packet',
      `apply ${policiesFile}, or set POLICIES=off`,
    );
  if (kinds === undefined) return unknown('it is not known which kinds of policies there are', seeApiServer);
  if (missing.length > 0)
    return warning(
      `may not list ${missing.join(', ')}, so often it is unknown which policy denied a packet`,
      `apply ${policiesFile} in its present form`,
    );
  if (unevaluated.length > 0)
    return warning(
      `this version does not know ${unevaluated.join(', ')}, so it is unknown which policy denied a packet where one may apply`,
      'use a newer version of kube-netfilter-tailer',
    );
  return ok(`Events say which policy denied a packet, of ${kinds.join(', ')}`);
}
