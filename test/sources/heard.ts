import type { LogLine } from '../../src/model.ts';
import type { Origin } from '../../src/sources/envelopes/envelope.ts';
import type { Loss, Notice, SourceListener } from '../../src/sources/source.ts';

/** All that a source has told. */
export interface Heard {
  lines: (LogLine & { origin: Origin })[];
  losses: Loss[];
  notices: Notice[];
}

/** A listener that keeps what it hears. `onLine` is called as well. */
export function listening(onLine: () => void = () => {}): { heard: Heard; listener: SourceListener } {
  const heard: Heard = { lines: [], losses: [], notices: [] };
  return {
    heard,
    listener: {
      onLine(line, origin) {
        heard.lines.push({ ...line, origin });
        onLine();
      },
      onLost: (loss) => void heard.losses.push(loss),
      onNotice: (notice) => void heard.notices.push(notice),
    },
  };
}
