/** Reads the output of `journalctl -o verbose`: a stamp and a cursor, then a line for each field. */

/** Matches `Sat 2026-11-21 03:42:11.123456 UTC [s=…;i=…]`. Of zones, only UTC and numbers are known. */
const head =
  /^[A-Z][a-z]{2} (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,9})?) ([A-Z]{1,5}|[+-]\d{2}(?::?\d{2})?) \[[a-z]=/;
const field = /^ {4}([A-Z_0-9]{1,64})=(.*)$/s;
/** Further lines of a value begin below the value. */
const further = /^ {5,}(.*)$/s;
const maxFields = 256;

export function isVerbose(text: string): boolean {
  return text.split('\n', 4).some((line) => head.test(line));
}

export interface VerboseRecords {
  take: (line: string) => void;
  end: () => void;
}

/** `take` gets each record as JSON. */
export function createVerboseRecords(take: (json: string) => void): VerboseRecords {
  let record: Record<string, string> | undefined;
  let last = '';
  return { take: line, end: hand };

  function line(text: string): void {
    const stamp = head.exec(text);
    if (stamp !== null) {
      hand();
      const [, date, time, zone = ''] = stamp;
      record = {
        time: `${date}T${time}${zone === 'UTC' ? 'Z' : /^[+-]\d\d$/.test(zone) ? `${zone}:00` : /^[+-]/.test(zone) ? zone : ''}`,
      };
      return;
    }
    if (record === undefined) return;
    const found = field.exec(text);
    if (found !== null && Object.keys(record).length < maxFields) {
      last = found[1] as string;
      record[last] = found[2] as string;
    } else if (found === null && last !== '') record[last] += `\n${further.exec(text)?.[1] ?? text}`;
  }

  function hand(): void {
    if (record !== undefined) take(JSON.stringify(record));
    record = undefined;
    last = '';
  }
}
