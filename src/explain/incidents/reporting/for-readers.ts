import type { IncidentDetails, ServiceChains } from '../../../base/model/incident.ts';
import { mayName, type Reader } from '../../../base/model/readers.ts';

/** An Event of a Service names Services, chains and Pods of its own Namespace, and counts the others. */
export function incidentForReaders(
  details: IncidentDetails,
  reader: Reader,
  { ownerOf }: ServiceChains,
): IncidentDetails {
  if (reader.namespace === undefined) return details;
  const services = details.services.filter(({ object }) => mayName(object, reader));
  const subjects = details.subjects.filter((subject) => {
    const owner = ownerOf(subject);
    return owner === undefined || mayName(owner.service, reader);
  });
  const hidden = {
    services: details.services.length - services.length,
    subjects: details.subjects.length - subjects.length,
  };
  return {
    ...details,
    services,
    moreServices: details.moreServices + hidden.services,
    subjects,
    moreSubjects: details.moreSubjects + hidden.subjects,
    affected: { ...details.affected, names: [] },
    // The line may name a Service of another Namespace.
    quote: hidden.services + hidden.subjects > 0 ? '' : details.quote,
  };
}
