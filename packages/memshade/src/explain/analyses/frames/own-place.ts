import { isCompiledIn, START_UP } from "./libraries.ts";

/** A frame whose library is known, if it is of one. */
export interface JudgedFrame {
  readonly library?: string | undefined;
}

/** A place in the code, with the functions that it is inlined into. */
export interface JudgedPlace<Frame extends JudgedFrame> extends JudgedFrame {
  readonly inlined?: readonly Frame[] | undefined;
}

/**
 * Which of the frames of a path, innermost first, is the program's own: the first one that is of no library, else what
 * starts programs, which may have the main function inlined into it. −1: none.
 */
export function ownDepth(libraries: readonly (string | undefined)[]): number {
  const own = libraries.indexOf(undefined);
  return own < 0 ? libraries.indexOf(START_UP) : own;
}

/** The program's own function among those that a place is inlined into, the innermost one. */
export function ownFrame<Frame extends JudgedFrame>(place: JudgedPlace<Frame> & Frame): Frame | undefined {
  return ownPlace([place])?.frame;
}

/**
 * The program's own place on the way to a place, innermost first: where it is, or where it called the library that the
 * place is in. `via` is the function of the library that it called, undefined where the place itself is the program's.
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

/** A path from the program's own code outwards, and the function of a library that it called; the whole path without either. */
export function fromOwn<Frame extends JudgedFrame>(
  stack: readonly Frame[],
): { stack: readonly Frame[]; via: Frame | undefined } {
  const depth = Math.max(0, ownDepth(stack.map(({ library }) => library)));
  return { stack: stack.slice(depth), via: stack[depth - 1] };
}

/** Calls that a language's library makes of its own to store an element: `[]=` without optimisation checks, and then stores. */
const OPERATOR_DEPTH = 2;

/** Functions that do nothing but fill and move what their caller says. */
const MOVERS = /^_*(w?mem(set|cpy|move|pcpy|ccpy)|bzero|bcopy|st[pr]n?(cpy|cat|dup))(_.*)?$/;

/**
 * The library whose code a place is, with everything it is inlined into. Undefined also where the program is known to have
 * called it for just that: a `memset` that it asks for is its own business, as what an operator of its language does is, and what
 * `printf` does inside is not.
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
