import { entryOf } from "../../../ground/bytes/entries.ts";
import type { MibField } from "../mib-fields.ts";
import { BlockTable } from "./block-table.ts";
import { FrameTable } from "./frame-table.ts";
import type { DataAccessProfile, MemprofProfile, MemprofRecords } from "./profile.ts";
import { StackTree } from "./stack-tree.ts";

export class RecordRows {
  readonly guid: bigint;
  /** Stack and block of each site, alternating. */
  readonly allocSites: number[] = [];
  readonly callStacks: number[] = [];
  readonly callees = new Map<number, readonly bigint[]>();

  constructor(guid: bigint) {
    this.guid = guid;
  }

  addAllocSite(stack: number, block: number): void {
    this.allocSites.push(stack, block);
  }

  addCallSite(stack: number, callees: readonly bigint[] = []): void {
    if (callees.length > 0) this.callees.set(this.callStacks.length, callees);
    this.callStacks.push(stack);
  }
}

/**
 * Collects a profile. Records keep the order in which they were first requested, and sites the order in which they were
 * added.
 */
export class ProfileBuilder {
  readonly frames: FrameTable;
  readonly stacks = new StackTree();
  readonly blocks: BlockTable;
  readonly histograms = new Map<number, BigUint64Array>();
  dataAccess: DataAccessProfile | undefined;
  metStacks: readonly number[] | undefined;
  readonly #records = new Map<bigint, RecordRows>();

  constructor(fields: readonly MibField[], keepsSources: boolean) {
    this.frames = new FrameTable(keepsSources);
    this.blocks = new BlockTable(fields);
  }

  has(guid: bigint): boolean {
    return this.#records.has(guid);
  }

  record(guid: bigint): RecordRows {
    return entryOf(this.#records, guid, () => new RecordRows(guid));
  }

  stackOf(frames: readonly number[]): number {
    let stack = 0;
    for (let index = frames.length - 1; index >= 0; index--) stack = this.stacks.child(stack, frames[index]!);
    return stack;
  }

  build(): MemprofProfile {
    return {
      frames: this.frames.build(),
      stacks: this.stacks.view(),
      blocks: this.blocks.build(this.histograms),
      records: joinRecords([...this.#records.values()]),
      dataAccess: this.dataAccess,
      ...(this.metStacks === undefined ? {} : { metStacks: this.metStacks }),
    };
  }
}

function joinRecords(rows: readonly RecordRows[]): MemprofRecords {
  const allocs = rows.reduce((sum, { allocSites }) => sum + allocSites.length / 2, 0);
  const calls = rows.reduce((sum, { callStacks }) => sum + callStacks.length, 0);
  const records = {
    length: rows.length,
    guid: BigUint64Array.from(rows, ({ guid }) => guid),
    allocStart: new Uint32Array(rows.length + 1),
    allocStack: new Uint32Array(allocs),
    allocBlock: new Uint32Array(allocs),
    callStart: new Uint32Array(rows.length + 1),
    callStack: new Uint32Array(calls),
    callees: new Map<number, readonly bigint[]>(),
  };
  let alloc = 0;
  let call = 0;
  for (const [index, row] of rows.entries()) {
    for (let at = 0; at < row.allocSites.length; at += 2) {
      records.allocStack[alloc] = row.allocSites[at]!;
      records.allocBlock[alloc++] = row.allocSites[at + 1]!;
    }
    for (const [position, callees] of row.callees) records.callees.set(call + position, callees);
    for (const stack of row.callStacks) records.callStack[call++] = stack;
    records.allocStart[index + 1] = alloc;
    records.callStart[index + 1] = call;
  }
  return records;
}
