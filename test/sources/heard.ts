import type { LogLine } from '../../src/model/log-line.ts';
import type { LineOrigin, Loss, Notice, SourceListener } from '../../src/sources/source.ts';

/** All that a source has reported. */
export interface Heard {
  lines: (LogLine & { origin: LineOrigin })[];
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
