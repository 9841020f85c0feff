/** The agent's settings of privacy, as options of `replay`: with the same names, values and messages. */
import { auditSettings } from '../../config/audit-settings.ts';
import { auditPeersChoices } from '../../config/schema.ts';

const { auditPeers, auditIpv4Prefix, auditIpv6Prefix, auditOptOut } = auditSettings;

export interface ReplayPrivacy {
  peers: (typeof auditPeersChoices)[number];
  /** Bits of addresses that are kept. */
  bits: { ipv4: number; ipv6: number };
  /** Namespaces whose saved object has the label are not named. */
  optOut: boolean;
}

export const privacyForms = {
  [auditPeers.flag]: { type: 'string' },
  [auditIpv4Prefix.flag]: { type: 'string' },
  [auditIpv6Prefix.flag]: { type: 'string' },
  [auditOptOut.flag]: { type: 'string' },
} as const;

/** `output`: rows are the only output that can be redacted. */
export function readPrivacy(
  last: (name: string) => string | undefined,
  output: string,
  problems: string[],
): ReplayPrivacy {
  const given = Object.keys(privacyForms).filter((flag) => last(flag) !== undefined);
  if (output !== 'audit') for (const flag of given) problems.push(`--${flag}: is for --output audit`);
  const choice = <T extends string>(flag: string, preset: T, choices: readonly T[]): T => {
    const value = last(flag) ?? preset;
    const found = choices.find((each) => each === value);
    if (found === undefined) problems.push(`--${flag} ${value}: must be one of ${choices.join(', ')}`);
    return found ?? preset;
  };
  const bits = (flag: string, most: number): number => {
    const value = last(flag) ?? String(most);
    if (/^\d{1,3}$/.test(value) && Number(value) <= most) return Number(value);
    problems.push(`--${flag} ${value}: must be 0 to ${most}`);
    return most;
  };
  return {
    peers: choice(auditPeers.flag, 'shown', auditPeersChoices),
    bits: { ipv4: bits(auditIpv4Prefix.flag, 32), ipv6: bits(auditIpv6Prefix.flag, 128) },
    optOut: choice(auditOptOut.flag, 'false', ['true', 'false']) === 'true',
  };
}
