import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { Column, type ProfileMerger } from "../../model/memprof/index.ts";
import { mibFromFields } from "../../model/memprof/merge/block-merge.ts";
import { type Mib, mergeMib } from "../../model/mib.ts";
import type { MibField } from "../../model/mib-fields.ts";
import type { Cursor } from "./cursor.ts";
import type { LinearStacks } from "./linear-stacks.ts";
import { type LinearSection, openSection, readIndexed, readLinear } from "./read.ts";

/**
 * Adds the memory profile of an indexed file to a merger, as `addProfile` adds what `readIndexed` reads. Of versions 3
 * and 4, only pieces of the file are in memory. Nothing is added of a file that is damaged.
 *
 * @throws FormatError as {@link readIndexed}
 */
export function addIndexed(source: ByteSource, merger: ProfileMerger, input: number): void {
  const { memprofVersion, cursor } = openSection(source);
  if (memprofVersion < 3) {
    merger.addProfile(readIndexed(source).profile, input);
    return;
  }
  const section = readLinear(cursor, memprofVersion);
  const hasBlocks = check(section);
  const dataAccess = section.dataAccess();
  if (hasBlocks) merger.noteFields(section.schema);
  new SectionAdder(section, merger, input).add();
  merger.addDataAccess(dataAccess);
}

/** Goes through everything. @returns whether there is a block */
function check(section: LinearSection): boolean {
  const stacks = section.stacksOf(() => 0);
  const blockBytes = schemaBytes(section.schema);
  const known = new Set<bigint>();
  let hasBlocks = false;
  for (const { guid, entry } of section.records()) {
    if (known.has(guid)) throw entry.error(`function ${guid} has two records`);
    known.add(guid);
    for (let left = entry.count(4, "alloc sites"); left > 0; left--) {
      stacks.at(entry.u32());
      entry.skip(blockBytes);
      hasBlocks = true;
    }
    for (let left = entry.count(4, "call sites"); left > 0; left--) {
      stacks.at(entry.u32());
      readCallees(entry, section.version);
    }
  }
  return hasBlocks;
}

class SectionAdder {
  readonly #section: LinearSection;
  readonly #merger: ProfileMerger;
  readonly #input: number;
  readonly #stacks: LinearStacks;
  readonly #blockBytes: number;
  /** Offset in a block of each field of the merger; -1 for those that are not there. */
  readonly #offsets: readonly number[];
  /** By row: the number of the record that has its block, from 1. A context in an inline chain is in several. */
  readonly #owners = new Column();
  /** Rows that come several times in their record. */
  readonly #repeated = new Map<number, Mib | undefined>();

  constructor(section: LinearSection, merger: ProfileMerger, input: number) {
    const { schema } = section;
    this.#section = section;
    this.#merger = merger;
    this.#input = input;
    const frames = section.frames.map((frame) => merger.frames.intern(frame));
    this.#stacks = section.stacksOf((parent, frame) => merger.stacks.child(parent, frames[frame]!));
    this.#blockBytes = schemaBytes(schema);
    this.#offsets = merger.blocks.fields.map((field) => {
      // Of a field that stands there several times the last one counts.
      const index = schema.lastIndexOf(field);
      return index < 0 ? -1 : schemaBytes(schema.slice(0, index));
    });
  }

  add(): void {
    const { blocks } = this.#merger;
    // Equal contexts of one process may combine otherwise: who they are is known only at the end.
    const isDelayed = blocks.dependsOnOrder;
    this.#addSites(!isDelayed);
    if (isDelayed) this.#addDelayed();
    this.#owners.release();
  }

  #addSites(withBlocks: boolean): void {
    const merger = this.#merger;
    const stacks = this.#stacks;
    const owners = this.#owners;
    const repeated = this.#repeated;
    let record = 0;
    for (const { guid, entry } of this.#section.records()) {
      record++;
      for (let left = entry.count(4, "alloc sites"); left > 0; left--) {
        const stack = stacks.at(entry.u32());
        const block = entry.skip(this.#blockBytes);
        if (stack === 0) continue;
        const known = merger.contexts.length;
        const row = merger.contexts.rowOf(stack);
        merger.noteFunction(row, stack, guid);
        const owner = owners.get(row);
        if (owner === 0) owners.set(row, record);
        else if (owner === record) repeated.set(row, undefined);
        else continue;
        if (withBlocks) this.#addBlock(entry, block, row, row === known);
      }
      for (let left = entry.count(4, "call sites"); left > 0; left--) {
        const stack = stacks.at(entry.u32());
        merger.callSites.add(guid, stack, readCallees(entry, this.#section.version));
      }
    }
  }

  #addDelayed(): void {
    const merger = this.#merger;
    const stacks = this.#stacks;
    const owners = this.#owners;
    const repeated = this.#repeated;
    const section = this.#section;
    const input = this.#input;
    let record = 0;
    for (const { entry } of section.records()) {
      record++;
      for (let left = entry.count(4, "alloc sites"); left > 0; left--) {
        const stack = stacks.at(entry.u32());
        const block = entry.skip(this.#blockBytes);
        if (stack === 0) continue;
        const row = merger.contexts.rowOf(stack);
        if (owners.get(row) !== record) continue;
        if (!repeated.has(row)) {
          this.#addBlock(entry, block, row, merger.blocks.isEmpty(row));
          continue;
        }
        const at = entry.window.at(block, this.#blockBytes);
        const mib = mibFromFields(entry.window.view, at, section.schema);
        const merged = repeated.get(row);
        if (merged === undefined) repeated.set(row, mib);
        else mergeMib(merged, mib);
      }
    }
    for (const [row, mib] of repeated)
      if (mib !== undefined) merger.blocks.addMib(mib, row, merger.blocks.isEmpty(row), input);
  }

  #addBlock({ window }: Cursor, block: number, row: number, isNew: boolean): void {
    const at = window.at(block, this.#blockBytes);
    this.#merger.blocks.addFields(window.view, at, this.#offsets, row, isNew, this.#input);
  }
}

/** Size of a block with these fields. */
export function schemaBytes(schema: readonly MibField[]): number {
  return schema.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The targets of a call site; undefined in versions that do not have them. */
export function readCallees(entry: Cursor, version: number): bigint[] | undefined {
  if (version < 4) return undefined;
  return Array.from({ length: entry.count(8, "callees") }, () => entry.u64());
}
