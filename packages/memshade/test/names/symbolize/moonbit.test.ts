import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { demangleMoonbit } from "../../../src/names/symbolize/moonbit.ts";

describe("names of MoonBit", () => {
  it.each([
    ["_M0FP27moonpad3lib6insert", "@lib.insert"],
    ["_M0FP017____moonbit__init", "__moonbit_init"],
    ["_M0MPC13int3Int18to__string_2einner", "Int::to_string.inner"],
    ["_M0MPB3Map3setGsRP27moonpad3lib5EntryE", "Map::set[String, @lib.Entry]"],
    ["_M0MPB6Hasher7combineGsE", "Hasher::combine[String]"],
    ["_M0IP016_24default__implPB4Hash4hashGsE", "Hash::hash[String]"],
    ["_M0IPC16string6StringPB4Hash13hash__combine", "String::hash_combine"],
    ["_M0TP27moonpad3lib5Entry", "@lib.Entry"],
    ["_M0TPB3MapGsRP27moonpad3lib5EntryE", "Map[String, @lib.Entry]"],
    ["_M0DTP27moonpad3lib4Tree4Node", "@lib.Tree::Node"],
    ["_M0TARPB17UnsafeMaybeUninitGRP27moonpad3lib5EntryE", "FixedArray[UnsafeMaybeUninit[@lib.Entry]]"],
    ["_M0TAORPB5EntryGsRP27moonpad3lib5EntryE", "FixedArray[Entry[String, @lib.Entry]?]"],
  ])("%s", (mangled, readable) => {
    expect(demangleMoonbit(mangled)).toBe(readable);
  });

  it("that are damaged stay as they are", () => {
    expect(demangleMoonbit("_M0FP29moonpad")).toBe("_M0FP29moonpad");
    expect(demangleMoonbit("_M0")).toBe("_M0");
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."FMITDPBCGEROA0123456789slib_") }), (rest) => {
        expect(demangleMoonbit(`_M0${rest}`)).toBeTypeOf("string");
      }),
    );
  });
});
