import type { Millis } from '../../../model/log-line.ts';
import type { Api } from '../api.ts';
import { answersOf, type Check } from '../check.ts';

/** Exporters throw away Events whose time is further off than that. */
const tolerableSkew: Millis = 5000;

/** A tenth of a second is usual. The other checks have five seconds, and some ask twice. */
const slow: Millis = 3000;

const { ok, problem, warning } = answersOf('api-server');

/** Whether the API server can be reached, and how its clock and this node's differ. */
export async function checkApiServer(api: Api, now: () => Millis): Promise<Check[]> {
  const started = now();
  const answer = await api.request('GET', '/version');
  const took = Math.round(now() - started);
  return [reachable(), checkClock(api.clockSkew)];

  function stranger(why: string): Check {
    return problem(
      `what answers at ${api.server} is no API server: ${why}`,
      'check that the address is right, and that no proxy stands between',
    );
  }

  function reachable(): Check {
    if (api.unusable !== undefined)
      return problem(
        api.unusable,
        'run doctor in a Pod with the ServiceAccount of deploy/base, or name a --kubeconfig',
      );
    if (answer.kind === 'answered') {
      const version = (answer.body as { gitVersion?: unknown } | null)?.gitVersion;
      if (typeof version !== 'string') return stranger('it tells no version');
      const finding = `${api.server} answers in ${took} ms (${version})`;
      return took <= slow ? ok(finding) : warning(`${finding}: that is slow`, 'see what the API server logs');
    }
    switch (answer.status) {
      case 0:
        // A proxy, or a page that wants a login.
        if (api.clockSkew !== undefined && answer.message.includes('JSON')) return stranger(answer.message);
        return problem(
          `${api.server} does not answer: ${answer.message}`,
          'check that address and certificate are right, and that no firewall or NetworkPolicy stands between',
        );
      case 401:
        return problem(
          `${api.server} does not accept the token or certificate (401)`,
          'check that the ServiceAccount still exists; start the Pod again, or renew the kubeconfig',
        );
      // Some API servers show their version to administrators only.
      case 403:
        return ok(`${api.server} answers in ${took} ms`);
      default:
        return warning(`${api.server} answers ${answer.status}: ${answer.message}`, 'see what the API server logs');
    }
  }
}

function checkClock(skew: Millis | undefined): Check {
  const clock = answersOf('clock');
  if (skew === undefined)
    return clock.unknown('the API server did not tell the time', 'compare by hand: date -u on the node and elsewhere');
  const seconds = Math.abs(skew / 1000).toFixed(Math.abs(skew) < 10_000 ? 1 : 0);
  if (Math.abs(skew) <= tolerableSkew) return clock.ok(`within ${seconds} s of the API server's`);
  return clock.warning(
    `${seconds} s ${skew > 0 ? 'ahead of' : 'behind'} the API server's`,
    'let chrony, ntpd or systemd-timesyncd set the clocks: ages of Events are wrong, and exporters may leave them out as too old',
  );
}
