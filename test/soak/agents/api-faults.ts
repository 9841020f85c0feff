import { events, everything, status } from '../../e2e/faults/answers.ts';
import { type Answer, startFaultProxy } from '../../e2e/faults/proxy.ts';
import type { Connection } from '../../e2e/control-plane/connection.ts';

export type ApiFaults = Awaited<ReturnType<typeof createApiFaults>>;

/** A proxy in front of a real API server. It answers as an API server does that is away, overloaded or failing. */
export async function createApiFaults(connection: Connection) {
  const proxy = await startFaultProxy(connection);
  let isWell = true;
  let refused = 0;
  const faults: readonly [Answer, RegExp][] = [
    [({ response }) => void response.destroy(), everything],
    [status(429, 'TooManyRequests', { 'retry-after': '1' }), events],
    [status(500, 'InternalError'), everything],
  ];
  return {
    get isWell(): boolean {
      return isWell;
    },
    /** How many requests were refused or cut off. */
    get refused(): number {
      return refused;
    },
    /**
     * Begins a fault that depends on `turn`: connections are cut, writes of Events get 429, or all requests get 500.
     */
    begin(turn: number): void {
      const [answer, concerns] = faults[turn % faults.length] ?? [() => {}, everything];
      isWell = false;
      proxy.fail(
        (exchange) => {
          refused++;
          return answer(exchange);
        },
        { concerns, cut: concerns === everything },
      );
    },
    end(): void {
      isWell = true;
      proxy.heal();
    },
    kubeconfigOf: proxy.kubeconfigOf,
    stop: proxy.stop,
  };
}
