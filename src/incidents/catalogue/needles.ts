import { causes } from './catalogue.ts';
import { syncNeedles } from './sign-of.ts';

/**
 * One of these stands in every record of kube-proxy, felix, bird or confd that the catalogue, or `signOf`, answers, fatal records of
 * klog apart: what makes those is their first letter, which the sources look at. Printable ASCII, eight characters or more each, and
 * none a part of another.
 */
export const programNeedles: readonly string[] = shortest([
  ...causes.flatMap(({ needles }) => needles),
  ...syncNeedles,
  // That felix has written less than it meant to.
  '... dropped ',
]);

function shortest(needles: readonly string[]): string[] {
  const distinct = [...new Set(needles)];
  return distinct.filter((needle) => !distinct.some((other) => other !== needle && needle.includes(other)));
}
