/** Blocks of a context, and how many of them some stand for that are followed. */
interface HeldBlocks {
  blocks: number;
  /** Work of the program when they began, and how many each stands for. */
  readonly followed: { startWork: number; stands: number }[];
}

/**
 * Late blocks inside of what only the host leads to: how many of them there were in the first half of the program's work. The clock of
 * allocations stands still while a world is simulated that has all of its parts.
 */
export class SettledBlocks {
  readonly #contexts = new Map<number, HeldBlocks>();

  add(context: number, followed: { readonly startWork: number; readonly stands: number } | undefined): void {
    const held = this.#contexts.get(context) ?? { blocks: 0, followed: [] };
    this.#contexts.set(context, held);
    held.blocks++;
    if (followed !== undefined) held.followed.push(followed);
  }

  /** By context. Where none is followed, as many as elsewhere. `work`: all of the program. */
  settled(work: number): Map<number, number> {
    const elsewhere =
      earlyPart(
        [...this.#contexts.values()].flatMap(({ followed }) => followed),
        work,
      ) ?? 0;
    return new Map(
      Array.from(this.#contexts, ([context, { blocks, followed }]) => [
        context,
        Math.round(blocks * (earlyPart(followed, work) ?? elsewhere)),
      ]),
    );
  }
}

/** Undefined where there are none. */
function earlyPart(blocks: HeldBlocks["followed"], work: number): number | undefined {
  const sum = (of: HeldBlocks["followed"]): number => of.reduce((total, { stands }) => total + stands, 0);
  const all = sum(blocks);
  return all === 0 ? undefined : sum(blocks.filter(({ startWork }) => startWork * 2 < work)) / all;
}
