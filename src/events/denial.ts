import type { Refusal } from './event-store.ts';

/** What refuses an Event that the agent has the right to write; `admission`: something else that the API server asks. */
export type Denier = 'webhook' | 'policy' | 'quota' | 'admission';

/**
 * Who denied a write although rights allow it; undefined for every other refusal. The HTTP status does not show it: a missing right
 * and a quota are both 403, a ValidatingAdmissionPolicy has 403, 413 or 422, and a webhook any. The texts are those of
 * Kubernetes 1.36, unchanged since 1.9 (webhook) and 1.26 (policy); what others may put into them comes after what is matched.
 */
export function denierOf({ status, reason, message }: Omit<Refusal, 'kind' | 'retryAfter'>): Denier | undefined {
  if (status === 0 || reason === 'NamespaceTerminating') return undefined;
  if (/^admission webhook "[^"]{1,300}" denied the request/.test(message)) return 'webhook';
  const why = /^[a-z.]{1,100}(?: "[^"]{0,300}")? is forbidden: (.{1,60})/.exec(message)?.[1];
  if (why === undefined || why.startsWith('User "')) return undefined;
  if (why.startsWith('ValidatingAdmissionPolicy ')) return 'policy';
  return /^(?:exceeded|failed|insufficient|status unknown for) quota/.test(why) ? 'quota' : 'admission';
}
