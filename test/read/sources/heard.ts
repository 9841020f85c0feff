import type { LogLine } from '../../../src/base/model/log-line.ts';
import type { LineOrigin, Loss, Notice, SourceListener } from '../../../src/read/sources/source.ts';

/** Everything that a source has reported. */
export interface Heard {
  lines: (LogLine & { origin: LineOrigin })[];
  losses: Loss[];
  notices: Notice[];
}

/** A listener that records its calls, and also calls `onLine`. */
export function listening(onLine: () => void = () => {}): { heard: Heard; listener: SourceListener } {
  const heard: Heard = { lines: [], losses: [], notices: [] };
  return {
    heard,
    listener: {
      take(line, origin) {
        heard.lines.push({ ...line, origin });
        onLine();
      },
      lost: (loss) => void heard.losses.push(loss),
      notice: (notice) => void heard.notices.push(notice),
    },
  };
}
