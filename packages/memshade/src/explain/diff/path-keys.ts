/** Frame of a path as a key for finding it in other runs and builds. */
export interface KeyFrame {
  /** Name, with its module if ambiguous. */
  readonly name: string;
  readonly file?: string | undefined;
  /** Line from 1, and column; 0 if no line is known. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly startLine?: number | undefined;
  /** Offset in the code, which is used if no line is known: it changes with every build. */
  readonly offset?: number | undefined;
  /** Activity at the place: the called function, or the counted amounts. */
  readonly sign?: string | undefined;
}

/** Key of a path, innermost frame first; without places, only functions are compared. */
export interface PathKey {
  readonly frames: readonly KeyFrame[];
  readonly withPlaces: boolean;
}

/** Position of a frame in its function. Lines are counted from the function's start if both builds know it. */
export interface Position {
  readonly kind: "line" | "offset";
  readonly line: number;
  readonly column: number;
  readonly code?: number | undefined;
  /** Activities of all of its rows; undefined if unknown. */
  readonly signs?: ReadonlySet<string> | undefined;
}

/** Numbers and hashes that compilers add to names, and that change with every build. */
const BUILD_MARKS =
  /(?:\.(?:llvm|constprop|isra|part|cold|lto_priv)(?:\.\d+)?)+$|::h[0-9a-f]{16}$| \(\.llvm\.\d+\)$/;

export function functionName(name: string): string {
  return name.replace(BUILD_MARKS, "");
}

/** Returns a key that is unique among the paths of a run. */
export function exactKey({ frames, withPlaces }: PathKey): string {
  return frames
    .map((frame) => {
      const { name, file = "" } = frame;
      if (!withPlaces) return `${functionName(name)}\n${file}`;
      const { kind, line, column } = positionOf(frame, false);
      return `${functionName(name)}\n${file}\n${kind}:${line}:${column}`;
    })
    .join("\n");
}

export function positionOf(
  { line = 0, column = 0, offset = 0, startLine = 0 }: KeyFrame,
  fromStart: boolean,
): Position {
  if (line === 0) return { kind: "offset", line: offset, column: 0 };
  const code = offset === 0 ? undefined : offset;
  return { kind: "line", line: fromStart ? line - startLine : line, column, code };
}

/** Adds the activity of each frame of a path: its callee, or `counted` for the innermost one. */
export function withSigns({ frames, withPlaces }: PathKey, counted: string): PathKey {
  const signed = frames.map((frame, index) => ({
    ...frame,
    sign: index === 0 ? counted : functionName(frames[index - 1]!.name),
  }));
  return { frames: signed, withPlaces };
}
