import manifest from '../package.json' with { type: 'json' };

export const version: string = manifest.version;

/** Makes local time that of a zone, for time stamps that name none. The environment is read and set in this file only. */
export function useTimeZone(zone: string): void {
  // The TZ variable wants POSIX's sign for bare offsets, which is the other way round.
  const offset = /^([+-])(\d{2}):?(\d{2})$/.exec(zone);
  process.env['TZ'] = offset ? `<${zone}>${offset[1] === '+' ? '-' : '+'}${offset[2]}:${offset[3]}` : zone;
}
