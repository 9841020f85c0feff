/** Checks whether Cilium writes Events about the same packets as this program. */
import { documentAt } from '../../../agent/config/docs-url.ts';
import { ciliumSetting } from '../cilium-events.ts';
import type { CheckInput } from '../facts.ts';
import { answersOf, type Check } from '../report.ts';

export function checkCiliumEvents({ ciliumEvents }: CheckInput): Check[] {
  if (ciliumEvents === undefined) return [];
  const how =
    ciliumEvents === 'setting'
      ? `ConfigMap kube-system/cilium-config has ${ciliumSetting}: "true"`
      : 'Events of the component cilium exist';
  return [
    answersOf('cilium-events').warning(
      `Cilium also writes PacketDrop Events on Pods: ${how}`,
      `use one of the two, or a packet that a policy denies has two Events: ${documentAt('docs/logging/cilium.md#ciliums-own-events')}`,
    ),
  ];
}
