import { causes } from './catalogue.ts';
import { syncNeedles } from './sign-of.ts';

/** One of these stands in each record that `signOf` answers, fatal ones of klog apart. ASCII, eight characters or more each. */
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
