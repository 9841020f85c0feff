/** A last line without its newline may end within a number: `DPT=54` of 5432 would be another port. */
export function withoutHalfValue(text: string): string {
  return text.replace(/ [A-Z]+=[^ =]*$/, ' ');
}
