import { describe, expect, it } from "vitest";
import { UnwindTable } from "../../../src/code/unwind/index.ts";
import { type CiePicture, drawCfi, drawCfiObject, type FdePicture, X86_64_START } from "./cfi-picture.ts";
import { InterpretedRows } from "./interpreted-rows.ts";

/** `push rbp; mov rbp, rsp; …; pop rbp; ret` */
const WITH_FRAME_POINTER: FdePicture = {
  start: 0x1000,
  size: 0x40,
  program: [0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x30, 0x0c, 7, 8],
};
const ITS_ROWS = [
  "1000 rsp+8 ra=c-8",
  "1001 rsp+16 rbp=c-16 ra=c-8",
  "1004 rbp+16 rbp=c-16 ra=c-8",
  "1034 rsp+8 rbp=c-16 ra=c-8",
];

function rowsOf(
  kind: "eh_frame" | "debug_frame",
  cie: CiePicture,
  fde: FdePicture = WITH_FRAME_POINTER,
  machine?: number,
): string[] {
  const ours = new InterpretedRows(drawCfiObject(kind, drawCfi(kind, cie, [fde]), machine));
  return Array.from(
    { length: ours.rows.count },
    (_, row) => `${ours.rows.starts[row].toString(16)} ${ours.text(row)}`,
  );
}

/** Rules after some instructions, at the second of two rows. */
function rulesAfter(program: readonly number[], cie: CiePicture = {}): string {
  const rows = rowsOf("eh_frame", cie, { start: 0x1000, size: 0x100, program: [0x41, ...program] });
  return rows.at(-1)!.slice("1001 ".length);
}

describe("call frame information is read", () => {
  const encodings = {
    absolute: 0x00,
    u32: 0x03,
    u64: 0x04,
    uleb: 0x01,
    sleb: 0x09,
    u16: 0x02,
    s32: 0x0b,
    s64: 0x0c,
  };
  for (const [name, encoding] of Object.entries(encodings))
    it(`with ${name} addresses, absolute and relative to their place`, () => {
      expect(rowsOf("eh_frame", { encoding })).toEqual(ITS_ROWS);
      // Relative addresses are negative here, which unsigned encodings of less than 64 bits cannot express.
      if (![0x01, 0x02, 0x03].includes(encoding))
        expect(rowsOf("eh_frame", { encoding: encoding | 0x10 })).toEqual(ITS_ROWS);
    });

  for (const version of [1, 3, 4] as const)
    for (const is64Bit of [false, true])
      it(`in version ${version}, ${is64Bit ? 64 : 32}-bit DWARF, from both sections`, () => {
        expect(rowsOf("eh_frame", { version, is64Bit })).toEqual(ITS_ROWS);
        expect(rowsOf("debug_frame", { version, is64Bit })).toEqual(ITS_ROWS);
      });

  it("with every known letter of augmentation, and an unknown one behind the encoding", () => {
    for (const augmentation of ["zR", "zPR", "zPLR", "zRS", "zRB", "zRG", "zRX"])
      expect(rowsOf("eh_frame", { augmentation }), augmentation).toEqual(ITS_ROWS);
  });

  it("but not where an unknown letter hides the encoding", () => {
    expect(rowsOf("eh_frame", { augmentation: "zXR" })).toEqual([]);
  });

  it("behind a terminator in the middle of the section too", () => {
    const first = drawCfi("eh_frame", {}, []);
    const whole = Uint8Array.from([...first, 0, 0, 0, 0, ...first]);
    expect(new InterpretedRows(drawCfiObject("eh_frame", whole)).rows.fdeCount).toBe(0);
    const followed = Uint8Array.from([
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      ...drawCfi("eh_frame", { encoding: 0 }, [WITH_FRAME_POINTER]),
    ]);
    expect(new InterpretedRows(drawCfiObject("eh_frame", followed)).rows.fdeCount).toBe(1);
  });

  it("without functions that have no code", () => {
    const bytes = drawCfi("eh_frame", {}, [{ ...WITH_FRAME_POINTER, size: 0 }, WITH_FRAME_POINTER]);
    const table = UnwindTable.fromObject(drawCfiObject("eh_frame", bytes));
    expect(table.counts).toMatchObject({ fdes: 1, emptyFdes: 1 });
  });
});

describe("call frame instructions", () => {
  const start = "rsp+8 ";
  const cases: readonly [name: string, program: readonly number[], rules: string][] = [
    ["offset", [0x83, 3], `${start}rbx=c-24 ra=c-8`],
    ["nop between others", [0x83, 3, 0x00, 0x00, 0x0e, 16], "rsp+16 rbx=c-24 ra=c-8"],
    ["offset_extended", [0x05, 3, 3], `${start}rbx=c-24 ra=c-8`],
    ["offset_extended_sf", [0x11, 3, 0x7d], `${start}rbx=c+24 ra=c-8`],
    ["GNU_negative_offset_extended", [0x2f, 3, 3], `${start}rbx=c+24 ra=c-8`],
    ["val_offset", [0x14, 3, 2], `${start}rbx=v-16 ra=c-8`],
    ["val_offset_sf", [0x15, 3, 0x7e], `${start}rbx=v+16 ra=c-8`],
    ["register", [0x09, 16, 5], `${start}ra=rdi`],
    ["same_value", [0x08, 3], `${start}rbx=s ra=c-8`],
    ["undefined", [0x07, 16], "rsp+8"],
    ["restore", [0x90, 4, 0xd0], `${start}ra=c-8`],
    ["restore of what has no first rule", [0x83, 3, 0xc3], `${start}ra=c-8`],
    ["restore_extended", [0x90, 4, 0x06, 16], `${start}ra=c-8`],
    ["remember and restore", [0x0a, 0x0e, 32, 0x83, 2, 0x0b], `${start}ra=c-8`],
    ["restore_state without a state", [0x0e, 32, 0x0b], "rsp+32 ra=c-8"],
    ["def_cfa", [0x0c, 6, 0x90, 0x01], "rbp+144 ra=c-8"],
    ["def_cfa_sf", [0x12, 6, 0x7e], "rbp+16 ra=c-8"],
    ["def_cfa_register", [0x0d, 10], "r10+8 ra=c-8"],
    ["def_cfa_offset", [0x0e, 0xf8, 0x07], "rsp+1016 ra=c-8"],
    ["def_cfa_offset of three bytes", [0x0e, 0x80, 0x80, 0x02], "rsp+32768 ra=c-8"],
    ["def_cfa_offset_sf", [0x13, 0x7c], "rsp+32 ra=c-8"],
    ["def_cfa_expression", [0x0f, 3, 0x76, 0x78, 0x06], "exp ra=c-8"],
    ["def_cfa_offset behind an expression", [0x0f, 3, 0x76, 0x78, 0x06, 0x0e, 8], "exp ra=c-8"],
    // Expression from the end of libgcrypt's cipher loops.
    [
      "def_cfa_register behind an expression",
      [0x0e, 56, 0x0f, 3, 0x76, 0x78, 0x06, 0x0d, 7],
      "rsp+56 ra=c-8",
    ],
    ["both behind an expression", [0x0f, 3, 0x76, 0x78, 0x06, 0x0e, 40, 0x0d, 6], "rbp+40 ra=c-8"],
    ["def_cfa_register behind an offset that is not kept", [0x13, 1, 0x0f, 1, 0x30, 0x0d, 6], "? ra=c-8"],
    ["expression", [0x10, 6, 2, 0x76, 0], `${start}rbp=exp ra=c-8`],
    ["val_expression", [0x16, 6, 2, 0x76, 0], `${start}rbp=vexp ra=c-8`],
    ["GNU_args_size", [0x2e, 0x20], `${start}ra=c-8`],
    ["an offset that does not fit", [0x83, 0xff, 0xff, 0xff, 0xff, 0x0f], `${start}rbx=? ra=c-8`],
  ];
  for (const [name, program, rules] of cases) it(name, () => expect(rulesAfter(program)).toBe(rules));

  it("move the location by one, two, four bytes, and to an address", () => {
    const program = [
      0x02, 4, 0x03, 0x10, 0, 0x04, 0x20, 0, 0, 0, 0x01, 0x80, 0x10, 0, 0, 0, 0, 0, 0, 0x0e, 16,
    ];
    const rows = rowsOf("eh_frame", { encoding: 0 }, { start: 0x1000, size: 0x100, program });
    expect(rows.map((row) => row.split(" ")[0])).toEqual(["1000", "1004", "1014", "1034", "1080"]);
    expect(rows.at(-1)).toBe("1080 rsp+16 ra=c-8");
  });

  it("scale the location by the code alignment", () => {
    const rows = rowsOf(
      "eh_frame",
      { codeAlignment: 4 },
      { start: 0x1000, size: 0x100, program: [0x42, 0x0e, 16] },
    );
    expect(rows.map((row) => row.split(" ")[0])).toEqual(["1000", "1008"]);
  });

  it("behind one that is not known say nothing, and those before it stand", () => {
    const rows = rowsOf(
      "eh_frame",
      {},
      { start: 0x1000, size: 0x100, program: [0x44, 0x3f, 0x44, 0x0e, 16] },
    );
    expect(rows).toEqual(["1000 rsp+8 ra=c-8", "1004 ?"]);
  });

  it("past the end of the function make no rows", () => {
    const fde = { start: 0x1000, size: 4, program: [0x42, 0x0e, 16, 0x48, 0x0e, 24] };
    expect(rowsOf("eh_frame", {}, fde)).toEqual(["1000 rsp+8 ra=c-8", "1002 rsp+16 ra=c-8"]);
  });

  it.each([
    ["alone", 0x2d],
    ["with the place of the signing", 0x2c],
  ])("of AArch64 mark signed return addresses, %s", (_, negate) => {
    const cie = { returnAddress: 30, program: [0x0c, 31, 0] };
    const fde = { start: 0x1000, size: 0x40, program: [0x44, negate, 0x0e, 16, 0x9e, 1, 0x48, negate] };
    const object = drawCfiObject("eh_frame", drawCfi("eh_frame", cie, [fde]), 183);
    const table = UnwindTable.fromObject(object);
    const isSigned = (address: number) => table.rules.find(table.find(address), 34) >= 0;
    expect([0x1000, 0x1004, 0x1008, 0x100c].map(isSigned)).toEqual([false, true, true, false]);
  });

  it("give equal rule sets one number, in whatever order they come", () => {
    const fdes = [
      { start: 0x1000, size: 0x10, program: [0x83, 2, 0x86, 3] },
      { start: 0x2000, size: 0x10, program: [0x86, 3, 0x83, 2] },
    ];
    const table = UnwindTable.fromObject(drawCfiObject("eh_frame", drawCfi("eh_frame", {}, fdes)));
    expect(table.find(0x1000)).toBeGreaterThan(0);
    expect(table.find(0x1000)).toBe(table.find(0x2000));
  });
});

describe("tables keep", () => {
  it("three registers, where nothing else is asked for", () => {
    const fdes = [{ start: 0x1000, size: 0x10, program: [0x83, 2, 0x86, 3] }];
    const object = drawCfiObject("eh_frame", drawCfi("eh_frame", { program: X86_64_START }, fdes));
    const three = UnwindTable.fromObject(object, { registers: "three" });
    const all = UnwindTable.fromObject(object);
    const registers = (table: UnwindTable) =>
      [3, 6, 16].map((register) => table.rules.find(table.find(0x1000), register) >= 0);
    expect(registers(three)).toEqual([false, true, true]);
    expect(registers(all)).toEqual([true, true, true]);
  });
});
