import { describe, expect, it } from "vitest";
import { bareName, compactName } from "../../../../src/explain/analyses/frames/place-names.ts";

describe("bareName", () => {
  it.each([
    ["void foo<int>(int)", "foo"],
    ["std::vector<int, A>& ns::foo<int>(std::string const&) const", "ns::foo"],
    ["unsigned long foo<unsigned long>(unsigned long)", "foo"],
    ["void Foo::operator()<int>(int) const", "Foo::operator()"],
    ["bool operator< <int>(X<int>, X<int>)", "operator<"],
    ["int (anonymous namespace)::foo<int>(int)", "(anonymous namespace)::foo"],
  ])("leaves out what an instance of a template returns: %s", (name, bare) => {
    expect(bareName(name)).toBe(bare);
  });

  it.each([
    ["(anonymous namespace)::foo(int)", "(anonymous namespace)::foo"],
    ["Foo::operator unsigned int()", "Foo::operator unsigned int"],
    ["leb128::read::signed::<&mut &[u8]>", "leb128::read::signed"],
    ["map::of::<c>::next", "map::of::next"],
    ["operator new(unsigned long)", "operator new"],
    ["save externref shim multivalue shim", "save externref shim multivalue shim"],
    ["<a::Map<b> as core::iter::Iterator>::next", "<a::Map as core::iter::Iterator>::next"],
    ["<alloc::vec::Vec<u8> as core::iter::Extend<u8>>", "<alloc::vec::Vec as core::iter::Extend>"],
  ])("keeps spaces that are part of the name: %s", (name, bare) => {
    expect(bareName(name)).toBe(bare);
  });
});

describe("compactName", () => {
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
});
