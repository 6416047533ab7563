import type { MemprofFrame } from "../../model/memprof/index.ts";

/** A place to look PCs of one segment up: addresses inside (`start` < PC ≤ `end`) are PC + `shift`. */
export interface RawModule {
  readonly start: number;
  readonly end: number;
  /** From run-time addresses to addresses of the file. */
  readonly shift: number;
  /** Names what `framesAt` belongs to: modules of equal keys share what is found. */
  readonly key: string;
  /** Frames at an address of the file, innermost first; empty for an address that is to be left out. */
  readonly framesAt: (address: number) => readonly MemprofFrame[];
}
