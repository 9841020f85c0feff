/** Ways in which people and tools keep log lines. Each keeps one line at a time, unless it is a document. */

export interface Wrapping {
  name: string;
  /** The content of a file for these lines. `at`: when the collector took each of them, in milliseconds. */
  wrap: (lines: readonly string[], at: number) => string;
  /** Whether the result is one line for each line, so that it can be wrapped again. */
  isLine: boolean;
  /** Whether a line must have a stamp of its own to be told from the text before it. */
  needsStamp?: boolean;
}

const iso = (at: number): string => new Date(at).toISOString();
const compact = JSON.stringify;
const spaced = (value: unknown): string =>
  compact(value, undefined, 1)
    .replaceAll(/\n\s*(?=[}\]])/g, '')
    .replaceAll(/\n\s*/g, ' ');
const escapedForGo = (value: unknown): string =>
  compact(value).replaceAll(/[<>&=]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** `number`: 17 for the first line. */
function lineWise(
  name: string,
  wrap: (line: string, at: number, number: number) => string,
  more: Partial<Wrapping> = {},
): Wrapping {
  return {
    name,
    isLine: true,
    wrap: (lines, at) => lines.map((line, i) => `${wrap(line, at, i + 17)}\n`).join(''),
    ...more,
  };
}

function object(
  name: string,
  record: (line: string, at: number) => unknown,
  print: (value: unknown) => string = compact,
): Wrapping {
  return lineWise(name, (line, at) => print(record(line, at)));
}

function document(name: string, wrap: Wrapping['wrap']): Wrapping {
  return { name, wrap, isLine: false };
}

const cell = (text: string): string => `"${text.replaceAll('"', '""')}"`;

const escapedForHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (each) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;' })[each] ?? '&#39;');

export const prefixes: readonly Wrapping[] = [
  lineWise('JSON printed with blanks', (line) => (line.startsWith('{') ? spaced(JSON.parse(line)) : line)),
  lineWise('a quotation', (line) => `> ${line}`),
  lineWise('a quotation of a quotation', (line) => `> > ${line}`),
  lineWise('Markdown within a sentence', (line) => `\`${line}\``),
  lineWise('a window in a terminal', (line) => `│ ${line}   │`),
  lineWise('a window in a terminal, without its right border', (line) => `││ ${line}`),
  lineWise('a fence on the line of the text', (line) => `\`\`\`${line}`),
  lineWise('a list of Markdown', (line) => `- ${line}`, { needsStamp: true }),
  lineWise('HTML', escapedForHtml),
  lineWise('tags of HTML', (line) => `<pre><code>${escapedForHtml(line)}</code></pre>`),
  lineWise('HTML with hard blanks', (line) => escapedForHtml(line).replaceAll(' ', '&nbsp;'), {
    needsStamp: true,
  }),
  lineWise('a row of HTML', (line, at) => `<tr><td>${iso(at)}</td><td class="m">${escapedForHtml(line)}</td></tr>`),
  lineWise('XML', (line, at) => `<log time="${iso(at)}" host="relay-1">${escapedForHtml(line)}</log>`),
  lineWise('XML with raw text', (line, at) => `<r><date>${iso(at)}</date><text><![CDATA[${line}]]></text></r>`),
  lineWise('a table of Markdown', (line, at) => `| ${iso(at)} | node-7 | ${line} |`),
  lineWise('a table of Jira', (line, at) => `|${iso(at)}|${line}|`, { needsStamp: true }),
  lineWise('psql', (line, at) => ` 17 | ${iso(at)} | ${line}`),
  lineWise('tabs', (line, at) => `EVENTS\t3761\t${at + 9e5}\tnode-7\t${line}\t${at}`),
  lineWise('YAML in single quotes', (line) => `textPayload: '${line.replaceAll("'", "''")}'`),
  lineWise('Python', (line) => `b'${line.replaceAll(/[\\']/g, String.raw`\$&`)}'`),
  lineWise('Ruby', (line) => `       "message" => ${compact(line)},`),
  lineWise('diff', (line) => `+${line}`, { needsStamp: true }),
  lineWise('a dash', (line) => `– ${line}`, { needsStamp: true }),
  lineWise('cat -n', (line, _, number) => `    ${number}\t${line}`),
  lineWise('less -N', (line, _, number) => `     ${number} ${line}`, { needsStamp: true }),
  lineWise('an editor', (line, _, number) => ` ${number}|${line}`),
  lineWise('multitail', (line) => `[/var/log/kern.log] ${line}`, { needsStamp: true }),
  lineWise('ts', (line) => `Nov 21 12:00:00 ${line}`, { needsStamp: true }),
  lineWise('logcli', (line, at) => `${iso(at)} {filename="/var/log/kern.log", job="denied"} ${line}`),
  lineWise('logfmt', (line, at) => `time=${iso(at)} level=info msg=${compact(line)}`),
  lineWise('TOML', (line) => `message = ${compact(line)}`),
  lineWise('YAML', (line) => `- message: ${compact(line)}`),
  lineWise('grep -H', (line) => `/var/log/kern.log:${line}`),
  lineWise('grep -H of a file named after a verdict', (line) => `drop/denied.log:${line}`),
  lineWise('grep -Hn', (line, _, number) => `kern.log.1:${number}:${line}`),
  lineWise('grep -C', (line, _, number) => `./kern.log-${number}-${line}`),
  lineWise('grep -n', (line, _, number) => `${number}:${line}`),
  lineWise('docker compose', (line) => `agent-1  | ${line}`, { needsStamp: true }),
  lineWise('pdsh', (line) => `node-7: ${line}`, { needsStamp: true }),
  lineWise('a relay', (line, at) => `${iso(at)} relay-1 ${line}`, { needsStamp: true }),
  lineWise('colours', (line) => `\u001B[35mkern.log\u001B[m:${line}`),
  lineWise('Windows', (line) => `${line}\r`),
  lineWise('GitHub Actions', (line, at) => `${iso(at)} ${line}`, { needsStamp: true }),
];

export const objects: readonly Wrapping[] = [
  object('Docker', (line, at) => ({ log: `${line}\n`, stream: 'stderr', time: iso(at) })),
  object('Fluent Bit', (line, at) => ({ date: at / 1000, log: line })),
  object('Fluentd with a tag', (line, at) => ({
    tag: 'kern.warn',
    time: Math.floor(at / 1000),
    record: { message: line },
  })),
  object('logcli', (line, at) => ({
    labels: { job: 'denied', filename: '/var/log/kern.log' },
    line,
    timestamp: iso(at),
  })),
  object('Elasticsearch', (line, at) => ({
    _index: 'l',
    _source: { '@timestamp': iso(at), message: line, event: { original: line } },
  })),
  object('Kibana', (line, at) => ({
    fields: { message: [line], '@timestamp': [iso(at)] },
    _source: { message: line, '@timestamp': iso(at) },
  })),
  object('Splunk', (line, at) => ({
    preview: false,
    result: { _raw: line, _time: iso(at), sourcetype: 'syslog', host: 'node-b' },
  })),
  object('CloudWatch', (line, at) => ({
    logStreamName: 'kern',
    timestamp: at,
    message: line,
    ingestionTime: at + 9e5,
  })),
  object('Logs Insights', (line, at) => [
    { field: '@timestamp', value: iso(at) },
    { field: '@message', value: line },
  ]),
  object('Cloud Logging', (line, at) => ({
    receiveTimestamp: iso(at + 9e5),
    timestamp: iso(at),
    jsonPayload: { text: line },
  })),
  object('Azure', (line, at) => ({ TimeGenerated: iso(at), Computer: 'node-b', SyslogMessage: line })),
  object('Talos', (line, at) => ({ msg: line, 'talos-level': 'warn', 'talos-time': iso(at) })),
  object('Vector', (line, at) => ({
    file: '/var/log/kern.log',
    message: line,
    source_type: 'file',
    timestamp: iso(at),
  })),
  object('OpenTelemetry', (line, at) => ({
    resourceLogs: [
      {
        resource: { attributes: [{ key: 'host.name', value: { stringValue: 'node-b' } }] },
        scopeLogs: [{ logRecords: [{ timeUnixNano: `${at}000000`, body: { stringValue: line } }] }],
      },
    ],
  })),
  object('GELF', (line, at) => ({
    version: '1.1',
    host: 'node-b',
    short_message: line,
    timestamp: at / 1000,
    level: 4,
  })),
  object('Datadog', (line, at) => ({ id: 'a', content: { timestamp: iso(at), tags: ['env:a'], message: line } })),
  object('MongoDB', (line, at) => ({ _id: 1, when: { t: { $date: iso(at) } }, doc: { payload: line } }), spaced),
  object('Protocol Buffers', (line, at) => ({
    entry: { timestamp: { seconds: Math.floor(at / 1000), nanos: 0 }, text: line },
  })),
  object('names of nobody', (line, at) => ({ α: { β: [{ γ: line, zeit_time: iso(at) }] } })),
  object('zap', (line, at) => ({ level: 'info', ts: at / 1000, caller: 'tail/tail.go:1', msg: line })),
  object('logstash with blanks', (line, at) => ({ '@version': '1', '@timestamp': iso(at), message: line }), spaced),
  object('Go', (line, at) => ({ time: iso(at), text: line }), escapedForGo),
  object('GELF with a short copy', (line, at) => ({
    version: '1.1',
    short_message: line.slice(0, 40),
    full_message: line,
    timestamp: at / 1000,
  })),
  lineWise('Fluent Bit’s stdout', (line, at) => `[0] kern.log: [[${at / 1000}, {}], ${compact({ log: line })}]`),
  lineWise(
    'an older Fluent Bit’s stdout',
    (line, at) => `[0] kern.log: [${at / 1000}.000000000, ${compact({ log: line })}]`,
  ),
  lineWise(
    'Fluentd’s stdout',
    (line, at) => `${iso(at).replace('T', ' ').replace('Z', '000000')} +0000 kern.log: ${compact({ message: line })}`,
  ),
  object('a list a line', (line, at) => [iso(at), line]),
  object('Loki’s tuples', (line, at) => ({ stream: { job: 'kern' }, values: [[`${at}000000`, line]] })),
  lineWise('an element of a list', (line, at) => `${compact({ time: iso(at), message: line })},`),
  lineWise('a string', (line) => compact(line)),
  lineWise('json-sse', (line, at) => `data: ${compact({ time: iso(at), message: line })}`),
  lineWise('json-seq', (line, at) => `\u001E${compact({ time: iso(at), message: line })}`),
];

export const documents: readonly Wrapping[] = [
  document(
    'gcloud',
    (lines, at) =>
      `${compact(
        lines.map((line) => ({ insertId: 'a', textPayload: line, timestamp: iso(at) })),
        undefined,
        2,
      )}\n`,
  ),
  document('aws logs', (lines, at) =>
    compact({ events: lines.map((message) => ({ message, timestamp: at })), searchedLogStreams: [] }, undefined, 4),
  ),
  document('jq', (lines, at) =>
    lines.map((message) => `${compact({ time: iso(at), message }, undefined, 2)}\n`).join(''),
  ),
  document('a log in a text', (lines, at) => compact({ took: 3, at: iso(at), output: `${lines.join('\n')}\n` })),
  document('a log in a text, and as a list', (lines) =>
    compact({ stdout: lines.join('\n'), stdout_lines: lines }, undefined, 4),
  ),
  document('a log in a message', (lines) => compact({ message: lines.join('\n') })),
  document('one line', (lines, at) => compact(lines.map((message) => ({ time: iso(at), message })))),
  document('Loki', (lines, at) =>
    compact(
      {
        status: 'success',
        data: { result: [{ stream: { job: 'a' }, values: lines.map((line) => [`${at}000000`, line]) }] },
      },
      undefined,
      1,
    ),
  ),
  document('Azure', (lines, at) =>
    compact({
      tables: [
        {
          columns: [
            { name: 'TimeGenerated', type: 'datetime' },
            { name: 'SyslogMessage', type: 'string' },
          ],
          rows: lines.map((line) => [iso(at), line]),
        },
      ],
    }),
  ),
  document('Azure with records of a collector', (lines, at) =>
    compact({ rows: lines.map((line) => [iso(at), compact({ message: line })]) }),
  ),
  document('one pair of marks of code', (lines) => `\`${lines.join('\n')}\`\n`),
  document('a fence on the lines of the text', (lines) => `\`\`\`${lines.join('\n')}\`\`\`\n`),
  document('Markdown', (lines) => `I see:\n\n\`\`\`\n${lines.join('\n')}\n\`\`\`\n\nWhy?\n`),
  document('tail', (lines) => `==> /var/log/kern.log <==\n${lines.join('\n')}\n\n==> /var/log/messages <==\n`),
  document('values in a row', (lines, at) => lines.map((message) => compact({ time: iso(at), message })).join('')),
  document('CSV', (lines, at) => ['Time,Line', ...lines.map((line) => `${iso(at)},${cell(line)}`)].join('\n')),
  document('CSV of Windows with line breaks', (lines, at) =>
    ['"_time","note","_raw"', ...lines.map((line) => [iso(at), 'two\nlines', line].map(cell).join(','))].join('\r\n'),
  ),
  document('TSV', (lines, at) =>
    ['timestamp\tmessage', ...lines.map((line) => `${iso(at)}\t${line.includes('"') ? cell(line) : line}`)].join('\n'),
  ),
];
