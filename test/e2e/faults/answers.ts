import type { Fault, Scene } from './fault.ts';
import type { Answer } from './proxy.ts';

/** Rows in which a proxy answers, each with the answer and how long it lasts. */

export const everything = /./;
export const events = /^\w+ \/api\/v1\/namespaces\/[^/]+\/events/;
export const watches = /[?&]watch=true/;

/** Makes a Status as the API server writes it. */
export const status =
  (code: number, reason: string, headers: Record<string, string> = {}, message = 'made up'): Answer =>
  ({ response }) => {
    const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code };
    response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };

/** One page or one object that does not end, sent as fast as it is read. */
export const endless: Answer = ({ response }) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const part = Buffer.alloc(65_536, ' ');
  const fill = (): void => {
    while (!response.destroyed && response.write(part));
  };
  response.on('drain', fill);
  fill();
};

/** `cut`: open connections are broken, so that watches are requested again. */
export const failing =
  (answer: Answer, concerns = everything, cut = true): Fault['begin'] =>
  ({ proxy }) =>
    proxy.fail(answer, { concerns, cut });

export const heal = ({ proxy }: Scene): void => proxy.heal();

/** So many refused writes of Events that the agent backs off more than once. */
export const refusedWrites = (code: number, times: number) => (scene: Scene) =>
  scene.untilMetric(new RegExp(`api_requests_total\\{verb="POST",resource="events",code="${code}"\\} [${times}-9]`));
