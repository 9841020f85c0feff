const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The year of all stamps of the samples, including those that name no year. */
const year = 2026;

/** Moves the RFC 3339, RFC 3164 or journal stamp of each line by whole seconds. All are in UTC. */
export function shiftLog(text: string, seconds: number): string {
  return text
    .replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?=\.\d+\+00:00 )/gm, (stamp) =>
      moved(`${stamp}Z`, seconds).toISOString().slice(0, 19),
    )
    .replace(/^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?= )/gm, (stamp) => rfc3164(moved(`${stamp} ${year} UTC`, seconds)))
    .replace(
      /("__REALTIME_TIMESTAMP":")(\d+)(?=")/g,
      (_, key: string, micros: string) => `${key}${BigInt(micros) + BigInt(seconds) * 1_000_000n}`,
    );
}

/** Moves every time in the JSON of API objects. */
export function shiftObjects(json: string, seconds: number): string {
  return json.replace(/(?<=")\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ(?=")/g, (stamp) => rfc3339(moved(stamp, seconds)));
}

/** Whole seconds, as the API writes times. */
export function rfc3339(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

function moved(stamp: string, seconds: number): Date {
  return new Date(Date.parse(stamp) + seconds * 1000);
}

function rfc3164(time: Date): string {
  return `${months[time.getUTCMonth()]} ${String(time.getUTCDate()).padStart(2)} ${time.toISOString().slice(11, 19)}`;
}
