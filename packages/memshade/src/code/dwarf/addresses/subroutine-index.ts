import { FormatError } from "../../../ground/bytes/errors.ts";
import * as dw from "../constants.ts";
import { Cursor } from "../cursor.ts";
import type { Abbreviation, Unit } from "../die.ts";
import { readForm, readValue, skipSized } from "../forms.ts";
import { isTombstone, readRanges } from "./ranges.ts";

export const NO_SUBROUTINE = -1;

/**
 * Index of a unit's functions, inlined ones included, by address. One pass over the unit's entries collects
 * `subprogram` and `inlined_subroutine` entries in columns.
 */
export class SubroutineIndex {
  readonly unit: Unit;
  readonly #rows: Uint32Array;
  readonly #starts: Float64Array;
  readonly #intervals: SubroutineColumns["intervals"];

  constructor(unit: Unit) {
    this.unit = unit;
    const { rows, starts, intervals } = readSubroutines(unit);
    this.#rows = rows;
    this.#starts = starts;
    this.#intervals = intervals;
  }

  get length(): number {
    return this.#starts.length;
  }

  /** Returns the number of the innermost subroutine at an address, or `NO_SUBROUTINE`. */
  innermostAt(address: number): number {
    return this.#intervals.find(address);
  }

  /** Returns the subroutine that a subroutine is inlined into; `NO_SUBROUTINE` if it is not inlined. */
  callerOf(subroutine: number): number {
    const row = subroutine * ROW;
    return this.#rows[row + INLINED] === 1 ? this.#rows[row + PARENT] | 0 : NO_SUBROUTINE;
  }

  /** Numbers of the subroutines at an address, the innermost first, up to the first that is not inlined. */
  chainAt(address: number): number[] {
    const chain: number[] = [];
    for (let at = this.innermostAt(address); at !== NO_SUBROUTINE; at = this.callerOf(at)) chain.push(at);
    return chain;
  }

  offsetOf(subroutine: number): number {
    return this.#rows[subroutine * ROW + OFFSET];
  }

  /**
   * Returns the unit offset of the entry that declares the subroutine; 0 if the subroutine has a declaration
   * itself.
   */
  originOf(subroutine: number): number {
    return this.#rows[subroutine * ROW + ORIGIN];
  }

  /** Returns the start of its code, if the code is contiguous. */
  startOf(subroutine: number): number | undefined {
    const start = this.#starts[subroutine];
    return Number.isNaN(start) ? undefined : start;
  }

  /** Call that was inlined; unknown numbers are 0. */
  callOf(subroutine: number): { file: number; line: number; column: number; discriminator: number } {
    const rows = this.#rows;
    const row = subroutine * ROW;
    return {
      file: rows[row + CALL_FILE],
      line: rows[row + CALL_LINE],
      column: rows[row + CALL_COLUMN],
      discriminator: rows[row + CALL_DISCRIMINATOR],
    };
  }
}

const OFFSET = 0;
const PARENT = 1;
const INLINED = 2;
const ORIGIN = 3;
const CALL_FILE = 4;
const CALL_LINE = 5;
const CALL_COLUMN = 6;
const CALL_DISCRIMINATOR = 7;
const ROW = 8;

interface SubroutineColumns {
  /** `ROW` numbers per subroutine. */
  readonly rows: Uint32Array;
  /** First address of each subroutine; NaN if its code is not contiguous. */
  readonly starts: Float64Array;
  readonly intervals: { find(address: number): number };
}

const LARGEST_CHUNK = 128;

interface Chunk {
  /** Sorted. */
  starts: Float64Array;
  ends: Float64Array;
  values: Int32Array;
  count: number;
}

/**
 * Map from address intervals to values. Later intervals lie inside of earlier ones, or beside them.
 *
 * A new interval cuts the interval around its start into up to three pieces. Intervals that start inside of it
 * stay. llvm-symbolizer resolves invalid overlaps in the same way, so the answers agree. Sorted chunks keep
 * insertions cheap in any order.
 */
export class IntervalMap {
  readonly #chunks: Chunk[] = [newChunk()];
  #recent = 0;

  add(low: number, high: number, value: number): void {
    if (low === high) return;
    const at = this.#seek(low);
    const chunk = this.#chunks[this.#recent];
    if (at >= 0 && low < chunk.ends[at]) {
      const start = chunk.starts[at];
      // The order of these steps also handles `high` below `low`, which occurs in damaged programs.
      if (high < chunk.ends[at]) this.#set(high, chunk.ends[at], chunk.values[at]);
      if (low > start) this.#setEnd(start, low);
    }
    this.#set(low, high, value);
  }

  /**
   * Returns the value of the interval with the largest start at or below an address, if it reaches that far;
   * else −1.
   */
  find(address: number): number {
    const at = this.#seek(address);
    if (at < 0) return -1;
    const chunk = this.#chunks[this.#recent];
    return address < chunk.ends[at] ? chunk.values[at] : -1;
  }

  #setEnd(start: number, end: number): void {
    const at = this.#seek(start);
    this.#chunks[this.#recent].ends[at] = end;
  }

  #set(start: number, end: number, value: number): void {
    const at = this.#seek(start);
    let chunk = this.#chunks[this.#recent];
    if (at >= 0 && chunk.starts[at] === start) {
      chunk.ends[at] = end;
      chunk.values[at] = value;
      return;
    }
    let place = at + 1;
    if (chunk.count === chunk.starts.length)
      if (chunk.count < LARGEST_CHUNK) grow(chunk);
      else {
        const upper = split(chunk);
        this.#chunks.splice(this.#recent + 1, 0, upper);
        if (place > chunk.count) {
          place -= chunk.count;
          this.#recent++;
          chunk = upper;
        }
      }
    const { starts, ends, values } = chunk;
    // Few entries follow in most cases, so a loop is faster than `copyWithin`.
    for (let at = chunk.count; at > place; at--) {
      starts[at] = starts[at - 1];
      ends[at] = ends[at - 1];
      values[at] = values[at - 1];
    }
    starts[place] = start;
    ends[place] = end;
    values[place] = value;
    chunk.count++;
  }

  /** Selects the chunk with the last start at or below an address, and returns the index there, or −1. */
  #seek(address: number): number {
    const chunks = this.#chunks;
    const recent = chunks[this.#recent];
    const next = chunks[this.#recent + 1];
    const fits =
      recent.count > 0 && recent.starts[0] <= address && (next === undefined || address < next.starts[0]);
    if (!fits) {
      let low = 0;
      let high = chunks.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (chunks[middle].count > 0 && chunks[middle].starts[0] <= address) low = middle + 1;
        else high = middle;
      }
      this.#recent = Math.max(0, low - 1);
    }
    const { starts, count } = chunks[this.#recent];
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (starts[middle] <= address) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

function newChunk(): Chunk {
  return { starts: new Float64Array(16), ends: new Float64Array(16), values: new Int32Array(16), count: 0 };
}

function grow(chunk: Chunk): void {
  const { starts, ends, values } = chunk;
  chunk.starts = new Float64Array(starts.length * 2);
  chunk.ends = new Float64Array(starts.length * 2);
  chunk.values = new Int32Array(starts.length * 2);
  chunk.starts.set(starts);
  chunk.ends.set(ends);
  chunk.values.set(values);
}

function split(chunk: Chunk): Chunk {
  const half = chunk.count >> 1;
  const move = <T extends Float64Array | Int32Array>(column: T): T => {
    const target = column.slice() as T;
    target.copyWithin(0, half, chunk.count);
    return target;
  };
  const upper = {
    starts: move(chunk.starts),
    ends: move(chunk.ends),
    values: move(chunk.values),
    count: chunk.count - half,
  };
  chunk.count = half;
  return upper;
}

/** Attributes with which an entry declares itself instead of using its origin. */
const OWN_DECLARATION: ReadonlySet<number> = new Set([
  dw.DW_AT_MIPS_linkage_name,
  dw.DW_AT_linkage_name,
  dw.DW_AT_name,
  dw.DW_AT_decl_file,
  dw.DW_AT_decl_line,
  dw.DW_AT_specification,
  dw.DW_AT_signature,
]);

/** Buffers for rows while a unit is read. All units share them, since they are read one after the other. */
let growingRows = new Uint32Array(ROW << 8);
let growingStarts = new Float64Array(1 << 8);

/**
 * Reads all entries of a unit, of every form. If the unit is damaged, the entries found before stay and the damage
 * is noted.
 */
function readSubroutines(unit: Unit): SubroutineColumns {
  return new EntryReader(unit).read();
}

class EntryReader {
  readonly #unit: Unit;
  readonly #intervals = new IntervalMap();
  readonly #listed: number[] = [];
  #rows = growingRows;
  #starts = growingStarts;
  #count = 0;

  constructor(unit: Unit) {
    this.#unit = unit;
  }

  read(): SubroutineColumns {
    try {
      this.#readEntries();
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.#unit.file.problems.push(error);
    }
    return {
      rows: growingRows.slice(0, this.#count * ROW),
      starts: growingStarts.slice(0, this.#count),
      intervals: this.#intervals,
    };
  }

  #add(offset: number, parent: number, isInlined: boolean): number {
    const subroutine = this.#count++;
    if (subroutine === growingStarts.length) this.#grow();
    const row = subroutine * ROW;
    this.#rows.fill(0, row, row + ROW);
    this.#rows[row + OFFSET] = offset;
    this.#rows[row + PARENT] = parent;
    if (isInlined) this.#rows[row + INLINED] = 1;
    this.#starts[subroutine] = Number.NaN;
    return subroutine;
  }

  #grow(): void {
    const rows = new Uint32Array(growingRows.length * 2);
    const starts = new Float64Array(growingStarts.length * 2);
    rows.set(growingRows);
    starts.set(growingStarts);
    this.#rows = growingRows = rows;
    this.#starts = growingStarts = starts;
  }

  #readEntries(): void {
    const unit = this.#unit;
    const { header, abbreviations } = unit;
    const { bytes: info } = unit.file.info;
    unit.load();
    const cursor = new Cursor(info, header.dieOffset, ".debug_info", header.end);
    const { end } = cursor;
    const enclosing: number[] = [];
    let current = NO_SUBROUTINE;
    while (cursor.position < end) {
      const offset = cursor.position;
      const code = info[offset] < 0x80 ? info[cursor.position++] : cursor.uleb();
      if (code === 0) {
        if (enclosing.length === 0) return;
        current = enclosing.pop()!;
        if (enclosing.length === 0) return;
        continue;
      }
      const abbreviation = abbreviations.get(code);
      const { tag, skips, hasChildren } = abbreviation;
      let inside = current;
      if (tag === dw.DW_TAG_subprogram || tag === dw.DW_TAG_inlined_subroutine) {
        inside = this.#add(offset, current, tag === dw.DW_TAG_inlined_subroutine);
        this.#readSubroutine(cursor, abbreviation, inside);
      } else {
        for (let i = 0; i < skips.length; i++) {
          const size = skips[i];
          if (size >= 0) cursor.position += size;
          else skipSized(cursor, size, header);
        }
      }
      if (hasChildren) {
        enclosing.push(current);
        current = inside;
      } else if (enclosing.length === 0) return;
    }
  }

  #readSubroutine(
    cursor: Cursor,
    { attributes, forms, constants, sizes }: Abbreviation,
    subroutine: number,
  ): void {
    const unit = this.#unit;
    const { header } = unit;
    const rows = this.#rows;
    const row = subroutine * ROW;
    let low: number | undefined;
    let high: number | undefined;
    let isLength = false;
    let origin = 0;
    let hasOwnDeclaration = false;
    for (let i = 0; i < attributes.length; i++) {
      const attribute = attributes[i];
      const size = sizes[i];
      switch (attribute) {
        case dw.DW_AT_low_pc:
        case dw.DW_AT_high_pc: {
          const value = readForm(cursor, forms[i], constants[i], header);
          const isAddress = value.form === dw.DW_FORM_addr;
          const isIndex = isAddressIndex(value.form);
          const resolved = isIndex ? unit.addressAt(value.value) : value.value;
          if (attribute === dw.DW_AT_low_pc) {
            low = isAddress || isIndex ? resolved : undefined;
            if (low !== undefined) this.#starts[subroutine] = low;
          } else {
            high = resolved;
            isLength = !isAddress && !isIndex;
          }
          break;
        }
        case dw.DW_AT_ranges: {
          const value = readForm(cursor, forms[i], constants[i], header);
          if (low === undefined || high === undefined) this.#addRanges(value.form, value.value, subroutine);
          break;
        }
        case dw.DW_AT_call_file:
          rows[row + CALL_FILE] = readValue(cursor, forms[i], size, constants[i], header);
          break;
        case dw.DW_AT_call_line:
          rows[row + CALL_LINE] = readValue(cursor, forms[i], size, constants[i], header);
          break;
        case dw.DW_AT_call_column:
          rows[row + CALL_COLUMN] = readValue(cursor, forms[i], size, constants[i], header);
          break;
        case dw.DW_AT_GNU_discriminator:
          rows[row + CALL_DISCRIMINATOR] = readValue(cursor, forms[i], size, constants[i], header);
          break;
        case dw.DW_AT_abstract_origin:
          if (isReferenceInUnit(forms[i])) {
            origin = readValue(cursor, forms[i], size, constants[i], header);
            break;
          }
          hasOwnDeclaration = true;
          skipSized(cursor, size, header);
          break;
        default:
          if (OWN_DECLARATION.has(attribute)) hasOwnDeclaration = true;
          if (size >= 0) cursor.position += size;
          else skipSized(cursor, size, header);
      }
    }
    if (!hasOwnDeclaration) rows[row + ORIGIN] = origin;
    if (low === undefined || high === undefined || isTombstone(low, header.addressSize)) return;
    this.#intervals.add(low, isLength ? low + high : high, subroutine);
  }

  #addRanges(form: number, value: number, subroutine: number): void {
    try {
      // A damaged list is ignored as a whole.
      const found = this.#listed;
      found.length = 0;
      readRanges(this.#unit, form, value, (low, high) => found.push(low, high));
      for (let at = 0; at < found.length; at += 2) this.#intervals.add(found[at], found[at + 1], subroutine);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.#unit.file.problems.push(error);
    }
  }
}

function isAddressIndex(form: number): boolean {
  return (
    form === dw.DW_FORM_addrx ||
    (form >= dw.DW_FORM_addrx1 && form <= dw.DW_FORM_addrx4) ||
    form === dw.DW_FORM_GNU_addr_index
  );
}

function isReferenceInUnit(form: number): boolean {
  return (form >= dw.DW_FORM_ref1 && form <= dw.DW_FORM_ref8) || form === dw.DW_FORM_ref_udata;
}
