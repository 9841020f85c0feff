import { load } from 'js-yaml';
import { z } from 'zod';

/**
 * The part of kubernetes-event-exporter's configuration that we ship or describe, read in the same way. Source:
 * pkg/exporter/config.go and rule.go of resmoio/kubernetes-event-exporter.
 */
const pattern = z
  .string()
  // An expression that Go cannot compile matches nothing, and the exporter does not say so.
  .refine((text) => !/\(\?<?[=!]|\\[1-9]/.test(text), 'look-around and back-references are not in the syntax of Go')
  .default('');
const labels = z.record(z.string(), pattern).default({});

const rule = z.strictObject({
  labels,
  message: pattern,
  apiVersion: pattern,
  kind: pattern,
  namespace: pattern,
  reason: pattern,
  type: pattern,
  component: pattern,
  host: pattern,
  receiver: z.string().default(''),
});

export interface Route {
  drop: readonly Rule[];
  match: readonly Rule[];
  routes: readonly Route[];
}

const route: z.ZodType<Route> = z.lazy(() =>
  z.strictObject({
    drop: z.array(rule).default([]),
    match: z.array(rule).default([]),
    routes: z.array(route).default([]),
  }),
);

const config = z.strictObject({
  logLevel: z.enum(['trace', 'debug', 'info', 'warn', 'error']).default('info'),
  logFormat: z.enum(['json', 'pretty']).default('pretty'),
  maxEventAgeSeconds: z.int().positive().default(5),
  clusterName: z.string().default(''),
  omitLookup: z.boolean().default(false),
  kubeQPS: z.number().default(5),
  kubeBurst: z.int().default(10),
  route,
  receivers: z.array(
    z.strictObject({
      name: z.string(),
      webhook: z.strictObject({ endpoint: z.string(), layout: z.strictObject({ text: z.string() }) }),
    }),
  ),
});

/** Source: pkg/sinks/loki.go of the same project. */
const lokiReceiver = z.strictObject({
  name: z.string(),
  loki: z.strictObject({
    url: z.string(),
    streamLabels: z.record(z.string(), z.string()),
    layout: z.record(z.string(), z.string()),
  }),
});
const lokiConfig = config.extend({ receivers: z.array(lokiReceiver) });

export type Rule = z.infer<typeof rule>;
export type ExporterConfig = z.infer<typeof config>;

/** Throws for settings that the exporter does not know or would not start with; the message has the place. */
export function readExporterConfig(text: string, env: Readonly<Record<string, string>>): ExporterConfig {
  return config.parse(load(expandEnv(text, env)));
}

/** The same for a configuration that sends to Loki. */
export function readLokiConfig(text: string, env: Readonly<Record<string, string>>): z.infer<typeof lokiConfig> {
  return lokiConfig.parse(load(expandEnv(text, env)));
}

/**
 * Go's os.ExpandEnv, which the exporter applies to the whole file, including "$" in regular expressions and templates.
 */
export function expandEnv(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(
    // An unclosed "${" is dropped.
    /\$(?:\{([^}]*)\}|\{|([*#$@!?0-9-])|([A-Za-z_]\w*))/g,
    (_, braced?: string, special?: string, name?: string) => env[braced ?? special ?? name ?? ''] ?? '',
  );
}
