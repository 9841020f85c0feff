/** Defines schemas for the values of settings, in the types of a config file, with a message for each wrong value. */
import * as z from 'zod/mini';
import { type Verdict, verdicts } from '../../base/model/packet.ts';
import type { SinkSetting } from '../../publish/audit/audit.ts';
import { parseContainerRule } from '../../read/sources/reading.ts';
import { parseListenAddress } from '../../base/platform/address.ts';

export const podCacheChoices = ['node', 'cluster'] as const;
export const policiesChoices = ['auto', 'off'] as const;
export const auditPeersChoices = ['shown', 'redacted'] as const;
export const logLevelChoices = ['debug', 'info', 'warn', 'error'] as const;

/** `auto`: the kernel's log, wherever it is found, and kube-proxy's log if it is a file. */
export type SourceSetting =
  | { kind: 'auto' | 'kernel' | 'containers' }
  | { kind: 'journal'; directory: string | undefined }
  | { kind: 'bpf-trace' | 'kernel-drops' | 'calico-flows'; directory: string | undefined }
  | { kind: 'file'; path: string }
  | { kind: 'program'; program: string; path: string };

export const text = z.string({ error: 'must be text; put it in quotes' });

export const path = text.check(z.regex(/^\//, { error: 'must be an absolute path' }));

export const yesOrNo = z.boolean({
  error: ({ input }) => `must be true or false${/^(?:true|false)$/.test(String(input)) ? ', without quotes' : ''}`,
});

export const wholeNumber = z
  .int({
    error: ({ input }) =>
      `must be a whole number${typeof input === 'string' && /^\d{1,9}$/.test(input) ? ', without quotes' : ''}`,
  })
  .check(
    z.minimum(0, { error: 'must be a whole number' }),
    z.maximum(999_999_999, { error: 'must be a whole number of at most nine digits' }),
  );

export const mebibytes = wholeNumber.check(z.minimum(1, { error: 'must be 1 MiB or more' }));

export function bitsUpTo(most: number) {
  return wholeNumber.check(z.maximum(most, { error: `must be 0 to ${most}` }));
}

export const source = z.pipe(
  text.check(
    z.regex(
      /^(?:auto|kernel|containers|journal|bpf-trace|kernel-drops|calico-flows|(?:journal|file|bpf-trace|kernel-drops|calico-flows):\/.*|program:[\w.@-]{1,64}=\/.*)$/,
      {
        error:
          'must be auto, kernel, containers, journal, journal:DIR, file:PATH, program:NAME=PATH, bpf-trace, bpf-trace:DIR, kernel-drops, kernel-drops:DIR, calico-flows or calico-flows:DIR, with absolute paths',
      },
    ),
  ),
  z.transform(readSource),
);

export const prefix = z.pipe(
  text.check(
    z.regex(new RegExp(`^(?:\\s*\\S.*)?=(?:${verdicts.join('|')})$`), {
      error: `must be NAME=VERDICT with a verdict of ${verdicts.join(', ')}, for example my-drop=dropped`,
    }),
  ),
  z.transform((given) => {
    const at = given.lastIndexOf('=');
    return { prefix: given.slice(0, at), verdict: given.slice(at + 1) as Verdict };
  }),
);

/** The name of a unit (systemd.unit(5)). As in systemctl, a name without a suffix means a service. */
export const unit = z.pipe(
  text.check(
    z.regex(/^[\w:.@\\-]{1,255}$/, { error: 'is not the name of a systemd unit, such as kube-proxy or k3s.service' }),
    z.refine((given) => !/@(?:\.[a-z]+)?$/.test(given), {
      error: 'is a template: name its instance, such as kube-proxy@node-a',
    }),
  ),
  z.transform((given) =>
    /\.(?:service|scope|socket|slice|mount|swap|timer|path)$/.test(given) ? given : `${given}.service`,
  ),
);

export const containerRule = z.pipe(
  text,
  z.transform((given, context) => {
    try {
      return parseContainerRule(given);
    } catch (error) {
      context.issues.push({ code: 'custom', message: (error as Error).message, input: given });
      return z.NEVER;
    }
  }),
);

export const sinkForm = /^(?:stdout|file:\/.+|otlp:https?:\/\/.+)$/;

export const auditSink = z.pipe(
  text.check(
    z.refine((given) => sinkForm.test(given) && isUrl(given), {
      error: 'must be stdout, file:PATH with an absolute path, or otlp:URL, for example otlp:https://collector:4318',
    }),
  ),
  z.transform((given): SinkSetting => {
    const value = given.slice(given.indexOf(':') + 1);
    if (given.startsWith('file:')) return { kind: 'file', path: value };
    return given === 'stdout' ? { kind: 'stdout' } : { kind: 'otlp', url: value };
  }),
);

function isUrl(sink: string): boolean {
  return !sink.startsWith('otlp:') || URL.canParse(sink.slice('otlp:'.length));
}

export function listenAddress(example: string) {
  return text.check(
    z.refine((given) => parseListenAddress(given) !== undefined, {
      error: `must be :PORT or HOST:PORT, for example ${example}`,
    }),
  );
}

export function listOf<Item extends z.ZodMiniType>(item: Item) {
  return z.array(item, { error: 'must be a list: a line "- VALUE" each, or [VALUE, VALUE]' });
}

export function oneOf<const Choices extends readonly [string, ...string[]]>(choices: Choices) {
  return z.enum(choices, { error: `must be ${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}` });
}

/** Accepts INFO as well as info, as kube-iptables-tailer does. */
export function lowerCase(given: unknown): unknown {
  return typeof given === 'string' ? given.toLowerCase() : given;
}

function readSource(given: string): SourceSetting {
  const [kind, where] = [given.split(':', 1)[0], given.slice(given.indexOf(':') + 1)];
  if (kind === 'file') return { kind, path: where };
  if (kind === 'program') {
    const at = where.indexOf('=');
    return { kind, program: where.slice(0, at), path: where.slice(at + 1) };
  }
  if (kind === 'journal' || kind === 'bpf-trace' || kind === 'kernel-drops' || kind === 'calico-flows')
    return { kind, directory: given === kind ? undefined : where };
  return { kind: kind as 'auto' | 'kernel' | 'containers' };
}

export function isTimeZone(given: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: given }) instanceof Intl.DateTimeFormat;
  } catch {
    return false;
  }
}

export interface SettingRow {
  /** The option of the command line, without its dashes, if it is not the name of the setting. */
  flag?: string;
  /** The variable, if it is not the name of the setting; '' without one. */
  env?: string;
  /** The placeholder in the help. */
  value: string;
  help: string;
  /** Checks the value, in the type of a config file. */
  schema: z.ZodMiniType;
  /** The default, written as on the command line. */
  default?: string;
  /** Set for a list: the option may be repeated, and this separates the values in the variable. */
  list?: RegExp;
  choices?: readonly string[];
  /** Whether the agent applies a change in the file without a restart. */
  reload?: true;
}

export interface Setting extends SettingRow {
  flag: string;
  env: string;
}
