import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { demangleItanium } from "../../../../src/names/symbolize/itanium/parser.ts";

describe("a name of the Itanium C++ ABI", () => {
  it.each([
    ["_Z1fv", "f()"],
    ["_Z1fPFivEA3_iRKd", "f(int (*)(), int [3], double const&)"],
    ["_ZN2ns3BoxIiE3getEv", "ns::Box<int>::get()"],
    ["_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int>>::size() const"],
    ["_ZNSsC1Ev", "std::basic_string<char, std::char_traits<char>, std::allocator<char>>::basic_string()"],
    ["_ZNSt8ios_base4InitD1Ev", "std::ios_base::Init::~Init()"],
    ["_Z4swapIiEvRT_S1_", "void swap<int>(int&, int&)"],
    ["_Z1gIJicEEvDpT_", "void g<int, char>(int, char)"],
    ["_ZN1ScvT_IiEEv", "S::operator int<int>()"],
    ["_ZplRK1AS1_", "operator+(A const&, A const&)"],
    ["_ZZ4mainENKUliE_clEi", "main::'lambda'(int)::operator()(int) const"],
    [
      "_Z3runIvZN1aIJivEE5resetEvEUlOT_E_JiEEDcOT0_DpOT1_",
      "decltype(auto) run<void, a<int, void>::reset()::'lambda'(auto&&), int>(a<int, void>::reset()::'lambda'(auto&&)&&, int&&)",
    ],
    ["_ZZ4mainE1x_0", "main::x"],
    ["_ZTV1A", "vtable for A"],
    ["_ZThn16_N1B1fEv", "non-virtual thunk to B::f()"],
    ["_Z1hILi5ELb1ELc97EEvv", "void h<5, true, (char)97>()"],
    ["_Z1hIXgtLi1ELi2EEEvv", "void h<(1 > 2)>()"],
    ["_Z1hIiEDTplgtfp_fp_fp_ET_", "decltype(((fp > fp)) + fp) h<int>(int)"],
    ["_Z1hIXplgtLi1ELi2ELi3EEEvv", "void h<(1 > 2) + 3>()"],
    ["_Z1hIJETpTnmJLm0ELm1EEEv1AIJXspT0_EEE", "void h<0ul, 1ul>(A<0ul, 1ul...>)"],
    ["_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()"],
    ["_ZN4core3ptr4read17h0123456789abcdefE", "core::ptr::read::h0123456789abcdef"],
    ["_Z1fv.cold", "f() (.cold)"],
    ["_ZN1AUt_D2Ev", "A::'unnamed'::~()"],
    ["_ZN1AUt0_C2Ev", "A::'unnamed0'::()"],
    ["_ZN4PackIiJEE3runEv", "Pack<int>::run()"],
    ["_ZN1AILj42EE3runEv", "A<42u>::run()"],
    ["_ZN1AB5cxx111fB3fooEv", "A[abi:cxx11]::f[abi:foo]()"],
    ["_Z2r4ITk2C1iTk3TwoIT_ElET0_S1_S2_", "long r4<int, long>(T, long)"],
    ["_Z2r1IiQ2C1IT_EEvS0_", "void r1<int>(T)"],
    [
      "_Z1qIiEvT_QrQS0__XplfL0p_fL0p_NR4SameIS0_ETNS0_1vEQ1DE",
      "void q<int>(int) requires requires (int) { {fp + fp} noexcept -> Same<int>; typename int::v; requires D; }",
    ],
    [
      "_ZZ4mainENKUlTk2C1TyT_E_clIiiEEDaS_",
      "auto main::'lambda'<C1 $T, typename $T0>($T)::operator()<int, int>($T) const",
    ],
    ["_ZN1SFeqERKS_S1_Q2C1IiE", "S::friend operator==(S const&, S const&) requires C1<int>"],
    ["_ZNH2Ex1hIS_EEDaOT_i", "auto Ex::h<Ex>(this Ex&&, int)"],
    ["_Z1fIiEDk2C1T_", "C1 auto f<int>(int)"],
    ["_Z1fu14__remove_cvrefIiES_", "f(__remove_cvref(int), __remove_cvref(int))"],
    ["_Z1fIXu9__is_sameiiEEEvv", "void f<__is_same(int, int)>()"],
    ["_ZGIW4shop", "initializer for module shop"],
    ["_ZW4shopWP4part1fW4shop1Q", "f@shop:part(Q@shop)"],
    ["_ZN4shopW4shopW4cart2frENS_S1_1PE", "shop::fr@shop.cart(shop::P@shop.cart)"],
  ])("%s is %s", (mangled, readable) => {
    expect(demangleItanium(mangled)).toBe(readable);
  });

  it.each(["main", "_Z", "_Z1", "_Z9short", "_ZN1aE1", "_ZS_", "_Z1fT_", "_R", "_ZZ1fvENK3abcclIiEEvT_", ""])(
    "is not %j",
    (text) => {
      expect(demangleItanium(text)).toBeUndefined();
    },
  );

  it("is no work without end, whatever the text", () => {
    const piece = fc.constantFrom(
      ..."NEISTJXLPRKDplq_0123456789abcdefvit".split(""),
      "St",
      "Dp",
      "T_",
      "S_",
      "S0_",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 200 }), (pieces) => {
        const readable = demangleItanium(`_Z${pieces.join("")}`);
        expect(readable === undefined || readable.length <= 1 << 21).toBe(true);
      }),
      { numRuns: 2000 },
    );
    // Each substitution doubles the one before.
    const bomb = `_Z1f${"1A"}${Array.from({ length: 60 }, (_, i) => `F${i === 0 ? "S_S_" : `S${(i - 1).toString(36).toUpperCase()}_S${(i - 1).toString(36).toUpperCase()}_`}E`).join("")}`;
    expect(demangleItanium(bomb)).toBeUndefined();
  });
});

const LIBRARY = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6";
const hasOracle = existsSync(LIBRARY) && spawnSync("llvm-cxxfilt-22", ["--version"]).status === 0;
if (!hasOracle)
  console.warn("SKIPPED: llvm-cxxfilt-22 or libstdc++ is not installed, its names are not compared");

describe.skipIf(!hasOracle)("the names of libstdc++", () => {
  it("read as llvm-cxxfilt writes them", () => {
    const symbols = spawnSync("llvm-nm-22", ["-D", "--no-demangle", LIBRARY], {
      encoding: "utf8",
      maxBuffer: 1 << 26,
    });
    const names = [...new Set([...symbols.stdout.matchAll(/ (_Z[\w.$]+)/g)].map((match) => match[1]!))];
    expect(names.length).toBeGreaterThan(3000);
    const { stdout } = spawnSync("llvm-cxxfilt-22", {
      input: names.join("\n"),
      encoding: "utf8",
      maxBuffer: 1 << 27,
    });
    const wanted = stdout.trimEnd().split("\n");
    const different = names.filter((name, index) => (demangleItanium(name) ?? name) !== wanted[index]);
    expect(different).toEqual([]);
  });
});
