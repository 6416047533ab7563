import { NONE } from "../../profile/model/indices.ts";
import type { Clock } from "../../profile/model/run.ts";
import { ownDepth } from "../analyses/frames/own-place.ts";
import type { GroupBy } from "../analyses/groups.ts";

/** A tool of whose profile stacks are made; static data is recorded with the heap. */
export type MeasuredTool = RecordingTool | "statics";

/** A tool by which a run can be recorded, and that measures are declared of. */
export type RecordingTool = "heap" | "waste" | "workingset" | "objects";

/** A place on a call path, as far as it is known; or a word for what is no code, or for a library's code. */
export interface StackFrame {
  /** As demanglers write it; of a `word`, what it stands for. */
  readonly function?: string | undefined;
  /** Where the function's name alone would not tell it from those of other modules. */
  readonly module?: string | undefined;
  readonly file?: string | undefined;
  /** From 1. */
  readonly line?: number | undefined;
  /** The function that is inlined there, which the line is of; undefined for the function itself. */
  readonly inlined?: string | undefined;
  /** First line of the function that the line is of. */
  readonly startLine?: number | undefined;
  /** Module × 2^32 + offset in its code section; of native code, the address. */
  readonly address?: number | undefined;
  /** The library that it is of, in words; undefined for the program's own. */
  readonly library?: string | undefined;
  /** No function: "the host", "static data", "the C library". */
  readonly isWord?: true | undefined;
}

/** A frame with all that a profile has of it. */
export interface MeasuredFrame extends StackFrame {
  /** Index into the modules of the stacks; undefined for what is in none. */
  readonly moduleIndex?: number | undefined;
  /** Of the call, in the module's code. */
  readonly offset?: number | undefined;
  readonly column?: number | undefined;
  /** The line is that of the nearest earlier place in the function: this one has none. */
  readonly approximate?: true | undefined;
  /** `function` is a number that stands for a name: `func[12]`. */
  readonly isNameless?: true | undefined;
  /** Its function was inlined into that of the next outer frame. */
  readonly isInlined?: true | undefined;
  /** The host called this function itself. */
  readonly isFromHost?: true | undefined;
  readonly language?: "JavaScript" | undefined;
}

/** Call stacks as a tree: each is a frame called from a shorter stack. Callers stand before what they call. */
export interface StackTable {
  readonly frames: readonly MeasuredFrame[];
  /** Stack of the caller; {@link NONE} for outermost frames. */
  readonly prefix: ArrayLike<number>;
  readonly frame: ArrayLike<number>;
}

/** How much of a measure there is in each row, and what no row has. */
export interface Column {
  readonly amounts: ArrayLike<number> | ArrayLike<bigint>;
  /** Of the whole run, and in no row. */
  readonly rest?: number | undefined;
  /** There is at least so much. */
  readonly isLowerBound?: boolean | undefined;
  /** The run has the whole and no places. */
  readonly isUnplaced?: boolean | undefined;
}

export interface MeasuredModule {
  /** In the run. */
  readonly index: number;
  readonly name: string;
  readonly path?: string | undefined;
  readonly buildId?: string | undefined;
  /** What its file tells of its code. */
  readonly knows?: "lines" | "functions" | "nothing" | undefined;
  /** Bytes of its code. */
  readonly bytes?: number | undefined;
}

/** What a tool's profile is for every view: call paths in rows. Each measure has a column of amounts for these rows. */
export interface MeasuredStacks {
  readonly tool: MeasuredTool;
  /** `heap of draw.wasm` */
  readonly name: string;
  readonly modules: readonly MeasuredModule[];
  readonly stacks: StackTable;
  /** The stack of each row; {@link NONE} where nobody knows any. */
  readonly rows: ArrayLike<number>;
  /** The stack whose innermost frame names the row's place: libraries that it called are not in it. {@link NONE}: there is none. */
  readonly sites: ArrayLike<number>;
  /** What a row is, where it is no call path to a place. */
  readonly noun?: string | undefined;
  /** What measures in its units are of. */
  readonly clock?: Clock | undefined;
  /** What is made in rows: the type of objects. */
  readonly labels?: readonly string[] | undefined;
  /** Sentences: what is not in the rows, or is an estimate. */
  readonly gaps: readonly string[];
  /** Sentences: what the numbers mean. */
  readonly notes: readonly string[];
  /** The variance of the amount of each row, where a sample of callers was asked. */
  readonly varianceIn?:
    | ((column: Column, unit: "bytes" | "count") => ((row: number) => number) | undefined)
    | undefined;
  /** How far an amount of some rows may be off, 19 times of 20; undefined where all was counted. */
  readonly marginOf?:
    | ((column: Column, unit: "bytes" | "count", rows: readonly number[]) => number | undefined)
    | undefined;
}

/** Rows divided into groups, numbered from 0 in the order of their first row. */
export interface RowGroups {
  readonly by: GroupBy;
  readonly length: number;
  /** The group of each row. */
  readonly groupOf: ArrayLike<number>;
  /** The rows of each group. */
  readonly rows: readonly (readonly number[])[];
}

/** Rows with frames as a view has them. */
export interface RowsOf<Frame> {
  readonly stacks: Omit<StackTable, "frames"> & { readonly frames: readonly Frame[] };
  readonly rows: ArrayLike<number>;
  readonly sites: ArrayLike<number>;
}

/** The frames of a stack, innermost first. */
export function framesOf<Frame>({ frames, prefix, frame }: RowsOf<Frame>["stacks"], stack: number): Frame[] {
  const path: Frame[] = [];
  for (let at = stack; at !== NONE; at = prefix[at]!) path.push(frames[frame[at]!]!);
  return path;
}

/** A row's path from the frame that names its place outwards; all of it where no frame is the program's own. */
export function placePath<Frame>({ stacks, rows, sites }: RowsOf<Frame>, row: number): Frame[] {
  return framesOf(stacks, sites[row] === NONE ? rows[row]! : sites[row]!);
}

/** What the frame that names a row's place called in libraries, innermost first. */
export function insidePlace<Frame>({ stacks, rows, sites }: RowsOf<Frame>, row: number): Frame[] {
  const { frames, prefix, frame } = stacks;
  const inside: Frame[] = [];
  if (sites[row] !== NONE)
    for (let at = rows[row]!; at !== sites[row]; at = prefix[at]!) inside.push(frames[frame[at]!]!);
  return inside;
}

/** Collects rows; equal frames and stacks are kept once. */
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
