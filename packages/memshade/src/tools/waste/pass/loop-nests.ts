import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { ACCESS_KIND, AccessKind } from "../../../wasm/index.ts";
import * as Op from "../../../wasm/op.generated.ts";
import type { Place } from "./brief-snippets.ts";
import { pushForm, type StreamLoop } from "./loop-streams.ts";
import { pushAddress } from "./shadow-words.ts";

const NOTHING = 0x40;
const STORE_BIT = 32;
/** Where the hulls stand that accesses look at: of all that is known, and of what is known of bytes not read. */
const ALL = 0;
const LEFT = 8;
const LENGTH = 4;

/** An access of a nest outside of the loops that are followed as a whole. */
export interface NestedAccess {
  /** Offset behind the instruction. */
  end: number;
  /** Number of its place. */
  place: number;
}

/** A loop with only such loops inside that are followed as a whole. */
export interface LoopNest {
  /** Offset of the outer loop. */
  start: number;
  accesses: NestedAccess[];
  loops: StreamLoop[];
}

export interface NestTargets {
  enter: number;
  watched: number;
  /** Address of the hulls; see `tools/waste/assembly/known.ts`. */
  known: number;
  /** Address of the range that is known to be valid; see `tools/waste/assembly/valid-range.ts`. */
  valid: number;
  memory: number;
}

interface OpenLoop extends LoopNest {
  /** So far nothing in it changes the shadow unseen. */
  isNest: boolean;
  /** Nests in it, which count if it is none. */
  inside: LoopNest[];
}

/**
 * Finds the outermost loops in which nothing but loops that are followed as a whole, and accesses followed inline, touches
 * memory: while they run, the runtime may keep in mind what it has found out about the shadow.
 */
export class LoopNests {
  readonly #open: OpenLoop[] = [];

  /** Forgets the last function. */
  begin(): void {
    this.#open.length = 0;
  }

  enter(): void {
    this.#open.push({ start: 0, accesses: [], loops: [], isNest: true, inside: [] });
  }

  /** Something happens that may change any of the shadow. */
  abandon(): void {
    for (const loop of this.#open) loop.isNest = false;
  }

  /** An access that is followed inline. */
  add(end: number, place: number): void {
    this.#open.at(-1)?.accesses.push({ end, place });
  }

  /** The innermost loop, at `start`, ends; `stream` if it is followed as a whole. Returns the nests that are known by now. */
  leave(start: number, stream: StreamLoop | undefined): LoopNest[] {
    const loop = this.#open.pop();
    const outer = this.#open.at(-1);
    if (stream !== undefined) outer?.loops.push(stream);
    if (stream !== undefined || loop === undefined) return [];
    if (!loop.isNest || loop.loops.length === 0) {
      if (outer !== undefined) outer.isNest = false;
      return loop.inside;
    }
    const nest = { start, accesses: loop.accesses, loops: loop.loops };
    if (outer === undefined) return [nest];
    outer.inside.push(nest);
    outer.loops.push(...nest.loops);
    outer.accesses.push(...nest.accesses);
    return [];
  }
}

/** Before a nest. */
export function enterNest(sink: SnippetSink, { enter }: NestTargets): void {
  sink.indexed(Op.CALL, enter);
}

/** What a loop of a nest has to take the range of valid bytes. */
export function takesValid({ isInside, fills }: StreamLoop): StreamLoop["fills"] {
  return isInside ? fills : undefined;
}

/**
 * Before a loop that takes it: its local gets the end of the range of valid bytes where that holds the first trip's lowest store, else
 * 0. Accesses of up to 16 bytes before that end are valid.
 */
export function takeValid(sink: SnippetSink, loop: StreamLoop, { valid, memory }: NestTargets): void {
  const fills = takesValid(loop);
  if (fills === undefined) return;
  const pushWord = (at: number) => {
    sink.i32(0);
    sink.access(Op.I32_LOAD, 2, memory, valid + at);
  };
  pushWord(0);
  pushWord(LENGTH);
  sink.plain(Op.I32_ADD);
  sink.i32(0);
  pushForm(sink, fills.from);
  pushWord(0);
  sink.plain(Op.I32_SUB);
  pushWord(LENGTH);
  sink.plain(Op.I32_LT_U);
  sink.plain(Op.SELECT);
  sink.local(Op.LOCAL_SET, fills.validEnd);
}

/** Beside an access of a nest: tells the runtime if it meets what is known. */
export function watchAccess(
  sink: SnippetSink,
  { op, size, address }: Place,
  { watched, known, memory }: NestTargets,
): void {
  const isStore = ACCESS_KIND[op] === AccessKind.Store;
  const hull = known + (isStore ? ALL : LEFT);
  pushAddress(sink, address);
  sink.i32(0);
  sink.access(Op.I32_LOAD, 2, memory, hull);
  sink.plain(Op.I32_SUB);
  sink.i32(0);
  sink.access(Op.I32_LOAD, 2, memory, hull + LENGTH);
  sink.plain(Op.I32_LT_U);
  sink.rarely();
  sink.open(Op.IF, NOTHING);
  pushAddress(sink, address);
  sink.i32(isStore ? size | STORE_BIT : size);
  sink.indexed(Op.CALL, watched);
  sink.end();
}
