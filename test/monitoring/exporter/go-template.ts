/**
 * Fields that layouts may name: texts of an Event, or '' if the Event has none. Go refuses any other name, and nothing
 * is sent.
 */
const fields = new Set(
  [
    '.Reason .Message .Type .Source.Component .Source.Host',
    '.InvolvedObject.APIVersion .InvolvedObject.Kind .InvolvedObject.Namespace .InvolvedObject.Name',
  ].flatMap((line) => line.split(' ')),
);

/**
 * The few parts of Go's text/template that our layouts use: `{{ .A.B }}`, `{{ with .A }}…{{ . }}…{{ end }}`, sprig's
 * function `replace` after a `|`, and `{{ index .Annotations "key" }}`. Throws for everything else. Names are Go's:
 * `.InvolvedObject.Kind` is `involvedObject.kind` here.
 */
export function render(template: string, data: unknown): string {
  const { metadata } = data as { metadata?: { annotations?: Record<string, string> } };
  // In Go, a missing key of a map gives an empty text.
  const annotation = (key: string): string => metadata?.annotations?.[key] ?? '';
  return renderWith(template, (path) => fieldAt(data, path), annotation);
}

function renderWith(template: string, valueOf: (path: string) => string, annotation: (key: string) => string): string {
  const block = /\{\{ with (\.[\w.]*) \}\}(.*?)\{\{ end \}\}|\{\{(.*?)\}\}/gs;
  return template.replace(block, (whole, path?: string, body?: string, action = '') => {
    if (path !== undefined && body !== undefined) {
      const value = valueOf(path);
      // Rendered in any case, so that its content is checked.
      const inner = renderWith(body, (inside) => (inside === '.' ? value : refuse(inside)), annotation);
      return value === '' ? '' : inner;
    }
    const [, key] = /^ index \.Annotations "([\w./-]+)" $/.exec(action) ?? [];
    if (key !== undefined) return annotation(key);
    const [field = '', ...calls] = action.trim().split(' | ');
    if (!/^\.[\w.]*$/.test(field)) throw new Error(`${whole}: not a template that this can render`);
    return calls.reduce(call, valueOf(field));
  });
}

function call(text: string, action: string): string {
  const [, old, replacement] = /^replace "([^"]*)" "([^"]*)"$/.exec(action) ?? [];
  if (old === undefined || replacement === undefined) throw new Error(`${action}: no function of this renderer`);
  return text.replaceAll(old, replacement);
}

function fieldAt(data: unknown, path: string): string {
  if (!fields.has(path)) refuse(path);
  let value = data;
  for (const name of path.slice(1).split('.')) value = (value as Record<string, unknown>)[jsonName(name)];
  return typeof value === 'string' ? value : '';
}

function refuse(path: string): never {
  throw new Error(`${path}: no field of this renderer`);
}

function jsonName(name: string): string {
  return name === 'APIVersion' ? 'apiVersion' : `${name[0]?.toLowerCase()}${name.slice(1)}`;
}
