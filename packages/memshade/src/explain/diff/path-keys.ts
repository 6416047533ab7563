/** A frame of a path as it is found again in another run, whatever was built in between. */
export interface KeyFrame {
  /** With its module where the name alone would not tell. */
  readonly name: string;
  readonly file?: string | undefined;
  /** From 1, and in the function from 0; 0 where no line is known. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** Of the function; 0 or undefined where it is not known. */
  readonly startLine?: number | undefined;
  /** In the code, which counts where no line is known: it moves with every build. */
  readonly offset?: number | undefined;
  /** What goes on there: the function that is called, or what was counted. */
  readonly sign?: string | undefined;
}

/** Innermost first; without places, functions alone are compared. */
export interface PathKey {
  readonly frames: readonly KeyFrame[];
  readonly withPlaces: boolean;
}

/** Where in its function a frame is. Lines are counted from the function's start where that is known of both builds. */
export interface Position {
  readonly kind: "line" | "offset";
  readonly line: number;
  readonly column: number;
  /** Offset in the code of its first instruction, bytes; undefined where it is not known. */
  readonly code?: number | undefined;
  /** What goes on there, of all of its rows; undefined where that is not known. */
  readonly signs?: ReadonlySet<string> | undefined;
}

/** Numbers and hashes that compilers add to names, new ones with every build. */
const BUILD_MARKS =
  /(?:\.(?:llvm|constprop|isra|part|cold|lto_priv)(?:\.\d+)?)+$|::h[0-9a-f]{16}$| \(\.llvm\.\d+\)$/;

export function functionName(name: string): string {
  return name.replace(BUILD_MARKS, "");
}

/** What tells a path from all others of its run. */
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

/** @param fromStart whether lines are counted from the function's start */
export function positionOf(
  { line = 0, column = 0, offset = 0, startLine = 0 }: KeyFrame,
  fromStart: boolean,
): Position {
  if (line === 0) return { kind: "offset", line: offset, column: 0 };
  const code = offset === 0 ? undefined : offset;
  return { kind: "line", line: fromStart ? line - startLine : line, column, code };
}

/** What goes on in each frame of a path: who is called, and where the path ends what was counted. */
export function withSigns({ frames, withPlaces }: PathKey, counted: string): PathKey {
  const signed = frames.map((frame, index) => ({
    ...frame,
    sign: index === 0 ? counted : functionName(frames[index - 1]!.name),
  }));
  return { frames: signed, withPlaces };
}
