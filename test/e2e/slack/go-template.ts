/**
 * The few things of Go's text/template that our layouts use: `{{ .A.B }}`, `{{ . }}`, `{{ with .A }}…{{ end }}` and the function
 * `replace` of sprig behind a `|`. Throws for all else. Names are Go's: `.InvolvedObject.Kind` is `involvedObject.kind` here.
 */
export function render(template: string, data: unknown): string {
  const block = /\{\{ with (\.[\w.]*) \}\}(.*?)\{\{ end \}\}/gs;
  const withoutBlocks = template.replace(block, (_, path: string, body: string) => {
    const value = valueAt(data, path);
    return value === '' ? '' : render(body, value);
  });
  return withoutBlocks.replace(/\{\{ (.*?) \}\}/g, (whole, action: string) => {
    const [path = '', ...calls] = action.split(' | ');
    if (!/^\.[\w.]*$/.test(path)) throw new Error(`${whole}: not a template that this can render`);
    return calls.reduce(call, valueAt(data, path));
  });
}

function call(text: string, action: string): string {
  const [, old, replacement] = /^replace "([^"]*)" "([^"]*)"$/.exec(action) ?? [];
  if (old === undefined || replacement === undefined) throw new Error(`${action}: no function of this renderer`);
  return text.replaceAll(old, replacement);
}

/** '' where there is nothing, as the zero value of a string is. */
function valueAt(data: unknown, path: string): string {
  let value = data;
  for (const name of path.split('.').filter((each) => each !== ''))
    value = (value as Record<string, unknown>)[name[0]?.toLowerCase() + name.slice(1)];
  return typeof value === 'string' ? value : '';
}
