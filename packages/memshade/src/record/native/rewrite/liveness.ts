import { ALL_REGISTERS, FLAGS } from "../../../code/x64/decode/index.ts";
import { bitsOf, KEPT_BY_CALLS } from "../../../code/x64/index.ts";
import { EXIT, type FlowGraph, NONE } from "./flow-graph.ts";

/** Argument, result and caller-saved registers of the System V ABI. */
const ARGUMENTS = bitsOf("rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax", "r10");
const RESULTS = bitsOf("rax", "rdx");
const CALLER_SAVED = 0xffff & ~KEPT_BY_CALLS;

/**
 * Computes which registers and flags may still be read at the end of each block.
 *
 * A call of a known function reads what the callee reads, and overwrites what the callee overwrites on every
 * path that returns. Compilers keep values in registers across calls of functions that do not write them
 * (GCC's -fipa-ra). At its end, a function needs what its callers need after their calls. Other calls follow
 * the ABI.
 *
 * Each pass over the functions computes a summary per function. The first passes go callees first: registers
 * overwritten, then registers read before a write. The last goes callers first: registers needed after the
 * call. A function is solved again only if a summary that it uses has changed.
 */
export class Liveness {
  readonly #graph: FlowGraph;
  readonly #uses: Int32Array;
  readonly #kills: Int32Array;
  /** Per block: live at its start. */
  readonly #liveIn: Int32Array;
  /** Per function: read before a write, and needed by its callers. */
  readonly #used: Int32Array;
  readonly #needed: Int32Array;
  /** Per function: live at its landing pads, and at the targets of its indirect jumps. */
  readonly #atPads: Int32Array;
  readonly #atLabels: Int32Array;
  /** Per block: overwritten on every path to the function's end; all registers if there is no path. */
  readonly #overwritten: Int32Array;
  /**
   * Per block: 1 if a later block, the block itself, a computed jump or an exception leads to it. Blocks are
   * solved from last to first; another iteration is needed only if such a block has changed.
   */
  readonly #isReachedBack: Uint8Array;
  readonly #members: readonly Int32Array[];

  constructor(graph: FlowGraph) {
    this.#graph = graph;
    const functions = graph.code.functions.length;
    this.#uses = new Int32Array(graph.count);
    this.#kills = new Int32Array(graph.count);
    this.#liveIn = new Int32Array(graph.count);
    this.#used = new Int32Array(functions);
    this.#needed = new Int32Array(functions);
    this.#atPads = new Int32Array(functions);
    this.#atLabels = new Int32Array(functions);
    this.#overwritten = new Int32Array(graph.count).fill(ALL_REGISTERS);
    const { members, callersOf, calleesFirst } = callOrder(graph);
    this.#members = members;
    this.#isReachedBack = reachedBack(graph);
    this.#summarizeBlocks();
    this.#solveAll(calleesFirst, (group, again) => {
      if (this.#findOverwritten(group)) for (const caller of callersOf[group]) again(caller);
    });
    this.#solveAll(calleesFirst, (group, again) => {
      this.#solve(group);
      if (this.#keepUsed(group)) for (const caller of callersOf[group]) again(caller);
    });
    this.#needed.fill(RESULTS | KEPT_BY_CALLS);
    for (const offset of graph.code.reachedFromOutside) {
      const f = graph.code.functionAround(offset);
      if (f >= 0) this.#needed[f] = ALL_REGISTERS;
    }
    this.#solveAll(calleesFirst.toReversed(), (group, again) => {
      this.#solve(group);
      for (const callee of this.#passNeeds(group)) again(callee);
    });
  }

  /**
   * Writes the live registers and flags of a block to `live[0 … count]`. `live[i]` holds before the block's
   * instruction i.
   */
  ofBlock(block: number, live: Int32Array): void {
    const { code, firsts } = this.#graph;
    const first = firsts[block];
    const last = firsts[block + 1];
    let mask = this.#beforeExit(block);
    live[last - first] = mask;
    for (let i = last - 1; i >= first; i--) {
      mask = code.reads[i] | (mask & ~code.kills[i]);
      live[i - first] = mask;
    }
  }

  #summarizeBlocks(): void {
    const { code, firsts, count } = this.#graph;
    for (let block = 0; block < count; block++) {
      let uses = 0;
      let kills = 0;
      for (let i = firsts[block + 1] - 1; i >= firsts[block]; i--) {
        uses = code.reads[i] | (uses & ~code.kills[i]);
        kills |= code.kills[i];
      }
      this.#uses[block] = uses;
      this.#kills[block] = kills;
    }
  }

  #solveAll(order: Int32Array, solve: (group: number, again: (group: number) => void) => void): void {
    const isWaiting = new Uint8Array(this.#used.length);
    let waiting: number[] = [...order];
    for (const group of order) isWaiting[group] = 1;
    while (waiting.length > 0) {
      const next: number[] = [];
      for (const group of waiting) {
        isWaiting[group] = 0;
        solve(group, (other) => {
          if (isWaiting[other]) return;
          isWaiting[other] = 1;
          next.push(other);
        });
      }
      waiting = next;
    }
  }

  /**
   * Computes the registers that the functions of a group overwrite on every path. Returns true if a function
   * overwrites less than before.
   */
  #findOverwritten(group: number): boolean {
    const { blocksOf } = this.#graph;
    const members = this.#members[group];
    let isLess = false;
    for (let changed = true; changed; ) {
      changed = false;
      for (let member = members.length - 1; member >= 0; member--) {
        const f = members[member];
        for (let block = blocksOf[f + 1] - 1; block >= blocksOf[f]; block--) {
          const mask = this.#kills[block] | this.#overwrittenBehind(block);
          if (mask === this.#overwritten[block]) continue;
          this.#overwritten[block] = mask;
          changed ||= this.#isReachedBack[block] === 1;
          isLess ||= block === blocksOf[f];
        }
      }
    }
    return isLess;
  }

  #overwrittenBehind(block: number): number {
    const { exits, nexts, targets } = this.#graph;
    const at = (other: number): number => (other === NONE ? ALL_REGISTERS : this.#overwritten[other]);
    switch (exits[block]) {
      case EXIT.blocks:
        return at(nexts[block]) & at(targets[block]);
      case EXIT.call:
        return this.#overwrittenBy(block) | at(nexts[block]);
      case EXIT.unknownCall:
        return CALLER_SAVED | FLAGS | at(nexts[block]);
      case EXIT.opaqueCall:
        return at(nexts[block]);
      case EXIT.tailCall:
        return this.#overwrittenBy(block) & at(nexts[block]);
      case EXIT.unknownTailCall:
        return (CALLER_SAVED | FLAGS) & at(nexts[block]);
      case EXIT.trap:
        return ALL_REGISTERS;
      default:
        return 0;
    }
  }

  /** Returns what the callee of a block always overwrites. Functions restore preserved registers. */
  #overwrittenBy(block: number): number {
    const { callees, blocksOf } = this.#graph;
    return this.#overwritten[blocksOf[callees[block]]] & ~KEPT_BY_CALLS;
  }

  #solve(group: number): void {
    const { blocksOf } = this.#graph;
    const liveIn = this.#liveIn;
    const members = this.#members[group];
    for (let changed = true; changed; ) {
      changed = false;
      for (let member = members.length - 1; member >= 0; member--) {
        const f = members[member];
        this.#joinEntries(f);
        for (let block = blocksOf[f + 1] - 1; block >= blocksOf[f]; block--) {
          const live = this.#uses[block] | (this.#beforeExit(block) & ~this.#kills[block]);
          if (live === liveIn[block]) continue;
          liveIn[block] = live;
          changed ||= this.#isReachedBack[block] === 1;
        }
      }
    }
  }

  /** Stores what the functions of a group read before they write it. Returns true if that has changed. */
  #keepUsed(group: number): boolean {
    let grown = false;
    for (const f of this.#members[group]) {
      const used = this.#liveIn[this.#graph.blocksOf[f]];
      if (used === this.#used[f]) continue;
      this.#used[f] = used;
      grown = true;
    }
    return grown;
  }

  /**
   * Returns the registers that are live at the exit of a block: without those that its last instruction
   * reads, but with those that a callee reads.
   */
  #beforeExit(block: number): number {
    const graph = this.#graph;
    const f = graph.functionOf[block];
    switch (graph.exits[block]) {
      case EXIT.blocks:
        return this.#at(graph.nexts[block]) | this.#at(graph.targets[block]);
      case EXIT.call: {
        const callee = graph.callees[block];
        return KEPT_BY_CALLS | this.#used[callee] | (this.#behindCall(block) & ~this.#overwrittenBy(block));
      }
      case EXIT.unknownCall:
        return KEPT_BY_CALLS | ARGUMENTS | (this.#behindCall(block) & ~CALLER_SAVED & ~FLAGS);
      case EXIT.return:
        return this.#needed[f];
      case EXIT.tailCall: {
        const callee = graph.callees[block];
        const behind = this.#at(graph.nexts[block]);
        return KEPT_BY_CALLS | behind | this.#used[callee] | (this.#needed[f] & ~this.#overwrittenBy(block));
      }
      case EXIT.unknownTailCall:
        return KEPT_BY_CALLS | ARGUMENTS | this.#at(graph.nexts[block]);
      case EXIT.indirectJump:
        return this.#atLabels[f];
      case EXIT.trap:
        return KEPT_BY_CALLS;
      default:
        return ALL_REGISTERS;
    }
  }

  #at(block: number): number {
    return block === NONE ? 0 : this.#liveIn[block];
  }

  /**
   * Combines what is live at the labels and landing pads of a function. An indirect jump without labels is a
   * tail call.
   */
  #joinEntries(f: number): void {
    const { labels, landingPads } = this.#graph;
    let atLabels = KEPT_BY_CALLS | ARGUMENTS | this.#needed[f];
    for (const label of labels[f] ?? []) atLabels |= this.#liveIn[label];
    this.#atLabels[f] = atLabels;
    const pads = landingPads[f];
    if (pads === undefined) return;
    let live = 0;
    for (const pad of pads) live |= this.#liveIn[pad] & ~RESULTS;
    this.#atPads[f] = live;
  }

  /** Returns what is live after a call: at its return, or where an exception lands. */
  #behindCall(block: number): number {
    return this.#at(this.#graph.nexts[block]) | this.#atPads[this.#graph.functionOf[block]];
  }

  /**
   * Adds what a group needs after its calls to the needs of the callees. Yields groups whose needs have
   * grown.
   */
  *#passNeeds(group: number): Iterable<number> {
    const { blocksOf, exits, callees, groupOf } = this.#graph;
    for (const f of this.#members[group])
      for (let block = blocksOf[f]; block < blocksOf[f + 1]; block++) {
        const callee = callees[block];
        if (callee === NONE) continue;
        const needs = exits[block] === EXIT.call ? this.#behindCall(block) : this.#needed[f];
        if ((needs & ~this.#needed[callee]) === 0) continue;
        this.#needed[callee] |= needs;
        yield groupOf[callee];
      }
  }
}

function reachedBack({ count, nexts, targets, labels, landingPads }: FlowGraph): Uint8Array {
  const isReached = new Uint8Array(count);
  for (let block = 0; block < count; block++) {
    if (nexts[block] !== NONE && nexts[block] <= block) isReached[nexts[block]] = 1;
    if (targets[block] !== NONE && targets[block] <= block) isReached[targets[block]] = 1;
  }
  for (const blocks of [...labels, ...landingPads]) for (const block of blocks ?? []) isReached[block] = 1;
  return isReached;
}

export interface CallOrder {
  readonly members: readonly Int32Array[];
  /** Groups that call a function of the group. */
  readonly callersOf: readonly (readonly number[])[];
  /** Groups in an order with callees before callers, unless calls form a circle. */
  readonly calleesFirst: Int32Array;
}

export function callOrder(graph: FlowGraph): CallOrder {
  const { groupOf, callees, functionOf, count } = graph;
  const callersOf = Array.from(groupOf, (): number[] => []);
  const calleesOf = Array.from(groupOf, (): number[] => []);
  for (let block = 0; block < count; block++) {
    if (callees[block] === NONE) continue;
    const from = groupOf[functionOf[block]];
    const to = groupOf[callees[block]];
    // Blocks are in the order of their functions, so most duplicates follow each other.
    if (callersOf[to].at(-1) === from) continue;
    callersOf[to].push(from);
    calleesOf[from].push(to);
  }
  const order: number[] = [];
  const visited = new Uint8Array(groupOf.length);
  for (const root of groupOf.keys()) {
    if (groupOf[root] !== root || visited[root]) continue;
    visited[root] = 1;
    const stack: { group: number; next: number }[] = [{ group: root, next: 0 }];
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      const callee = calleesOf[top.group][top.next++];
      if (callee === undefined) {
        order.push(top.group);
        stack.pop();
      } else if (!visited[callee]) {
        visited[callee] = 1;
        stack.push({ group: callee, next: 0 });
      }
    }
  }
  return { members: groupMembers(graph), callersOf, calleesFirst: Int32Array.from(order) };
}

function groupMembers({ groupOf }: FlowGraph): Int32Array[] {
  const members: number[][] = Array.from(groupOf, () => []);
  for (const [f, group] of groupOf.entries()) members[group].push(f);
  return members.map((group) => Int32Array.from(group));
}
