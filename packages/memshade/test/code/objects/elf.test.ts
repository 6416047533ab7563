import { deflateSync, inflateSync, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type Decompressors, openObject } from "../../../src/code/objects/index.ts";
import { FormatError } from "../../../src/ground/bytes/errors.ts";
import { ByteWriter } from "../../../src/ground/bytes/writer.ts";
import { drawElf, drawNote, drawSymbols, type SectionPicture } from "./elf-picture.ts";

const PROGBITS = 1;
const SYMTAB = 2;
const STRTAB = 3;
const NOTE = 7;
const NOBITS = 8;
const DYNSYM = 11;
const ALLOC = 2;
const COMPRESSED = 0x800;

const decompressors: Decompressors = {
  inflate: (bytes) => new Uint8Array(inflateSync(bytes)),
  zstd: (bytes) => new Uint8Array(zstdDecompressSync(bytes)),
};

const text = (value: string) => new TextEncoder().encode(value);
const section = (name: string, content: Uint8Array, rest: Partial<SectionPicture> = {}): SectionPicture => ({
  name,
  type: PROGBITS,
  content,
  ...rest,
});

describe("an ELF file", () => {
  it("says for which machine it is", () => {
    const opened = (bits: 32 | 64, machine: number) => {
      const { kind, architecture, addressSize } = openObject(drawElf({ bits, machine }));
      return `${kind} ${architecture} ${addressSize}`;
    };
    expect(opened(64, 62)).toBe("elf x86_64 8");
    expect(opened(32, 3)).toBe("elf i386 4");
    expect(opened(64, 183)).toBe("elf aarch64 8");
  });

  it.each([32, 64] as const)("shows its sections and what is in them (%d bits)", (bits) => {
    const content = text("machine code");
    const object = openObject(
      drawElf({
        bits,
        sections: [
          section(".text", content, { flags: ALLOC, address: 0x1000 }),
          { name: ".bss", type: NOBITS, size: 0x100, flags: ALLOC, address: 0x3000 },
        ],
      }),
    );
    expect(object.sections.map(({ name, type, address, size }) => [name, type, address, size])).toEqual([
      ["", 0, 0, 0],
      [".text", PROGBITS, 0x1000, content.length],
      [".bss", NOBITS, 0x3000, 0x100],
      [".shstrtab", STRTAB, 0, expect.any(Number)],
    ]);
    expect(object.section(".text")).toEqual(content);
    expect(object.section(".bss")).toBeUndefined();
    expect(object.section(".none")).toBeUndefined();
    expect(object.problems).toEqual([]);
  });

  it("gives out views of the file where nothing is compressed", () => {
    const file = drawElf({ sections: [section(".text", text("code"))] });
    expect(openObject(file).section(".text")!.buffer).toBe(file.buffer);
  });

  it("takes counts that do not fit 16 bits from section 0", () => {
    const picture = {
      sections: [section(".text", text("code"))],
      segments: [{ type: 1, flags: 5, address: 0x1000, section: ".text" }],
    };
    const { sections, segments, problems } = openObject(drawElf({ ...picture, overflowCounts: true }));
    expect(sections.map(({ name }) => name)).toEqual(["", ".text", ".shstrtab"]);
    expect(segments).toHaveLength(1);
    expect(problems).toEqual([]);
  });

  it.each([32, 64] as const)("finds the bytes at an address (%d bits)", (bits) => {
    const object = openObject(
      drawElf({
        bits,
        sections: [section(".text", text("0123456789"))],
        segments: [{ type: 1, flags: 5, address: 0x400000, section: ".text" }],
      }),
    );
    expect(object.segments[0]).toMatchObject({ type: 1, flags: 5, address: 0x400000, fileSize: 10 });
    expect(object.bytesAt(0x400003, 4)).toEqual(text("3456"));
    expect(object.bytesAt(0x400008, 4)).toEqual(text("89"));
    expect(object.bytesAt(0x40000a, 4)).toHaveLength(0);
    expect(object.bytesAt(0x3fffff, 4)).toHaveLength(0);
  });
});

describe("compressed sections", () => {
  const content = text("debug information, ".repeat(100));
  const header = (type: number, size: number) =>
    new ByteWriter().u32(type).u32(0).u32(size).u32(0).u32(1).u32(0);
  const compressed = (type: number, bytes: Uint8Array, size = content.length) =>
    section(".debug_info", header(type, size).bytes(bytes).finish(), { flags: COMPRESSED });
  const openWith = (picture: SectionPicture, using = decompressors) =>
    openObject(drawElf({ sections: [picture] }), using);

  it.each([
    ["zlib", 1, deflateSync(content)],
    ["zstd", 2, zstdCompressSync(content)],
  ])("come out whole (%s)", (method, type, bytes) => {
    const object = openWith(compressed(type, bytes));
    expect(object.sections[1].compression).toBe(method);
    expect(object.section(".debug_info")).toEqual(content);
    expect(object.section(".debug_info")).toBe(object.section(".debug_info"));
  });

  it("are read in files of 32 bits, where their header is shorter", () => {
    const bytes = new ByteWriter().u32(1).u32(content.length).u32(1).bytes(deflateSync(content)).finish();
    const file = drawElf({ bits: 32, sections: [section(".debug_line", bytes, { flags: COMPRESSED })] });
    expect(openObject(file, decompressors).section(".debug_line")).toEqual(content);
  });

  it("are found under their old names too", () => {
    const size = [0, 0, 0, 0, 0, 0, content.length >> 8, content.length & 255];
    const old = new ByteWriter().bytes(text("ZLIB")).bytes(size).bytes(deflateSync(content)).finish();
    const object = openWith(section(".zdebug_info", old));
    expect(object.section(".debug_info")).toEqual(content);
    expect(object.sections[1].compression).toBe("zlib");
  });

  it("count as absent without a decompressor", () => {
    const object = openWith(compressed(1, deflateSync(content)), {});
    expect(object.section(".debug_info")).toBeUndefined();
    expect(object.problems).toEqual([]);
  });

  it("count as absent when damaged, which is said", () => {
    const whole = deflateSync(content);
    const damaged: [SectionPicture, RegExp][] = [
      [compressed(1, whole.subarray(0, 10)), /unexpected end/],
      [compressed(1, whole, content.length + 1), /1900 bytes came out, 1901 were announced/],
      [compressed(1, whole, 0x7fffffff), /cannot become 2147483647/],
      [compressed(2, whole), /./],
    ];
    for (const [picture, message] of damaged) {
      const object = openWith(picture);
      expect(object.section(".debug_info")).toBeUndefined();
      expect(object.problems).toHaveLength(1);
      expect(object.problems[0]).toBeInstanceOf(FormatError);
      expect(object.problems[0].message).toMatch(message);
    }
  });
});

describe("what identifies an object", () => {
  const id = Uint8Array.from({ length: 20 }, (_, index) => index + 0xa0);
  const idText = "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3";
  const notes = new ByteWriter()
    .bytes(drawNote("GNU", 1, new Uint8Array(16)))
    .bytes(drawNote("Go", 3, text("not this one")))
    .bytes(drawNote("GNU", 3, id))
    .finish();

  it("is the build id of its notes, by section or by program header", () => {
    const bySection = drawElf({ sections: [section(".note.gnu.build-id", notes, { type: NOTE })] });
    expect(openObject(bySection).buildId).toBe(idText);
    const byHeader = drawElf({
      sections: [section(".data", notes)],
      segments: [{ type: 4, flags: 4, address: 0x200, section: ".data" }],
    });
    expect(openObject(byHeader).buildId).toBe(idText);
    expect(openObject(drawElf({})).buildId).toBeUndefined();
  });

  it("links to the file with its debug information", () => {
    const link = new ByteWriter().bytes(text("prog.debug")).bytes([0, 0]).u32(0xcafebabe).finish();
    const alt = new ByteWriter().bytes(text("../.dwz/x")).u8(0).bytes(id).finish();
    const file = drawElf({ sections: [section(".gnu_debuglink", link), section(".gnu_debugaltlink", alt)] });
    expect(openObject(file).debugLink).toEqual({ name: "prog.debug", crc32: 0xcafebabe });
    expect(openObject(file).debugAltLink).toEqual({ name: "../.dwz/x", buildId: idText });
    const cut = drawElf({ sections: [section(".gnu_debuglink", link.subarray(0, 13))] });
    expect(openObject(cut).debugLink).toBeUndefined();
  });
});

describe("symbols", () => {
  const FUNC = 2;
  const OBJECT = 1;
  const LOCAL = 0;
  const WEAK = 0x20;
  const GLOBAL = 0x10;
  const { symbols, strings } = drawSymbols([
    { name: "second", address: 0x1100, size: 0x20, info: GLOBAL | FUNC },
    { name: "first", address: 0x1000, size: 0x80, info: LOCAL | FUNC },
    { name: "undefined", address: 0, info: GLOBAL | FUNC, section: 0 },
    { name: "file.c", address: 0, info: LOCAL | 4, section: 0xfff1 },
    { name: "alias", address: 0x1100, size: 0x20, info: WEAK | FUNC },
    { name: "short", address: 0x1100, size: 0x10, info: GLOBAL | FUNC },
    { name: "table", address: 0x2000, size: 8, info: GLOBAL | OBJECT },
    { name: "unsized", address: 0x1200, info: LOCAL },
    { name: "elsewhere", address: 0x10, size: 0x100, info: GLOBAL | FUNC, section: 2 },
  ]);
  const sections = [
    section(".text", text("code"), { flags: ALLOC }),
    section(".comment", text("text")),
    section(".symtab", symbols, { type: SYMTAB, link: ".strtab" }),
    section(".strtab", strings, { type: STRTAB }),
  ];
  const table = openObject(drawElf({ sections })).symbols();

  it("are sorted by address, then size, and say what they name", () => {
    expect(
      [...table].map(({ name, address, size, kind, binding }) => [name, address, size, kind, binding]),
    ).toEqual([
      ["first", 0x1000, 0x80, "function", "local"],
      ["short", 0x1100, 0x10, "function", "global"],
      ["second", 0x1100, 0x20, "function", "global"],
      ["alias", 0x1100, 0x20, "function", "weak"],
      ["unsized", 0x1200, 0, "untyped", "local"],
      ["table", 0x2000, 8, "data", "global"],
    ]);
  });

  it("are found by an address inside of them, the largest of several", () => {
    const named = (address: number) => table.find(address)?.name;
    expect(named(0xfff)).toBeUndefined();
    expect(named(0x1000)).toBe("first");
    expect(named(0x107f)).toBe("first");
    expect(named(0x1080)).toBeUndefined();
    expect(named(0x1118)).toBe("alias");
    expect(named(0x1fff)).toBe("unsized");
    expect(named(0x2008)).toBeUndefined();
  });

  it("come from the dynamic table where there is no other", () => {
    const dynamic = sections.map((one) => (one.type === SYMTAB ? { ...one, type: DYNSYM } : one));
    expect(openObject(drawElf({ sections: dynamic })).symbols().length).toBe(6);
    expect(openObject(drawElf({})).symbols().length).toBe(0);
  });

  it("are sorted when they are further apart than 32 bits count", () => {
    const far = drawSymbols([
      { name: "high", address: 0x7fff_0000_0000, size: 1 },
      { name: "low", address: 0x10, size: 1 },
    ]);
    const file = drawElf({
      sections: [
        section(".text", text("code"), { flags: ALLOC }),
        section(".symtab", far.symbols, { type: SYMTAB, link: ".strtab" }),
        section(".strtab", far.strings, { type: STRTAB }),
      ],
    });
    expect([...openObject(file).symbols()].map(({ name }) => name)).toEqual(["low", "high"]);
  });

  it("leave out what marks code and data for ARM", () => {
    const marked = drawSymbols([
      { name: "$x", address: 0x1000, info: 0 },
      { name: "$d.12", address: 0x1010, info: 0 },
      { name: "$dollar", address: 0x1010, info: 0 },
    ]);
    const file = (machine: number) =>
      drawElf({
        machine,
        sections: [
          section(".text", text("code"), { flags: ALLOC }),
          section(".symtab", marked.symbols, { type: SYMTAB, link: ".strtab" }),
          section(".strtab", marked.strings, { type: STRTAB }),
        ],
      });
    expect([...openObject(file(183)).symbols()].map(({ name }) => name)).toEqual(["$dollar"]);
    expect(openObject(file(62)).symbols().length).toBe(3);
  });
});
