/** Whether it is `npm run fuzz` without `--short`, which runs once a night, and not whenever somebody waits for it. */
export const isFuzz = process.env['FUZZ'] !== undefined;

/** Returns how often a property is tried: `ofNight` times by `npm run fuzz`, and a tenth of it by `npm test`. */
export function runs(ofNight: number): number {
  return isFuzz ? ofNight : Math.ceil(ofNight / 10);
}
