import { NONE } from "../../profile/model/indices.ts";
import { isLibraryCaller, LAYER } from "../analyses/frames/libraries.ts";
import { placedMeasures } from "../measures/index.ts";
import type { Measure, MeasuredProfiles, MeasureUnit } from "../measures/measure.ts";
import {
  type MeasuredStacks,
  type MeasuredTool,
  placePath,
  type StackFrame,
} from "../measures/measured-stacks.ts";

/** Weight of call paths, whose values add up over paths. */
export interface StackMetric {
  readonly key: string;
  readonly title: string;
  readonly head: string;
  readonly unit: MeasureUnit | "count" | "nanoseconds";
}

/** Grouping of places: each line separately, or all places of a function. */
export type StackGrouping = "site" | "function";

/**
 * Call paths with values, from any tool. Paths are a tree: a stack is a frame called from a shorter stack, and callers
 * precede callees.
 */
export interface WeightedStacks {
  readonly tool: MeasuredTool | "samples";
  readonly metrics: readonly StackMetric[];
  readonly frames: readonly StackFrame[];
  readonly prefix: readonly number[];
  readonly frame: readonly number[];
  /** Row per path: its stack, {@link NONE} if unknown, and a value per metric. */
  readonly rows: readonly { readonly stack: number; readonly values: readonly number[] }[];
  /** Sentences about facts that the paths do not cover. */
  readonly gaps: readonly string[];
}

export class StackCollector {
  readonly #frames: StackFrame[] = [];
  readonly #frameIndex = new Map<string, number>();
  readonly #prefix: number[] = [];
  readonly #frame: number[] = [];
  readonly #stackIndex = new Map<string, number>();
  readonly #rows: { stack: number; values: readonly number[] }[] = [];

  /** Returns the stack of `frame` called from `caller`, which is {@link NONE} for an outermost frame. */
  stack(caller: number, frame: StackFrame): number {
    const index = this.#indexOf(frame);
    const key = `${caller} ${index}`;
    let stack = this.#stackIndex.get(key);
    if (stack === undefined) {
      stack = this.#prefix.push(caller) - 1;
      this.#frame.push(index);
      this.#stackIndex.set(key, stack);
    }
    return stack;
  }

  /**
   * Returns the stack in its display form: callers of the program's first function are left out, and calls within a
   * library become one frame with its name.
   */
  shown(caller: number, frame: StackFrame): number {
    const { library } = frame;
    if (library === undefined || library === LAYER) return this.stack(caller, frame);
    if (caller === NONE) return NONE;
    const word: StackFrame = { function: library, library, isWord: true };
    const callerFrame = this.#frames[this.#frame[caller]!]!;
    return callerFrame.isWord === true && callerFrame.function === library
      ? caller
      : this.stack(caller, word);
  }

  add(stack: number, values: readonly number[]): void {
    this.#rows.push({ stack, values });
  }

  /**
   * Adds a path, innermost first, that begins with the frame that names its place. A path of libraries alone becomes
   * its innermost frame.
   */
  addPath(path: readonly StackFrame[], values: readonly number[]): void {
    let stack: number = NONE;
    for (const frame of path.toReversed()) stack = this.shown(stack, frame);
    const [own] = path;
    if (own !== undefined && (stack === NONE || isLibraryCaller(own.library)))
      stack = this.stack(this.#outsideOf(stack), own);
    this.add(stack, values);
  }

  finish({ tool, metrics, gaps }: Pick<WeightedStacks, "tool" | "metrics" | "gaps">): WeightedStacks {
    return {
      tool,
      metrics,
      gaps,
      frames: this.#frames,
      prefix: this.#prefix,
      frame: this.#frame,
      rows: this.#rows,
    };
  }

  /** Returns a stack without the library name of its innermost frame. */
  #outsideOf(stack: number): number {
    const isWord = stack !== NONE && this.#frames[this.#frame[stack]!]!.isWord === true;
    return isWord ? this.#prefix[stack]! : stack;
  }

  #indexOf(frame: StackFrame): number {
    const key = frameKey(frame);
    let index = this.#frameIndex.get(key);
    if (index === undefined) {
      index = this.#frames.push(frame) - 1;
      this.#frameIndex.set(key, index);
    }
    return index;
  }
}

/** Returns the call paths of a tool to its places, with all of its additive measures. */
export function weightedStacks(stacks: MeasuredStacks, profiles: MeasuredProfiles): WeightedStacks {
  const measures = placedMeasures(stacks.tool, profiles);
  const columns = measures.map(({ column }) => column(profiles)!);
  const collector = new StackCollector();
  for (let row = 0; row < stacks.rows.length; row++)
    collector.addPath(
      placePath(stacks, row),
      columns.map(({ amounts }) => Number(amounts[row])),
    );
  const rest = columns.map((column) => Math.max(0, column.rest ?? 0));
  if (rest.some((amount) => amount > 0)) collector.add(NONE, rest);
  return collector.finish({ tool: stacks.tool, metrics: measures.map(metricOf), gaps: stacks.gaps });
}

function metricOf({ id: key, title, head, unit }: Measure): StackMetric {
  return { key, title, head, unit };
}

/**
 * Returns the key that distinguishes places for a reader: function, module and line, or the address if no line is
 * known.
 */
function frameKey({ function: name, module, file, line = 0, address, library, isWord }: StackFrame): string {
  const place = line === 0 ? address : undefined;
  return [name, module, file, line, place, library, isWord].join("\n");
}
