import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadDemangler } from "../../../src/names/load/demangler.ts";

const demangle = loadDemangler();

describe("demangle", () => {
  it.each([
    ["_Znwm", "operator new(unsigned long)"],
    ["_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int>>::push_back(int const&)"],
    ["__ZN3art5Arena5ResetEv", "art::Arena::Reset()"],
    ["_Z4swapIiEvRT_S1_", "void swap<int>(int&, int&)"],
    ["_ZN1AUt_D2Ev", "A::'unnamed'::~()"],
    ["_Z1fv.cold", "f() (.cold)"],
    ["orig$_ZN1A1fEv", "orig$A::f()"],
    ["legalstub$_ZN1A1fEv", "legalstub$A::f()"],
    ["orig$_RNvCs1234_7mycrate3foo", "orig$mycrate::foo"],
    ["?grow@Arena@@QEAAXH@Z", "Arena::grow(int)"],
  ])("%s is %s", (name, readable) => {
    expect(demangle(name)).toBe(readable);
  });

  it.each([
    ["_ZN5alloc3vec16Vec$LT$T$C$A$GT$4push17h05af221e174051e9E", "alloc::vec::Vec<T,A>::push"],
    ["_RNvCs1234_7mycrate3foo", "mycrate::foo"],
    ["_RNvMs0_NtCs1234_7mycrate3fooNtB5_3Bar3baz", "<mycrate::foo::Bar>::baz"],
    ["_RNvCs1234_7mycrate3foo.llvm.12", "mycrate::foo (.llvm.12)"],
    ["_ZN4core3ptr4read17h0123456789abcdefE.cold", "core::ptr::read (.cold)"],
    [
      "core::ptr::drop_in_place$LT$alloc..string..String$GT$::h0123456789abcdef",
      "core::ptr::drop_in_place<alloc::string::String>",
    ],
    [
      "_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$::drop::h0123456789abcdef",
      "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
    ],
    ["grid::épée::h0123456789abcdef", "grid::épée"],
    [
      "<hexane[2f4fddf7486950aa]::btree::SlabBTree<hexane[2f4fddf7486950aa]::prefix::Weight<usize>>>::alloc",
      "<hexane::btree::SlabBTree<hexane::prefix::Weight<usize>>>::alloc",
    ],
    ["__rustc[1963b85898d4d9c3]::__rdl_realloc", "__rustc::__rdl_realloc"],
    ["<alloc[0f984d130f21c3e]::vec::Vec<u8>>::grow[1]", "<alloc::vec::Vec<u8>>::grow[1]"],
  ])("Rust: %s is %s", (name, readable) => {
    expect(demangle(name)).toBe(readable);
  });

  it.each([
    "malloc",
    "operator new(unsigned long)",
    "std::vector<int>::push_back(int const&)",
    "__wbindgen_malloc",
    "__new",
    "~lib/rt/itcms/__new",
    "_start",
    "_Reset",
    "_Z",
    "_ZN",
    "foo::bar",
    "",
  ])("a plain name stays: %s", (name) => {
    expect(demangle(name)).toBe(name);
  });

  it("never throws, whatever the name", () => {
    const mangled = fc.tuple(fc.constantFrom("_Z", "_ZN", "_R", "?", ""), fc.string({ unit: "grapheme" }));
    fc.assert(
      fc.property(mangled, ([prefix, rest]) => {
        expect(typeof demangle(prefix + rest)).toBe("string");
      }),
    );
  });

  it("demangles a name as a whole or not at all, wherever it is cut", () => {
    const names = ["_ZNSt6vectorIiSaIiEE9push_backERKi", "_RNvMs0_NtCs1234_7mycrate3fooNtB5_3Bar3baz"];
    for (const name of names)
      for (let length = 0; length < name.length; length++) {
        const readable = demangle(name.slice(0, length));
        expect(readable === name.slice(0, length) || !/_[ZR]|[0-9][a-z]/.test(readable), readable).toBe(true);
      }
  });

  it("leaves names alone that are too long to be looked at", () => {
    const name = `_ZN${"3foo".repeat(10_000)}E`;
    expect(demangle(name)).toBe(name);
  });
});
