import type { Millis } from '../../model.ts';
import type { Api } from '../api.ts';
import { type Check, ok, problem, unknown, warning } from '../check.ts';

/** Exporters throw away Events whose time is further off than that. */
const tolerableSkew: Millis = 5000;

/** Whether the API server can be reached, and how its clock and this node's differ. */
export async function checkApiServer(api: Api, now: () => Millis): Promise<Check[]> {
  const started = now();
  const answer = await api.request('GET', '/version');
  return [reachable(), checkClock(api.clockSkew)];

  function reachable(): Check {
    const name = 'api-server';
    if (api.unusable !== undefined)
      return problem(
        name,
        api.unusable,
        'run doctor in a Pod with the ServiceAccount of deploy/base, or name a --kubeconfig',
      );
    if (answer.kind === 'answered') {
      const { gitVersion = 'of a version that it does not tell' } = answer.body as { gitVersion?: string };
      return ok(name, `${api.server} answers in ${Math.round(now() - started)} ms (${gitVersion})`);
    }
    switch (answer.status) {
      case 0:
        return problem(
          name,
          `${api.server} does not answer: ${answer.message}`,
          'check that address and certificate are right, and that no firewall or NetworkPolicy stands between',
        );
      case 401:
        return problem(
          name,
          `${api.server} does not accept the token or certificate (401)`,
          'check that the ServiceAccount still exists; start the Pod anew, or renew the kubeconfig',
        );
      // Some do not tell their version to everybody.
      case 403:
        return ok(name, `${api.server} answers in ${Math.round(now() - started)} ms`);
      default:
        return warning(
          name,
          `${api.server} answers ${answer.status}: ${answer.message}`,
          'see what the API server logs',
        );
    }
  }
}

function checkClock(skew: Millis | undefined): Check {
  const name = 'clock';
  if (skew === undefined)
    return unknown(name, 'the API server did not tell the time', 'compare by hand: date -u on the node and elsewhere');
  const seconds = Math.abs(skew / 1000).toFixed(Math.abs(skew) < 10_000 ? 1 : 0);
  if (Math.abs(skew) <= tolerableSkew) return ok(name, `within ${seconds} s of the API server's`);
  return warning(
    name,
    `${seconds} s ${skew > 0 ? 'ahead of' : 'behind'} the API server's`,
    'let chrony, ntpd or systemd-timesyncd set the clocks: ages of Events are wrong, and exporters may leave them out as too old',
  );
}
