import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** Plays a Slack incoming webhook: takes `{"text": "…"}`. */
export interface Webhook {
  readonly url: string;
  /** All texts so far, in the order in which they came. */
  readonly texts: readonly string[];
  /** Resolves when `matches` accepts the texts; rejects with them after `within` ms (20 s). */
  readonly until: (matches: (texts: readonly string[]) => boolean, within?: number) => Promise<void>;
  readonly stop: () => Promise<void>;
}

export async function startWebhook(): Promise<Webhook> {
  const texts: string[] = [];
  const changes = new EventEmitter();
  const server = createServer((request, response) => {
    void take(request).then((text) => {
      texts.push(text);
      changes.emit('change');
      return response.end('ok');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/T0/B0/x`,
    texts,
    async until(matches, within = 20_000) {
      const signal = AbortSignal.timeout(within);
      while (!matches(texts)) {
        if (signal.aborted) throw new Error(`Slack has not what was expected, but:\n${texts.join('\n')}`);
        // Rejects only when the time is up.
        await once(changes, 'change', { signal }).catch(() => {});
      }
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function take(request: IncomingMessage): Promise<string> {
  return ((await json(request)) as { text: string }).text;
}
