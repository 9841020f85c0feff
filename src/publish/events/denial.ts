/** The refuser of an Event that the agent has the right to write. `admission`: another admission plug-in. */
export type Denier = 'webhook' | 'policy' | 'quota' | 'admission';

/** A refusal: its HTTP status, and the fields of its Status object. */
interface Denial {
  status: number;
  reason: string;
  message: string;
}

/**
 * Returns the refuser of a write that rights allow; undefined for other refusals. The message decides, because the HTTP status is not enough: a
 * missing right and a quota both have 403, a ValidatingAdmissionPolicy has 401, 403, 413 or 422, and a webhook may have any. The texts are those
 * of Kubernetes 1.36, unchanged since 1.9 (webhook) and 1.26 (policy).
 */
export function denierOf({ status, reason, message }: Denial): Denier | undefined {
  if (status === 0 || reason === 'NamespaceTerminating') return undefined;
  if (/^admission webhook "[^"]{1,300}" denied the request/.test(message)) return 'webhook';
  const why = /^[a-z.]{1,100}(?: "[^"]{0,300}")? is forbidden: (.{1,60})/.exec(message)?.[1];
  if (why === undefined || why.startsWith('User "')) return undefined;
  if (why.startsWith('ValidatingAdmissionPolicy ')) return 'policy';
  return /^(?:exceeded|failed|insufficient|status unknown for) quota/.test(why) ? 'quota' : 'admission';
}
