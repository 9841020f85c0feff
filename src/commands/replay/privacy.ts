import { noNamespace, redactionOf } from '../../audit/privacy.ts';
import type { FlowRecord } from '../../audit/fields.ts';
import type { Snapshot } from '../../kubernetes/snapshot.ts';
import type { ReplayOptions } from '../options/replay-options.ts';

/**
 * What is taken out of audit rows; undefined: nothing. Whoever asks for one Namespace hands its rows to those who may know that one, so
 * no other is named then, whosever policy it was.
 */
export function rowRedaction(
  { privacy, namespace }: Pick<ReplayOptions, 'privacy' | 'namespace'>,
  { objects, optedOut }: Pick<Snapshot, 'objects' | 'optedOut'>,
): ((fields: FlowRecord) => FlowRecord) | undefined {
  const { bits, optOut } = privacy;
  const isOfOne = privacy.peers === 'redacted' && namespace !== undefined;
  // As the agent before it has heard which have the label.
  const hasOptedOut = (name: string): boolean => objects.namespaces.length === 0 || optedOut.has(name);
  const isHidden =
    isOfOne || optOut
      ? (name: string): boolean => (isOfOne && name !== namespace) || (optOut && hasOptedOut(name))
      : noNamespace;
  return redactionOf({ peers: isOfOne ? 'shown' : privacy.peers, bits, isHidden, labels: [] });
}
