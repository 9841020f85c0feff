/** One measurement: seconds since the beginning, and bytes. */
export type Sample = readonly [seconds: number, bytes: number];

/** The share of the time at the beginning that is left out: an agent that has just started fills its tables. */
const warmUp = 0.25;

/** Bytes an hour, by least squares over all samples after the warm-up; NaN for fewer than three of them. */
export function slopeOf(samples: readonly Sample[]): number {
  const end = samples.at(-1)?.[0] ?? 0;
  const warm = samples.filter(([seconds]) => seconds >= end * warmUp);
  if (warm.length < 3) return NaN;
  const mean = (index: 0 | 1): number => warm.reduce((sum, sample) => sum + sample[index], 0) / warm.length;
  const [meanTime, meanBytes] = [mean(0), mean(1)];
  let covariance = 0;
  let variance = 0;
  for (const [seconds, bytes] of warm) {
    covariance += (seconds - meanTime) * (bytes - meanBytes);
    variance += (seconds - meanTime) ** 2;
  }
  return (covariance / variance) * 3600;
}
