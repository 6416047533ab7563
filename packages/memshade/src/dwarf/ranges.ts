import type { UnitFormat } from "./abbreviations.ts";
import { Cursor } from "./cursor.ts";

/** Addresses from `low` on, before `high`. */
export interface AddressRange {
  readonly low: number;
  readonly high: number;
}

/** What a range list refers to. */
export interface RangeContext {
  /** `.debug_ranges`, from version 5 on `.debug_rnglists`. */
  readonly section: Uint8Array | undefined;
  readonly format: UnitFormat;
  /** Address that offsets are added to until the list names another one. */
  readonly base: number | undefined;
  /** Where the unit's table of lists begins. */
  readonly listsBase: number;
  addressAtIndex(index: number): number | undefined;
}

const Entry = {
  end_of_list: 0,
  base_addressx: 1,
  startx_endx: 2,
  startx_length: 3,
  offset_pair: 4,
  base_address: 5,
  start_end: 6,
  start_length: 7,
} as const;

/** The list with number `index` in the unit's table. */
export function readRangeListEntry(context: RangeContext, index: number): AddressRange[] {
  const { section, format, listsBase } = context;
  const at = listsBase + index * format.offsetSize;
  if (section === undefined || at + format.offsetSize > section.length) return [];
  return readRangeList(
    context,
    listsBase + new Cursor(section, ".debug_rnglists", at).unsigned(format.offsetSize),
  );
}

/** The list at `offset`, without empty ranges and those of code that the linker dropped. Damaged lists end early. */
export function readRangeList(context: RangeContext, offset: number): AddressRange[] {
  const { section, format } = context;
  if (section === undefined || !(offset >= 0 && offset < section.length)) return [];
  const ranges: AddressRange[] = [];
  // The largest addresses stand for code that is not there, in `.debug_ranges` the second largest.
  const largest = format.addressSize === 8 ? 2 ** 64 : 2 ** (8 * format.addressSize) - 1;
  const add = (low: number | undefined, high: number | undefined): void => {
    if (low !== undefined && high !== undefined && low < high && low < largest - 1)
      ranges.push({ low, high });
  };
  try {
    if (format.version >= 5) readNew(new Cursor(section, ".debug_rnglists", offset), context, add);
    else readOld(new Cursor(section, ".debug_ranges", offset), context, largest, add);
  } catch {
    // What stands before the damage is of use.
  }
  return ranges;
}

type Add = (low: number | undefined, high: number | undefined) => void;

function readOld(cursor: Cursor, { format, base: unitBase }: RangeContext, largest: number, add: Add): void {
  const { addressSize } = format;
  let base = unitBase ?? 0;
  for (;;) {
    const low = cursor.unsigned(addressSize);
    const high = cursor.unsigned(addressSize);
    if (low === 0 && high === 0) return;
    if (low === largest) base = high;
    else if (low !== largest - 1 && base < largest - 1) add(low + base, high + base);
  }
}

function readNew(cursor: Cursor, context: RangeContext, add: Add): void {
  const { addressSize } = context.format;
  const largest = addressSize === 8 ? 2 ** 64 : 2 ** (8 * addressSize) - 1;
  let base = context.base;
  for (;;) {
    const kind = cursor.u8();
    switch (kind) {
      case Entry.end_of_list:
        return;
      case Entry.base_addressx:
        base = context.addressAtIndex(cursor.uleb());
        break;
      case Entry.startx_endx: {
        const low = context.addressAtIndex(cursor.uleb());
        add(low, context.addressAtIndex(cursor.uleb()));
        break;
      }
      case Entry.startx_length: {
        const low = context.addressAtIndex(cursor.uleb());
        const length = cursor.uleb();
        add(low, low === undefined ? undefined : low + length);
        break;
      }
      case Entry.offset_pair: {
        const low = cursor.uleb();
        const high = cursor.uleb();
        const from = base ?? 0;
        if (from < largest - 1) add(from + low, from + high);
        break;
      }
      case Entry.base_address:
        base = cursor.unsigned(addressSize);
        break;
      case Entry.start_end: {
        const low = cursor.unsigned(addressSize);
        add(low, cursor.unsigned(addressSize));
        break;
      }
      case Entry.start_length: {
        const low = cursor.unsigned(addressSize);
        add(low, low + cursor.uleb());
        break;
      }
      default:
        cursor.fail(`unknown range list entry ${kind}`);
    }
  }
}
