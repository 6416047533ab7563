import type { FrameRules } from "../explain/analyses/frames/frame-rules.ts";
import type { PartFrame } from "../explain/fleet/trend.ts";
import { loadDemangler } from "../names/load/demangler.ts";
import type { StoreDatabase } from "./database.ts";

/** Returns readable names and source locations of frames by their keys. */
export async function namedFrames(
  database: StoreDatabase,
  wantedFrames: readonly bigint[],
  rules: FrameRules,
): Promise<Map<bigint, PartFrame>> {
  const keys = [...new Set(wantedFrames)];
  if (keys.length === 0) return new Map();
  const { rows } = await database.ask(
    `select f.frame, f.function_name, f.file_name, f.line, f.line_offset, f."column", f.inline, f.guid, f."offset"
     from frames as f where f.frame in (${keys.join(", ")})`,
  );
  const demangle = loadDemangler();
  return new Map(
    rows.map(([frame, name, file, line, offset, column, inline, guid, place]) => {
      const readable = name === null ? `GUID 0x${(guid as bigint).toString(16)}` : demangle(name as string);
      const knownLine = Number(line ?? 0);
      const source = { function: readable, file: (file as string | null) ?? undefined };
      return [
        frame as bigint,
        {
          name: readable,
          file: source.file,
          line: knownLine,
          startLine: knownLine === 0 ? 0 : knownLine - (Number(offset) | 0),
          column: Number(column),
          offset: place === null ? 0 : Number(place),
          inlined: inline as boolean,
          library: rules.libraryOf(source),
        },
      ] as const;
    }),
  );
}
