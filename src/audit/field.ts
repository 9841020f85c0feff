/** Says whether a field has few enough values for a label of metrics and streams: `fine`, `careful`, or `avoid`. */
export type Cardinality = 'fine' | 'careful' | 'avoid';

export interface Field<
  Type extends 'string' | 'time' | 'integer' | 'boolean' = 'string' | 'time' | 'integer' | 'boolean',
> {
  type: Type;
  about: string;
  cardinality: Cardinality;
  /** All values, where there are few. */
  values?: readonly string[];
  /** Name in the Elastic Common Schema and in OCSF's class 4001; '' where there is none. */
  ecs: string;
  ocsf: string;
  /** Packets of one flow may differ in it; the record leaves it out then. */
  varies?: true;
  /** The flows of the last hour do without it. */
  live?: false;
  /** An address, which the settings of privacy may cut. */
  address?: true;
}

type Names = Partial<Omit<Field, 'type' | 'about' | 'cardinality'>>;

function of<const Type extends Field['type']>(type: Type) {
  return (about: string, cardinality: Cardinality, names: Names = {}): Field<Type> => ({
    type,
    about,
    cardinality,
    ecs: '',
    ocsf: '',
    ...names,
  });
}

export const text = of('string');
export const time = of('time');
export const integer = of('integer');
export const boolean = of('boolean');
