/** Whether this is `npm run fuzz` without `--short`, which runs once a night and not while somebody waits for it. */
export const isFuzz = process.env['FUZZ'] !== undefined;

/** Returns how often a property is tried: `ofNight` times by `npm run fuzz`, a tenth of that by `npm test`. */
export function runs(ofNight: number): number {
  return isFuzz ? ofNight : Math.ceil(ofNight / 10);
}
