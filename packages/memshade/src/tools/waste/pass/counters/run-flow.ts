import { readU32Leb } from "../../../../bytes/leb128.ts";
import {
  IMMEDIATE_KIND,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../../wasm/index.ts";
import * as Op from "../../../../wasm/op.generated.ts";
import { catchLabels, tableLabels } from "../branch-labels.ts";
import type { SiteTable } from "../sites/site-table.ts";
import { DisjointSets } from "./disjoint-sets.ts";

/** The point that stands for everything outside of the function's own code: callers, most callees, exceptions. */
export const OUTSIDE = 0;
/** Nothing reaches the place. */
const NOWHERE = -1;

/**
 * Blocks of a function as the edges of a graph, in columns. Its nodes are points that control passes: what comes to one
 * from the blocks that end there goes on into those that begin there, so both run equally often in sum. Only `OUTSIDE`
 * takes and gives as it likes: a callee may never return, and the host may look at the counts while it runs.
 */
export interface RunFlow {
  /** The site that a block begins with. */
  leader: number[];
  /** Points where the block begins and ends. */
  from: number[];
  to: number[];
  points: number;
}

interface Open {
  opcode: number;
  /** Where branches to the label lead; `NOWHERE` as long as there is none. */
  label: number;
  /** Where the second arm of an `if` begins. */
  other: number;
}

/** What the flow of a module's functions follows from. */
export interface FlowParts {
  module: WasmModule;
  sites: SiteTable;
  /** A bit per site: begins a block whose runs somebody wants to know. */
  leaders: Uint8Array;
  /** A bit per function: comes back whenever it is called. */
  returning: Uint8Array;
}

/** The blocks of a defined function that begin with leaders, in the order of the code. */
export function runFlow({ module, sites, leaders, returning }: FlowParts, defined: number): RunFlow {
  const { offset, firstOfFunction } = sites;
  const { bytes, codePayloadStart } = module;
  const { codeStart, end } = module.bodies[defined];
  const flow: RunFlow = { leader: [], from: [], to: [], points: 0 };
  const points = new DisjointSets(1);
  const open: Open[] = [{ opcode: Op.BLOCK, label: OUTSIDE, other: NOWHERE }];
  let site = firstOfFunction[defined];
  const lastSite = firstOfFunction[defined + 1];
  /** Where the block at hand began, and the site it counts by, −1: none yet. */
  let here = OUTSIDE;
  let leader = -1;
  /** The block ends. One that counts nothing is as good as no block: what comes in goes out. */
  const close = (): void => {
    if (leader < 0 || here === NOWHERE) return;
    const to = points.add();
    flow.leader.push(leader);
    flow.from.push(here);
    flow.to.push(to);
    leader = -1;
    here = to;
  };
  const join = (to: Open): void => {
    if (here === NOWHERE) return;
    if (to.label === NOWHERE) to.label = here;
    else points.join(to.label, here);
  };
  const branch = (label: number): void => {
    const to = open[open.length - 1 - label];
    if (to !== undefined) join(to);
  };
  const leave = (): void => {
    if (here !== NOWHERE) points.join(OUTSIDE, here);
  };
  for (let pos = codeStart; pos < end; ) {
    const op = opcodeIdAt(bytes, pos);
    const immediates = skipOpcode(bytes, pos);
    const next = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
    if (site < lastSite && offset[site] === pos - codePayloadStart) {
      // Of code that nothing reaches but what nothing reaches either, no block is told.
      if (here !== NOWHERE && hasBit(leaders, site)) {
        close();
        leader = site;
      }
      site++;
    }
    switch (op) {
      case Op.TRY_TABLE: {
        close();
        for (const label of catchLabels(bytes, immediates)) {
          const to = open[open.length - 1 - label];
          if (to === undefined) continue;
          if (to.label === NOWHERE) to.label = OUTSIDE;
          else points.join(to.label, OUTSIDE);
        }
        open.push({ opcode: op, label: NOWHERE, other: NOWHERE });
        break;
      }
      case Op.LOOP:
        close();
        open.push({ opcode: op, label: here, other: NOWHERE });
        break;
      case Op.BLOCK:
      case Op.TRY:
        open.push({ opcode: op, label: NOWHERE, other: NOWHERE });
        break;
      case Op.IF:
        close();
        open.push({ opcode: op, label: NOWHERE, other: here });
        break;
      case Op.ELSE:
      case Op.CATCH:
      case Op.CATCH_ALL: {
        close();
        const block = open[open.length - 1];
        join(block);
        here = op === Op.ELSE ? block.other : OUTSIDE;
        block.other = NOWHERE;
        break;
      }
      case Op.END:
      case Op.DELEGATE: {
        const block = open.pop();
        if (block === undefined || block.opcode === Op.LOOP) break;
        if (block.label === NOWHERE && block.other === NOWHERE) break;
        close();
        join(block);
        if (block.other !== NOWHERE) {
          here = block.other;
          join(block);
        }
        here = block.label;
        break;
      }
      case Op.BR_TABLE:
        close();
        for (const label of tableLabels(bytes, immediates, next)) branch(label);
        here = NOWHERE;
        break;
      case Op.BR:
        close();
        branch(readU32Leb(bytes, immediates));
        here = NOWHERE;
        break;
      case Op.BR_IF:
      case Op.BR_ON_NULL:
      case Op.BR_ON_NON_NULL:
        close();
        branch(readU32Leb(bytes, immediates));
        break;
      case Op.BR_ON_CAST:
      case Op.BR_ON_CAST_FAIL:
        close();
        branch(readU32Leb(bytes, immediates + 1));
        break;
      case Op.UNREACHABLE:
      case Op.RETURN:
      case Op.THROW:
      case Op.RETHROW:
      case Op.THROW_REF:
      case Op.RETURN_CALL:
      case Op.RETURN_CALL_INDIRECT:
      case Op.RETURN_CALL_REF:
        close();
        leave();
        here = NOWHERE;
        break;
      case Op.CALL:
        if (hasBit(returning, readU32Leb(bytes, immediates))) break;
        close();
        leave();
        break;
      case Op.CALL_INDIRECT:
      case Op.CALL_REF:
        close();
        leave();
    }
    pos = next;
  }
  for (const ends of [flow.from, flow.to])
    for (let i = 0; i < ends.length; i++) ends[i] = points.find(ends[i]);
  flow.points = points.length;
  return flow;
}

function hasBit(bits: Uint8Array, index: number): boolean {
  return (bits[index >>> 3] & (1 << (index & 7))) !== 0;
}
