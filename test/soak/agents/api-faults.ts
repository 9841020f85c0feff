import { events, everything, status } from '../../e2e/faults/answers.ts';
import { type Answer, type FaultProxy, startFaultProxy } from '../../e2e/faults/proxy.ts';
import type { Connection } from '../../e2e/control-plane/connection.ts';

/** Stands before a real API server, and answers in its place as that does when it is away, is overloaded or fails. */
export interface ApiFaults extends Pick<FaultProxy, 'kubeconfigOf' | 'stop'> {
  readonly isWell: boolean;
  /** Requests that were refused or cut off. */
  readonly refused: number;
  /** Begins a fault: connections are cut, writes of Events get 429, or all gets 500, in turns by that number. */
  readonly begin: (turn: number) => void;
  readonly end: () => void;
}

export async function createApiFaults(connection: Connection): Promise<ApiFaults> {
  const proxy = await startFaultProxy(connection);
  let isWell = true;
  let refused = 0;
  const faults: readonly [Answer, RegExp][] = [
    [({ response }) => void response.destroy(), everything],
    [status(429, 'TooManyRequests', { 'retry-after': '1' }), events],
    [status(500, 'InternalError'), everything],
  ];
  return {
    get isWell() {
      return isWell;
    },
    get refused() {
      return refused;
    },
    begin(turn) {
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
    end() {
      isWell = true;
      proxy.heal();
    },
    kubeconfigOf: proxy.kubeconfigOf,
    stop: proxy.stop,
  };
}
