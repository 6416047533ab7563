import { isCompiledIn, START_UP } from "./libraries.ts";

export interface JudgedFrame {
  readonly library?: string | undefined;
}

export interface JudgedPlace<Frame extends JudgedFrame> extends JudgedFrame {
  readonly inlined?: readonly Frame[] | undefined;
}

/**
 * Returns the index of the program's own frame in a path, innermost first: the first frame of no library, else the
 * start-up code, into which main may be inlined. −1: none.
 */
export function ownDepth(libraries: readonly (string | undefined)[]): number {
  const own = libraries.indexOf(undefined);
  return own < 0 ? libraries.indexOf(START_UP) : own;
}

export function ownFrame<Frame extends JudgedFrame>(place: JudgedPlace<Frame> & Frame): Frame | undefined {
  return ownPlace([place])?.frame;
}

/**
 * Returns the program's own code position on a path, innermost first: the position itself, or the call of the library
 * that contains it. `via` is the called library function; undefined if the position itself is the program's own.
 */
export function ownPlace<Frame extends JudgedFrame>(
  places: readonly (JudgedPlace<Frame> & Frame)[],
): { frame: Frame; depth: number; via: Frame | undefined } | undefined {
  const frames = places.flatMap((place, depth) =>
    [place, ...(place.inlined ?? [])].map((frame) => ({ frame: frame as Frame, depth })),
  );
  const own = ownDepth(frames.map(({ frame }) => frame.library));
  const found = frames[own];
  return found && { ...found, via: frames[own - 1]?.frame };
}

/**
 * Returns a path from the program's own code outwards, and the library function that it called; the whole path if no
 * frame is own code.
 */
export function fromOwn<Frame extends JudgedFrame>(
  stack: readonly Frame[],
): { stack: readonly Frame[]; via: Frame | undefined } {
  const depth = Math.max(0, ownDepth(stack.map(({ library }) => library)));
  return { stack: stack.slice(depth), via: stack[depth - 1] };
}

/** Depth of calls inside a language's library that store an element: `[]=` without optimisation, and then the store. */
const OPERATOR_DEPTH = 2;

/** Functions that only fill and move memory for their caller. */
const MOVERS = /^_*(w?mem(set|cpy|move|pcpy|ccpy)|bzero|bcopy|st[pr]n?(cpy|cat|dup))(_.*)?$/;

/**
 * Returns the library that a code position belongs to, considering all functions into which it is inlined. Undefined
 * also if the program called the library for exactly this access: a `memset` call or an operator of the language counts
 * as the program's own, the inside of `printf` does not.
 */
export function libraryAt<Frame extends JudgedFrame>(
  places: readonly (JudgedPlace<Frame> & Frame & { readonly function?: string | undefined })[],
): string | undefined {
  const [place] = places;
  if (place === undefined) return undefined;
  const depth = ownPlace(places)?.depth;
  if (depth === 0) return undefined;
  if (depth === 1 && MOVERS.test(place.function ?? "")) return undefined;
  if (depth !== undefined && depth <= OPERATOR_DEPTH && isCompiledIn(place.library)) return undefined;
  return place.library;
}
