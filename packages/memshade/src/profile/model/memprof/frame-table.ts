import type { MemprofFrames, MemprofSources } from "./profile.ts";

export interface MemprofFrame {
  readonly guid: bigint;
  readonly lineOffset: number;
  readonly column: number;
  readonly inline: boolean;
  readonly name?: string | undefined;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly discriminator?: number | undefined;
}

/**
 * Growing table of distinct frames. With `keepsSources`, frames that LLVM treats as equal stay separate if their names,
 * files, lines or discriminators differ.
 */
export class FrameTable {
  readonly keepsSources: boolean;
  readonly #rows: MemprofFrame[] = [];
  readonly #indices = new Map<string, number>();

  constructor(keepsSources: boolean) {
    this.keepsSources = keepsSources;
  }

  get length(): number {
    return this.#rows.length;
  }

  at(index: number): MemprofFrame {
    return this.#rows[index]!;
  }

  intern(frame: MemprofFrame): number {
    const { guid, lineOffset, column, inline } = frame;
    let key = `${guid} ${lineOffset} ${column} ${inline ? 1 : 0}`;
    if (this.keepsSources)
      key += ` ${frame.line ?? 0} ${frame.discriminator ?? 0} ${frame.name ?? ""}\n${frame.file ?? ""}`;
    const existing = this.#indices.get(key);
    if (existing !== undefined) return existing;
    const index = this.#rows.length;
    this.#rows.push(this.keepsSources ? frame : { guid, lineOffset, column, inline });
    this.#indices.set(key, index);
    return index;
  }

  build(): MemprofFrames {
    return framesOf(this.#rows, this.keepsSources);
  }
}

export function framesOf(rows: readonly MemprofFrame[], keepsSources: boolean): MemprofFrames {
  return {
    length: rows.length,
    guid: BigUint64Array.from(rows, ({ guid }) => guid),
    lineOffset: Uint32Array.from(rows, ({ lineOffset }) => lineOffset),
    column: Uint32Array.from(rows, ({ column }) => column),
    inline: Uint8Array.from(rows, ({ inline }) => (inline ? 1 : 0)),
    source: keepsSources ? sourcesOf(rows) : undefined,
  };
}

export function frameAt(frames: MemprofFrames, index: number): MemprofFrame {
  const { source } = frames;
  const frame = {
    guid: frames.guid[index]!,
    lineOffset: frames.lineOffset[index]!,
    column: frames.column[index]!,
    inline: frames.inline[index] === 1,
  };
  return source === undefined
    ? frame
    : {
        ...frame,
        name: source.strings[source.name[index]!],
        file: source.strings[source.file[index]!],
        line: source.line[index]!,
        discriminator: source.discriminator[index]!,
      };
}

function sourcesOf(rows: readonly MemprofFrame[]): MemprofSources {
  const strings: string[] = [];
  const indices = new Map<string, number>();
  const intern = (text: string | undefined) => {
    if (text === undefined) return -1;
    let index = indices.get(text);
    if (index === undefined) {
      index = strings.length;
      strings.push(text);
      indices.set(text, index);
    }
    return index;
  };
  return {
    strings,
    name: Int32Array.from(rows, ({ name }) => intern(name)),
    file: Int32Array.from(rows, ({ file }) => intern(file)),
    line: Uint32Array.from(rows, ({ line }) => line ?? 0),
    discriminator: Uint32Array.from(rows, ({ discriminator }) => discriminator ?? 0),
  };
}

/** Compares frames by content: GUID, line, column, inline, then the sources. */
export function compareFrames(a: MemprofFrame, b: MemprofFrame): number {
  return (
    compare(a.guid, b.guid) ||
    a.lineOffset - b.lineOffset ||
    a.column - b.column ||
    Number(a.inline) - Number(b.inline) ||
    (a.line ?? 0) - (b.line ?? 0) ||
    (a.discriminator ?? 0) - (b.discriminator ?? 0) ||
    compare(a.name ?? "", b.name ?? "") ||
    compare(a.file ?? "", b.file ?? "")
  );
}

function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
