/** Asks the API server whether Cilium writes Events about dropped packets. */
import { at } from '../../base/platform/json.ts';
import { type ApiRequests, itemsOfAnswer } from './api.ts';

/** The proof that Cilium writes Events; undefined without one, as when neither may be read. */
export type CiliumEvents = 'setting' | 'event' | undefined;

/** The setting, and reason and component of the Events (pkg/hubble/dropeventemitter of Cilium 1.16 to 1.20). */
export const ciliumSetting = 'hubble-drop-events';
const written = { fieldSelector: 'reason=PacketDrop,source=cilium', limit: '1' };

export async function lookAtCiliumEvents({ request }: ApiRequests): Promise<CiliumEvents> {
  const config = await request('GET', '/api/v1/namespaces/kube-system/configmaps/cilium-config');
  if (config.kind === 'answered') return at(config.body, 'data', ciliumSetting) === 'true' ? 'setting' : undefined;
  const events = itemsOfAnswer(await request('GET', '/api/v1/events', { query: written }));
  return events.kind === 'items' && events.items.length > 0 ? 'event' : undefined;
}
