import { events, everything, status } from '../../e2e/faults/answers.ts';
import { type Answer, startFaultProxy } from '../../e2e/faults/proxy.ts';
import type { Connection } from '../../e2e/control-plane/connection.ts';

export type ApiFaults = Awaited<ReturnType<typeof createApiFaults>>;

/** Stands before a real API server, and answers in its place as that does when it is away, is overloaded or fails. */
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
    /** Requests that were refused or cut off. */
    get refused(): number {
      return refused;
    },
    /** Begins a fault: connections are cut, writes of Events get 429, or all gets 500, in turns by that number. */
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
