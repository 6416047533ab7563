import type { HostCode } from "./heap-profile.ts";
import type { RunHostFrame } from "./run.ts";

/**
 * Frame of the host as its author knows it: with the source's name and position. Line and column are present if the
 * file is.
 */
export interface NamedHostFrame {
  name: string;
  file?: string | undefined;
  line?: number | undefined;
  column?: number | undefined;
  host: HostCode;
}

export function namedHostFrame(frame: RunHostFrame): NamedHostFrame {
  const { file, line, column } = frame.source ?? frame;
  const name = frame.source?.name ?? frame.name;
  return {
    name: frame.async === true ? `async ${name}` : name,
    ...(file === undefined || line === undefined || line === 0 ? {} : { file, line, column }),
    host: frame.is ?? (frame.glue === undefined ? "script" : `glue: ${frame.glue}`),
  };
}
