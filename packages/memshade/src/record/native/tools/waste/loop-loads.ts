import { decode, FLOW, Instruction, WRITE } from "../../../../code/x64/decode/index.ts";
import { KEPT_BY_CALLS } from "../../../../code/x64/index.ts";
import { partitionPoint } from "../../../../ground/bytes/columns.ts";
import { EXIT, type FlowGraph, NONE } from "../../rewrite/flow-graph.ts";

/** A load that reads the same address in all iterations of its innermost loop. */
export interface LoopLoad {
  /** Block that runs at least once for each entry of the loop. */
  readonly entry: number;
  /** Instruction of the loop that loads the address; `NONE` if registers keep it. */
  readonly through: number;
}

interface Loop {
  readonly header: number;
  readonly blocks: ReadonlySet<number>;
  /** As for its loads; `NONE` if there is none. */
  readonly entry: number;
  /** Per register: the instruction that writes it in the loop, `NONE`, or `SEVERAL`. */
  readonly writers: Int32Array;
}

const SEVERAL = -2;
const REGISTERS = 16;
const CALLER_SAVED = 0xffff & ~KEPT_BY_CALLS;
const MOV_FROM = 0x8b;
const POINTER_BYTES = 8;
/** Longest chain of pointers that is followed: `a->b->c`. */
const FARTHEST = 3;

/**
 * Finds loads whose value a register could keep, if memory does not change. Whether it does is counted at run time. Only
 * loops that store or call are searched: compilers move loads out of others, except those that wait for another thread.
 */
export class LoopLoads {
  readonly #hasCounter: (graph: FlowGraph, block: number) => boolean;
  readonly #instruction = new Instruction();
  #graph: FlowGraph | undefined;
  #function = NONE;
  /** Loops of the function, inner ones first. */
  #loops: readonly Loop[] = [];

  /** @param hasCounter true for blocks whose runs are counted in any case */
  constructor(hasCounter: (graph: FlowGraph, block: number) => boolean) {
    this.#hasCounter = hasCounter;
  }

  /** True if the runs of a block bound the entries of a loop. */
  isEntry(graph: FlowGraph, block: number): boolean {
    return this.#loopsAround(graph, block).some(({ entry }) => entry === block);
  }

  /** Returns undefined for a load whose address may change in its loop, and outside of loops. */
  at(graph: FlowGraph, block: number, i: number, load: Instruction): LoopLoad | undefined {
    const loop = this.#loopsAround(graph, block).find(({ blocks }) => blocks.has(block));
    if (loop === undefined || loop.entry === NONE) return undefined;
    const access = { block, i, base: load.base, index: load.index };
    const through = this.#throughOf(graph, loop, access, FARTHEST);
    return through === undefined ? undefined : { entry: loop.entry, through };
  }

  /** Returns the load that gives an access its address, `NONE` if registers keep it; undefined if it may change. */
  #throughOf(
    graph: FlowGraph,
    loop: Loop,
    { block, i, base, index }: { block: number; i: number; base: number; index: number },
    steps: number,
  ): number | undefined {
    if (!isUnchanged(loop, index)) return undefined;
    if (isUnchanged(loop, base)) return NONE;
    const { code } = graph;
    const instruction = this.#instruction;
    let at = i - 1;
    const first = graph.firsts[block];
    for (; at >= first; at--) {
      decode(code.bytes, code.offsets[at], instruction);
      if ((instruction.writes & (1 << base)) !== 0) break;
    }
    // The last iteration loaded it.
    if (at < first) at = loop.writers[base];
    if (at < 0 || steps === 0) return undefined;
    decode(code.bytes, code.offsets[at], instruction);
    if (instruction.opcode !== MOV_FROM || instruction.size !== POINTER_BYTES) return undefined;
    const { base: from, index: step } = instruction;
    const pointer = {
      block: blockAround(graph, graph.functionOf[block], at),
      i: at,
      base: from,
      index: step,
    };
    return this.#throughOf(graph, loop, pointer, steps - 1) === undefined ? undefined : at;
  }

  #loopsAround(graph: FlowGraph, block: number): readonly Loop[] {
    const f = graph.functionOf[block];
    if (this.#graph !== graph || this.#function !== f) {
      this.#graph = graph;
      this.#function = f;
      this.#loops = [...this.#findLoops(graph, f)];
    }
    return this.#loops;
  }

  *#findLoops(graph: FlowGraph, f: number): Generator<Loop> {
    const shape = shapeOf(graph, f);
    if (shape === undefined) return;
    const { loops, dominators } = shape;
    for (const { header, blocks } of loops) {
      const writers = this.#writersOf(graph, blocks);
      if (writers === undefined) continue;
      const around = loops.find((other) => other.header !== header && other.blocks.has(header));
      let entry = dominators(header);
      const nearest = entry;
      while (entry !== NONE && !this.#hasCounter(graph, entry)) {
        entry = dominators(entry);
        if (around !== undefined && !around.blocks.has(entry)) entry = NONE;
      }
      yield { header, blocks, entry: entry === NONE ? nearest : entry, writers };
    }
  }

  /** Returns the instructions that write each register; undefined for a loop that neither stores nor calls. */
  #writersOf({ code, firsts }: FlowGraph, blocks: ReadonlySet<number>): Int32Array | undefined {
    const instruction = this.#instruction;
    const writers = new Int32Array(REGISTERS).fill(NONE);
    let doesMore = false;
    for (const block of blocks)
      for (let i = firsts[block]; i < firsts[block + 1]; i++) {
        decode(code.bytes, code.offsets[i], instruction);
        const isCall = code.flows[i] === FLOW.call || code.flows[i] === FLOW.indirectCall;
        const writes = instruction.writes | (isCall ? CALLER_SAVED : 0);
        for (let register = 0; register < REGISTERS; register++)
          if ((writes & (1 << register)) !== 0)
            writers[register] = isCall || writers[register] !== NONE ? SEVERAL : i;
        doesMore ||= isCall || (instruction.access & WRITE) !== 0;
      }
    return doesMore ? writers : undefined;
  }
}

function blockAround({ firsts, blocksOf }: FlowGraph, f: number, i: number): number {
  return partitionPoint(blocksOf[f], blocksOf[f + 1], (block) => firsts[block] <= i) - 1;
}

function isUnchanged({ writers }: Loop, register: number): boolean {
  return register < 0 || register >= REGISTERS || writers[register] === NONE;
}

/** Natural loops of a function, small ones first, and the nearest dominator of each block. */
interface Shape {
  readonly loops: readonly { header: number; blocks: Set<number> }[];
  readonly dominators: (block: number) => number;
}

/** Returns undefined for a function without loops. */
function shapeOf(graph: FlowGraph, f: number): Shape | undefined {
  const first = graph.blocksOf[f];
  const count = graph.blocksOf[f + 1] - first;
  const { order, roots } = reversePostOrder(graph, f);
  const place = new Int32Array(count);
  order.forEach((block, at) => {
    place[block - first] = at;
  });
  const before: number[][] = order.map((block) => (roots.has(block) ? [NONE] : []));
  let isLooping = false;
  order.forEach((block, at) => {
    for (const next of successors(graph, block, f)) {
      before[place[next - first]].push(at);
      isLooping ||= place[next - first] <= at;
    }
  });
  if (!isLooping) return undefined;
  const nearest = nearestDominators(before);
  const bodies = new Map<number, Set<number>>();
  before.forEach((from, header) => {
    for (const last of from) {
      if (last < header || !dominates(nearest, header, last)) continue;
      const body = bodies.get(header) ?? new Set([header]);
      bodies.set(header, body);
      for (const open = [last]; open.length > 0; ) {
        const at = open.pop()!;
        if (body.has(at)) continue;
        body.add(at);
        open.push(...before[at]);
      }
    }
  });
  const loops = [...bodies].map(([header, body]) => ({
    header: order[header],
    blocks: new Set([...body].map((at) => order[at])),
  }));
  return {
    loops: loops.sort((a, b) => a.blocks.size - b.blocks.size),
    dominators: (block) => {
      const at = nearest[place[block - first]];
      return at < 0 ? NONE : order[at];
    },
  };
}

function reversePostOrder(graph: FlowGraph, f: number): { order: number[]; roots: Set<number> } {
  const first = graph.blocksOf[f];
  const end = graph.blocksOf[f + 1];
  const isSeen = new Uint8Array(end - first);
  const order: number[] = [];
  const roots = new Set<number>();
  // Blocks that only exceptions and computed jumps reach begin paths of their own.
  for (let root = first; root < end; root++) {
    if (isSeen[root - first] === 1) continue;
    isSeen[root - first] = 1;
    roots.add(root);
    const path = [{ block: root, open: successors(graph, root, f) }];
    const found: number[] = [];
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = top.open.pop();
      if (next === undefined) {
        found.push(top.block);
        path.pop();
      } else if (isSeen[next - first] === 0) {
        isSeen[next - first] = 1;
        path.push({ block: next, open: successors(graph, next, f) });
      }
    }
    order.unshift(...found.reverse());
  }
  return { order, roots };
}

/** Returns the blocks of the function that follow a block, without landing pads. */
function successors(
  { nexts, targets, labels, exits, functionOf }: FlowGraph,
  block: number,
  f: number,
): number[] {
  const jumps = exits[block] === EXIT.indirectJump ? [...(labels[f] ?? [])] : [];
  return [nexts[block], targets[block], ...jumps].filter((next) => next !== NONE && functionOf[next] === f);
}

/** Returns the nearest dominator of each block in reverse post-order; −1: none (Cooper, Harvey and Kennedy). */
function nearestDominators(before: readonly (readonly number[])[]): Int32Array {
  const UNKNOWN = -2;
  const nearest = new Int32Array(before.length).fill(UNKNOWN);
  const common = (a: number, b: number): number => {
    let [x, y] = [a, b];
    while (x !== y) {
      if (x > y) x = nearest[x];
      else y = nearest[y];
    }
    return x;
  };
  for (let isChanged = true; isChanged; ) {
    isChanged = false;
    before.forEach((from, at) => {
      const known = from.filter((other) => nearest[other] !== UNKNOWN);
      const found = known.reduce((a, b) => (a === UNKNOWN ? b : common(a, b)), UNKNOWN);
      if (found === nearest[at]) return;
      nearest[at] = found;
      isChanged = true;
    });
  }
  return nearest;
}

function dominates(nearest: Int32Array, a: number, b: number): boolean {
  let at = b;
  while (at > a) at = nearest[at];
  return at === a;
}
