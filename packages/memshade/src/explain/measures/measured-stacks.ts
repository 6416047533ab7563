import { NONE } from "../../profile/model/indices.ts";
import type { Clock } from "../../profile/model/run.ts";
import { ownDepth } from "../analyses/frames/own-place.ts";
import type { GroupBy } from "../analyses/groups.ts";

export type MeasuredTool = RecordingTool | "statics";

export type RecordingTool = "heap" | "waste" | "workingset" | "objects";

/** Place on a call path, as far as known; or a word for an owner that is not code, or for a library's code. */
export interface StackFrame {
  /** Name of the function. */
  readonly function?: string | undefined;
  /** Module, if the function's name alone is ambiguous. */
  readonly module?: string | undefined;
  /** Source position. */
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  /** Function inlined at the place, to which the line belongs; undefined for the function itself. */
  readonly inlined?: string | undefined;
  /** Line on which the function begins. */
  readonly startLine?: number | undefined;
  /** Module × 2^32 + offset in its code section; for native code, the address. */
  readonly address?: number | undefined;
  /** Name of the code's library; undefined for the program's own code. */
  readonly library?: string | undefined;
  /** True for words: "the host", "static data", "the C library". */
  readonly isWord?: true | undefined;
}

export interface MeasuredFrame extends StackFrame {
  readonly moduleIndex?: number | undefined;
  readonly offset?: number | undefined;
  /** Column in the source, from 1. */
  readonly column?: number | undefined;
  /** True if the line is that of the nearest earlier position in the function, because this one has none. */
  readonly approximate?: true | undefined;
  /** True if `function` is a substitute for a name: `func[12]`. */
  readonly isNameless?: true | undefined;
  readonly isInlined?: true | undefined;
  /** True if the host called this function directly. */
  readonly isFromHost?: true | undefined;
  readonly language?: "JavaScript" | undefined;
}

/** Call stacks as a tree: each is a frame called from a shorter stack. Callers precede callees. */
export interface StackTable {
  readonly frames: readonly MeasuredFrame[];
  /** Stack of the caller; {@link NONE} for outermost frames. */
  readonly prefix: ArrayLike<number>;
  readonly frame: ArrayLike<number>;
}

/** Amounts of a measure by row, and the rest in no row. */
export interface Column {
  readonly amounts: ArrayLike<number> | ArrayLike<bigint>;
  readonly rest?: number | undefined;
  readonly isLowerBound?: boolean | undefined;
  /** True if the run has only the total, without places. */
  readonly isUnplaced?: boolean | undefined;
}

export interface MeasuredModule {
  readonly index: number;
  readonly name: string;
  readonly path?: string | undefined;
  readonly buildId?: string | undefined;
  readonly knows?: "lines" | "functions" | "nothing" | undefined;
  readonly bytes?: number | undefined;
}

/**
 * Profile of a tool in the common form of all views: call paths in rows. Each measure has a column of amounts for these
 * rows.
 */
export interface MeasuredStacks {
  readonly tool: MeasuredTool;
  readonly name: string;
  readonly modules: readonly MeasuredModule[];
  readonly stacks: StackTable;
  readonly rows: ArrayLike<number>;
  /**
   * Stack whose innermost frame names the row's place, without the libraries that it called. {@link NONE}: there is
   * none.
   */
  readonly sites: ArrayLike<number>;
  /** Noun for a row, if it is no call path to a place. */
  readonly noun?: string | undefined;
  /** Clock of measures in its units. */
  readonly clock?: Clock | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly gaps: readonly string[];
  readonly notes: readonly string[];
  /** Returns the variance of each row's amount, if callers were sampled. */
  readonly varianceIn?:
    | ((column: Column, unit: "bytes" | "count") => ((row: number) => number) | undefined)
    | undefined;
  /** Returns the 95 % margin of error of an amount of some rows; undefined if all was counted. */
  readonly marginOf?:
    | ((column: Column, unit: "bytes" | "count", rows: readonly number[]) => number | undefined)
    | undefined;
}

export interface RowGroups {
  readonly by: GroupBy;
  readonly length: number;
  readonly groupOf: ArrayLike<number>;
  readonly rows: readonly (readonly number[])[];
}

export interface RowsOf<Frame> {
  readonly stacks: Omit<StackTable, "frames"> & { readonly frames: readonly Frame[] };
  readonly rows: ArrayLike<number>;
  readonly sites: ArrayLike<number>;
}

export function framesOf<Frame>({ frames, prefix, frame }: RowsOf<Frame>["stacks"], stack: number): Frame[] {
  const path: Frame[] = [];
  for (let at = stack; at !== NONE; at = prefix[at]!) path.push(frames[frame[at]!]!);
  return path;
}

/**
 * Returns a row's path from the frame that names its place outwards; the whole path if no frame is the program's own.
 */
export function placePath<Frame>({ stacks, rows, sites }: RowsOf<Frame>, row: number): Frame[] {
  return framesOf(stacks, sites[row] === NONE ? rows[row]! : sites[row]!);
}

/** Returns the library frames below the one that names a row's place, innermost first. */
export function insidePlace<Frame>({ stacks, rows, sites }: RowsOf<Frame>, row: number): Frame[] {
  const { frames, prefix, frame } = stacks;
  const inside: Frame[] = [];
  if (sites[row] !== NONE)
    for (let at = rows[row]!; at !== sites[row]; at = prefix[at]!) inside.push(frames[frame[at]!]!);
  return inside;
}

export class RowCollector {
  readonly #frames: MeasuredFrame[] = [];
  readonly #frameIndex = new Map<string, number>();
  readonly #prefix: number[] = [];
  readonly #frame: number[] = [];
  readonly #stackIndex = new Map<number, Map<number, number>>();
  readonly #rows: number[] = [];
  readonly #sites: number[] = [];

  /** Adds a row with its path, innermost frame first; the program's own frame names it. */
  add(path: readonly MeasuredFrame[]): void {
    const depth = ownDepth(path.map(({ library }) => library));
    let [stack, site]: [number, number] = [NONE, NONE];
    for (let at = path.length - 1; at >= 0; at--) {
      stack = this.#stack(stack, this.#indexOf(path[at]!));
      if (at === depth) site = stack;
    }
    this.#rows.push(stack);
    this.#sites.push(site);
  }

  finish(): Pick<MeasuredStacks, "stacks" | "rows" | "sites"> {
    const stacks = { frames: this.#frames, prefix: this.#prefix, frame: this.#frame };
    return { stacks, rows: this.#rows, sites: this.#sites };
  }

  #stack(caller: number, frame: number): number {
    let called = this.#stackIndex.get(caller);
    if (called === undefined) {
      called = new Map();
      this.#stackIndex.set(caller, called);
    }
    let stack = called.get(frame);
    if (stack === undefined) {
      stack = this.#prefix.push(caller) - 1;
      this.#frame.push(frame);
      called.set(frame, stack);
    }
    return stack;
  }

  #indexOf(frame: MeasuredFrame): number {
    const { function: name, module, file, line, inlined, startLine, address, library, moduleIndex } = frame;
    const { column, isWord, isInlined, isNameless } = frame;
    const place = [name, module, file, line, inlined, startLine, address, library, moduleIndex, column];
    const key = [...place, isWord, isInlined, isNameless].join("\n");
    let index = this.#frameIndex.get(key);
    if (index === undefined) {
      index = this.#frames.push(frame) - 1;
      this.#frameIndex.set(key, index);
    }
    return index;
  }
}
