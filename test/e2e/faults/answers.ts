import type { Fault, Scene } from './fault.ts';
import type { Answer } from './proxy.ts';

/** Rows that have a proxy answer, each with what and until when. */

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

/** One page or one object without an end, as fast as it is read. */
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

/** Refused writes of Events: more than one back-off. */
export const refusedWrites = (code: number, times: number) => (scene: Scene) =>
  scene.untilMetric(new RegExp(`api_requests_total\\{verb="POST",resource="events",code="${code}"\\} [${times}-9]`));
