import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compactName, shortenName } from "../../../../src/report/terminal/common/names.ts";
import { displayWidth } from "../../../../src/report/terminal/common/text.ts";

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
    [9, "…pus…back"],
    [1, "…"],
    [0, ""],
  ])("in %d columns: %s", (width, short) => {
    expect(shortenName(push, width)).toBe(short);
  });

  it.each([
    [
      "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
      "<alloc::vec::Vec<…> as core::ops::drop::Drop>::drop",
    ],
    ["core::ptr::drop_in_place<std::rt::lang_start<()>::{{closure}}>", "core::ptr::drop_in_place<…>"],
    ["(anonymous namespace)::Parser::parse(char const*)", "(anonymous namespace)::Parser::parse"],
    [
      "std::basic_ostream<char>& operator<<(std::basic_ostream<char>&, Row)",
      "std::basic_ostream<…>& operator<<",
    ],
    ["Less::operator()(int, int) const", "Less::operator()"],
    ["bool operator<=><int>(A<int>, A<int>)", "bool operator<=><…>"],
    ["Ptr<Row>::operator->()", "Ptr<…>::operator->"],
    ["operator new(unsigned long)", "operator new"],
    ["main", "main"],
    ["a<b", "a<b"],
    ["~lib/rt/itcms/__new", "~lib/rt/itcms/__new"],
  ])("among callers, %s is %s", (name, compact) => {
    expect(compactName(name)).toBe(compact);
  });

  it("fits, whatever the name, and never prints a control character", () => {
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
        expect(displayWidth(short)).toBeLessThanOrEqual(width);
        expect(short).not.toMatch(/\p{Cc}/u);
      }),
    );
  });
});
