import { describe, expect, it } from "vitest";
import { loadBias, openObject } from "../../../../src/code/objects/index.ts";
import {
  loadFrameNamer,
  preferAsGdb,
  preferAsPerf,
  withoutParameters,
} from "../../../../src/names/stacks/names.ts";
import { MappedModule, NativeFile } from "../../../../src/names/stacks/native-file.ts";
import { drawElf, drawSymbols } from "../../../code/objects/elf-picture.ts";

describe("names of C++ functions", () => {
  it.each([
    ["main", "main"],
    ["Bomb::~Bomb()", "Bomb::~Bomb"],
    ["run(int)::{lambda(int)#1}::operator()(int) const", "run(int)::{lambda(int)#1}::operator()"],
    ["std::function<void (int)>::swap(std::function<void (int)>&)", "std::function<void (int)>::swap"],
    ["sort(int (*)(int, int)) (.part.0)", "sort"],
    ["Functor::operator()", "Functor::operator()"],
    ["(anonymous namespace)::name", "(anonymous namespace)::name"],
    ["unbalanced)", "unbalanced)"],
    ["Box<int>::conv<int>(int) const &", "Box<int>::conv<int>"],
    ["std::ostream::put(char)@plt", "std::ostream::put@plt"],
  ])("%s is shown as %s", (full, short) => {
    expect(withoutParameters(full)).toBe(short);
  });
});

describe("of several names for one address", () => {
  const [LOCAL, GLOBAL, WEAK] = [0x02, 0x12, 0x22];
  const { symbols, strings } = drawSymbols([
    { name: "__qsort_r", address: 0x1000, size: 0x40, info: GLOBAL },
    { name: "qsort_r", address: 0x1000, size: 0x40, info: WEAK },
    { name: "raise", address: 0x1100, size: 0x40, info: LOCAL },
    { name: "gsignal", address: 0x1100, size: 0x40, info: WEAK },
    { name: "emptied.cold", address: 0x1300, size: 0, info: LOCAL },
    { name: "cut.cold", address: 0x1300, size: 10, info: LOCAL },
    { name: "last", address: 0x1ff0, size: 0, info: GLOBAL },
    { name: "versioned@@V_2", address: 0x1200, size: 0x10, info: GLOBAL },
  ]);
  const object = openObject(
    drawElf({
      sections: [
        { name: ".text", type: 1, flags: 6, address: 0x1000, content: new Uint8Array(0x1000) },
        { name: ".plt", type: 1, flags: 6, address: 0x2000, content: new Uint8Array(0x100) },
        { name: ".symtab", type: 2, link: ".strtab", content: symbols },
        { name: ".strtab", type: 3, content: strings },
      ],
    }),
  );
  const file = NativeFile.fromObject("/lib/libc.so", object);
  const nameAt = (address: number, prefer: typeof preferAsGdb) =>
    loadFrameNamer(prefer).name(file, address).frames[0].function;

  it("GDB's choice and perf's are known", () => {
    expect([nameAt(0x1010, preferAsGdb), nameAt(0x1010, preferAsPerf)]).toEqual(["qsort_r", "__qsort_r"]);
    expect([nameAt(0x1110, preferAsGdb), nameAt(0x1110, preferAsPerf)]).toEqual(["gsignal", "raise"]);
    expect(nameAt(0x1208, preferAsGdb)).toBe("versioned");
    expect([nameAt(0x1306, preferAsGdb), nameAt(0x1306, preferAsPerf)]).toEqual(["cut.cold", "cut.cold"]);
  });

  it("none reaches into the next section", () => {
    expect(nameAt(0x1fff, preferAsGdb)).toBe("last");
    expect(nameAt(0x2000, preferAsGdb)).toBeUndefined();
    expect(nameAt(0x1060, preferAsGdb)).toBeUndefined();
  });
});

describe("the bias of a mapping", () => {
  const segment = (flags: number, address: number, section: string) => ({ type: 1, flags, address, section });
  const object = openObject(
    drawElf({
      sections: [
        { name: ".rodata", type: 1, content: new Uint8Array(0x1800) },
        { name: ".text", type: 1, content: new Uint8Array(0x1800) },
      ],
      segments: [segment(4, 0x40, ".rodata"), segment(5, 0x2840, ".text")],
    }),
  );

  it("is that of the segment which begins in the mapped page of the file", () => {
    expect(loadBias(object, 0x7000_0000, 0)).toBe(0x7000_0000);
    expect(loadBias(object, 0x7000_2000, 0x1000)).toBe(0x7000_0000);
  });

  it("is found for a piece from the middle of a segment", () => {
    expect(loadBias(object, 0x7000_3000, 0x2000)).toBe(0x7000_0000);
    expect(loadBias(object, 0x7000_0000, 0x10_0000)).toBeUndefined();
  });

  it("stays when a mapping is cut in two", () => {
    const module = new MappedModule(
      NativeFile.fromObject("/lib/x", object),
      0x7000_2000,
      0x7000_5000,
      0x1000,
    );
    expect(module.part(0x7000_3000, 0x7000_4000)).toMatchObject({ bias: 0x7000_0000, fileOffset: 0x2000 });
  });
});
