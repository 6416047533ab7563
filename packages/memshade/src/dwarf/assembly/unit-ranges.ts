// The ranges of a unit by its own entry, as far as its first bytes have it.
import {
  DW_AT_addr_base,
  DW_AT_GNU_addr_base,
  DW_AT_high_pc,
  DW_AT_low_pc,
  DW_AT_entry_pc,
  DW_AT_ranges,
  DW_AT_rnglists_base,
  DW_FORM_addr,
  DW_FORM_implicit_const,
} from "../constants";
import { findAbbreviation } from "./abbreviations";
import { isUnusual, setUnusual } from "./memory";
import { addPair, addressAt, isTombstone, readRanges, setBases } from "./ranges";
import { at, end, enter, formSize, isAddressIndex, moveTo, offsetSize, readNumber, sleb, skipSized, uleb, version } from "./values";

/** The values of the attributes that matter, the first of each kind; form 0 where there is none. */
let lowForm: u32 = 0;
let low: i64 = 0;
let highForm: u32 = 0;
let high: i64 = 0;
let entryForm: u32 = 0;
let entry: i64 = 0;
let rangesForm: u32 = 0;
let ranges: i64 = 0;
let addressesBase: i64 = 0;
let listsBase: i64 = 0;

function isAddressForm(form: u32): bool {
  return form === DW_FORM_addr || isAddressIndex(form);
}

function addressOf(form: u32, value: i64): f64 {
  return form === DW_FORM_addr ? f64(<u64>value) : addressAt(<u32>value);
}

/** Puts the ranges behind those in `pairs`. `own` is where the unit's own entry is, which is there up to `behind`. */
export function readOwnRanges(own: u32, behind: u32, abbreviations: u32): void {
  enter(own, behind);
  const code = uleb();
  if (code === 0) setUnusual();
  if (isUnusual) return;
  readAttributes(at, behind, abbreviations, code);
  if (isUnusual) return;
  const wide = offsetSize === 8;
  if (addressesBase < 0) addressesBase = version >= 5 ? (wide ? 16 : 8) : 0;
  if (listsBase < 0) listsBase = version >= 5 ? (wide ? 20 : 12) : 0;
  setBases(0, <u32>addressesBase, <u32>listsBase);
  if (isAddressForm(lowForm) && highForm !== 0) {
    const start = addressOf(lowForm, low);
    if (!isTombstone(start)) {
      addPair(start, isAddressForm(highForm) ? addressOf(highForm, high) : start + f64(high));
      return;
    }
  }
  if (rangesForm === 0) return;
  let base: f64 = 0;
  if (isAddressForm(lowForm)) base = addressOf(lowForm, low);
  else if (isAddressForm(entryForm)) base = addressOf(entryForm, entry);
  setBases(base, <u32>addressesBase, <u32>listsBase);
  readRanges(rangesForm, ranges);
}

function readAttributes(values: u32, behind: u32, abbreviations: u32, code: u32): void {
  lowForm = highForm = entryForm = rangesForm = 0;
  addressesBase = listsBase = -1;
  findAbbreviation(abbreviations, code);
  // Behind the code are the tag, and whether there are children.
  uleb();
  moveTo(at + 1);
  while (!isUnusual) {
    if (at >= end) {
      setUnusual();
      return;
    }
    const attribute = uleb();
    const form = uleb();
    const constant = form === DW_FORM_implicit_const ? sleb() : 0;
    if ((attribute | form) === 0) return;
    const place = at;
    const stop = end;
    enter(values, behind);
    const size = formSize(form);
    switch (attribute) {
      case DW_AT_low_pc: {
        const value = readNumber(form, size, constant);
        if (lowForm === 0) {
          lowForm = form;
          low = value;
        }
        break;
      }
      case DW_AT_high_pc: {
        const value = readNumber(form, size, constant);
        if (highForm === 0) {
          highForm = form;
          high = value;
        }
        break;
      }
      case DW_AT_entry_pc: {
        const value = readNumber(form, size, constant);
        if (entryForm === 0) {
          entryForm = form;
          entry = value;
        }
        break;
      }
      case DW_AT_ranges: {
        const value = readNumber(form, size, constant);
        if (rangesForm === 0) {
          rangesForm = form;
          ranges = value;
        }
        break;
      }
      case DW_AT_addr_base:
        if (addressesBase < 0) addressesBase = readNumber(form, size, constant);
        else skip(size);
        break;
      case DW_AT_rnglists_base:
        if (listsBase < 0) listsBase = readNumber(form, size, constant);
        else skip(size);
        break;
      // Of split units, whose other half has what is asked for.
      case DW_AT_GNU_addr_base:
        setUnusual();
        return;
      default:
        skip(size);
    }
    if (at > behind) setUnusual();
    values = at;
    enter(place, stop);
  }
}

function skip(size: i32): void {
  if (size >= 0) moveTo(at + size);
  else skipSized(size);
}
