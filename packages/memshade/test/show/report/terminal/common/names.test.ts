import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { printCallers } from "../../../../../src/show/report/terminal/common/call-path.ts";
import { createPaint } from "../../../../../src/show/report/terminal/common/paint.ts";
import { Screen, shortenName, shortenPlace } from "../../../../../src/show/report/terminal/common/screen.ts";
import { cutMiddle, displayWidth, printable } from "../../../../../src/show/report/terminal/common/text.ts";

const push = "std::vector<int, std::allocator<int> >::push_back(int const&)";

describe("a name that has to fit", () => {
  it.each([
    [80, push],
    [52, "std::vector<int, std::allocator<int> >::push_back(…)"],
    [30, "std::vector<…>::push_back(…)"],
    [27, "std::vector<…>::push_back"],
    [22, "std::vector::push_back"],
    [18, "…vector::push_back"],
    [10, "…push_back"],
    [9, "…push_back"],
    [0, "…push_back"],
  ])("in %d columns: %s", (width, short) => {
    expect(shortenName(push, width)).toBe(short);
  });

  it("is whole in a line of callers", () => {
    const screen = new Screen({ paint: createPaint(false), width: 60, isWide: false });
    printCallers(screen, [{ name: "a_function_with_a_name_of_forty_columns", file: "a.c", line: 3 }], "  ");
    expect(screen.text()).toBe("  ← a_function_with_a_name_of_forty_columns (a.c:3)\n");
  });

  it("keeps type and method of a Rust trait", () => {
    const drop = "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop";
    expect(shortenName(drop, 30)).toBe("<Vec as Drop>::drop");
    expect(shortenName(drop, 12)).toBe("Vec::drop");
  });

  it.each([
    ["_RNvMs0_NtCs1234_7mycrate3fooNtB5_3Bar3bazOTHERWISE", 20, "_RNvMs0_NtCs1234_7m…"],
    ["orig$_ZN4oops", 9, "orig$_ZN…"],
    ["?f@@YAXPEAUFoo@@QEAX", 12, "?f@@YAXPEAU…"],
    ["__ZNotReadable", 8, "__ZNotR…"],
    ["__Rather_long_name", 9, "__Rather_long_name"],
  ])("%s is cut only if it is mangled, and at its end", (name, width, short) => {
    expect(shortenName(name, width)).toBe(short);
  });

  it("leaves no two ends of a mangled name in a longer text either", () => {
    const text = "4.1 KiB  ← _RNvMs0_NtCs1234_7mycrate3fooNtB5_3Bar3baz ← main";
    expect(cutMiddle(text, 40)).toBe("4.1 KiB  ← _RNvMs0_NtCs1234_7mycrate3fo…");
    // A mangled name that stays whole on either side may remain.
    expect(cutMiddle("_ZN1A ← std::vector<int>::push_back ← main", 22)).toBe("_ZN1A ← std…ack ← main");
  });

  it("fits or is one whole name, and never prints a control character", () => {
    const piece = fc.constantFrom(
      "<",
      ">",
      "(",
      ")",
      "::",
      "operator",
      "->",
      "文字",
      "\u001b[31m",
      "x",
      " ",
      "…",
      "\ud800",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.nat(40), (pieces, width) => {
        const short = shortenName(pieces.join(""), width);
        expect(
          displayWidth(short) <= width ||
            printable(pieces.join("")).endsWith(short.replace(/^…/, "")) ||
            !short.includes("::"),
        ).toBe(true);
        expect(short).not.toMatch(/\p{Cc}/u);
      }),
    );
  });
});

describe("a function with its place that has to fit", () => {
  it.each([
    ["load (load.cc:7) via std::vector::push_back", 80, "load (load.cc:7) via std::vector::push_back"],
    ["load (load.cc:7) via std::vector::push_back", 30, "load (load.cc:7)"],
    ["shapes::Circle::area() const (shapes.cc:7)", 30, "…Circle::area (shapes.cc:7)"],
    [
      "__memset_unaligned_erms (memset-vec-unaligned-erms.S:307)",
      38,
      "__memset_unaligned_erms (memset-vec-unaligned-erms.S:307)",
    ],
    ["unknown code of libgcc_s.so.1 (+0x14d4b)", 38, "unknown code of libgcc_s.so.1 (+0x14d4b)"],
    ["parse", 3, "parse"],
  ])("%s in %d columns", (text, width, short) => {
    expect(shortenPlace(text, width)).toBe(short);
  });
});
