import type { Mib } from "../../mib.ts";
import { type MibField, zeroMib } from "../../mib-fields.ts";
import type { MemprofBlocks } from "../profile.ts";
import { mergeInOrder } from "./block-merge.ts";
import { RankedBits } from "./ranked-bits.ts";
import type { MergeTables } from "./row-index.ts";

/** The blocks of a profile, one part of the table after the other, so that it need not be in memory as a whole. */
export interface BlockPieces {
  /** Number of all blocks. */
  readonly length: number;
  readonly fields: readonly MibField[];
  readonly pieces: Iterable<MemprofBlocks>;
}

/** Blocks of one process that are one context, in the order of its sites. */
interface Repeated {
  readonly row: number;
  readonly blocks: number[];
  readonly mibs: (Mib | undefined)[];
}

/** Adds the blocks of a profile to a merger, in the order of the table, once it is known which context each has. */
export class BlockAdder {
  readonly #merger: MergeTables;
  readonly #source: BlockPieces;
  readonly #input: number;
  readonly #lastInput: Float64Array | undefined;
  /** By block: the row of its context plus 1; 0 for blocks that do not count. */
  readonly #rows: Uint32Array;
  /** Further rows of blocks that several contexts share. */
  readonly #moreRows = new Map<number, number[]>();
  /** By block: those that it is to be merged with, and its place among them. */
  readonly #repeated = new Map<number, { readonly group: Repeated; readonly place: number }>();
  /** Rows from here on are new; those that have a block by now. */
  readonly #firstNew: number;
  readonly #filled = new RankedBits();

  constructor(merger: MergeTables, source: BlockPieces, input: number, lastInput: Float64Array | undefined) {
    this.#merger = merger;
    this.#source = source;
    this.#input = input;
    this.#lastInput = lastInput;
    this.#rows = new Uint32Array(source.length);
    this.#firstNew = merger.contexts.length;
  }

  /** A block belongs to the context of a row. */
  place(block: number, row: number): void {
    if (this.#rows[block] === 0) {
      this.#rows[block] = row + 1;
      return;
    }
    const known = this.#moreRows.get(block);
    if (known === undefined) this.#moreRows.set(block, [row]);
    else known.push(row);
  }

  /** One more block belongs to the context of a block that was placed. */
  placeAgain(first: number, block: number): void {
    let group = this.#repeated.get(first)?.group;
    if (group === undefined) {
      group = { row: this.#rows[first]! - 1, blocks: [first], mibs: [] };
      this.#repeated.set(first, { group, place: 0 });
    }
    this.#repeated.set(block, { group, place: group.blocks.push(block) - 1 });
  }

  add(): void {
    let first = 0;
    for (const piece of this.#source.pieces) {
      this.#addPiece(piece, first);
      first += piece.length;
    }
    for (const group of new Set(Array.from(this.#repeated.values(), (found) => found.group))) {
      const mibs = group.mibs.filter((mib) => mib !== undefined);
      if (mibs.length === 0) continue;
      const from = this.#inputOf(group.blocks[0]!);
      this.#merger.blocks.addMib(mergeInOrder(mibs), group.row, this.#isNew(group.row), from);
    }
    this.#filled.release();
  }

  #addPiece(piece: MemprofBlocks, first: number): void {
    const merger = this.#merger;
    const rows = this.#rows;
    const words = merger.blocks.fields.map((field) => {
      const column = piece.columns[piece.fields.indexOf(field)];
      return column && new Uint32Array(column.buffer, column.byteOffset, column.byteLength / 4);
    });
    for (let index = 0; index < piece.length; index++) {
      const block = first + index;
      const found = this.#repeated.size === 0 ? undefined : this.#repeated.get(block);
      if (found !== undefined) {
        found.group.mibs[found.place] = mibOfBlock(piece, index);
        this.#addHistogram(piece, index, found.group.row);
      }
      if (rows[block] === 0) continue;
      if (found === undefined) this.#addBlock(piece, words, index, block, rows[block]! - 1);
      for (const row of this.#moreRows.size === 0 ? [] : (this.#moreRows.get(block) ?? []))
        this.#addBlock(piece, words, index, block, row);
    }
  }

  #addBlock(
    piece: MemprofBlocks,
    words: readonly (Uint32Array | undefined)[],
    index: number,
    block: number,
    row: number,
  ): void {
    this.#merger.blocks.addWords(words, index, row, this.#isNew(row), this.#inputOf(block));
    this.#addHistogram(piece, index, row);
  }

  #addHistogram({ histograms }: MemprofBlocks, index: number, row: number): void {
    const histogram = histograms.size === 0 ? undefined : histograms.get(index);
    if (histogram !== undefined) this.#merger.addHistogram(row, histogram);
  }

  #inputOf(block: number): number {
    return this.#lastInput?.[block] ?? this.#input;
  }

  /** Whether a row has no block yet; from now on it has. */
  #isNew(row: number): boolean {
    const number = row - this.#firstNew;
    if (number < 0 || this.#filled.has(number)) return false;
    this.#filled.set(number);
    return true;
  }
}

function mibOfBlock({ fields, columns }: MemprofBlocks, row: number): Mib {
  const mib = zeroMib();
  for (const [index, field] of fields.entries()) {
    const value = columns[index]![row]!;
    if (field.bytes === 4) mib[field.name] = Number(value);
    else mib[field.name] = BigInt(value);
  }
  return mib;
}
