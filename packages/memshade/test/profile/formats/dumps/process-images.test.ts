import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sourceOfBytes } from "../../../../src/ground/bytes/byte-source.ts";
import { FormatError } from "../../../../src/ground/bytes/errors.ts";
import { isElfCore, readElfCore } from "../../../../src/profile/formats/elf-core.ts";
import { isMinidump, readMinidump } from "../../../../src/profile/formats/minidump/index.ts";
import type { ProcessImage, RegisterWords } from "../../../../src/profile/model/process-image.ts";
import { drawElf, drawNote } from "../../../code/objects/elf-picture.ts";
import {
  AARCH64,
  DumpWriter,
  drawCore,
  drawFiles,
  drawMinidump,
  drawThread,
  RIP,
  RSP,
} from "./dump-pictures.ts";

const text = (value: string) => new TextEncoder().encode(value);
const coreOf = (bytes: Uint8Array) => readElfCore(sourceOfBytes(bytes));
const minidumpOf = (bytes: Uint8Array) => readMinidump(sourceOfBytes(bytes));

const BUILD_ID = Uint8Array.of(0xab, 0xcd, 0xef, 0x01);
const FIRST_PAGE = drawElf({
  sections: [{ name: ".note", type: 7, content: drawNote("GNU", 3, BUILD_ID) }],
  segments: [{ type: 4, flags: 4, address: 0x40, section: ".note" }],
});
const LIBRARY = 0x7f00_0000_0000;

/** Value of a register as an address: exact below 2^53, as every address of a program is. */
function registerAddress(words: RegisterWords, register: number): number {
  return words[2 * register + 1]! * 2 ** 32 + words[2 * register]!;
}

describe("a core dump", () => {
  const core = drawCore(
    [
      drawThread(71, RIP),
      drawNote(
        "CORE",
        3,
        new DumpWriter().to(24).u32(70).to(40).text("app").to(56).text("./app -v ").to(136).finish(),
      ),
      drawFiles([
        [0x400000, 0x402000, 0, "/bin/app"],
        [LIBRARY, LIBRARY + 0x1000, 0, "/lib/libx.so"],
        [LIBRARY + 0x1000, LIBRARY + 0x3000, 1, "/lib/libx.so"],
      ]),
      drawThread(70, RIP + 0x10),
    ],
    [
      [RSP, text("stack of the program")],
      [RSP + 20, text(" goes on")],
      [LIBRARY, FIRST_PAGE],
    ],
  );
  const image = coreOf(core);

  it("has the threads in the order of the file, the one that crashed first", () => {
    expect(image).toMatchObject({
      architecture: "x86_64",
      pid: 70,
      command: "./app -v",
      signal: 11,
      gaps: [],
    });
    expect(image.threads.map(({ lwp, registers }) => [lwp, registerAddress(registers, 16)])).toEqual([
      [71, RIP],
      [70, RIP + 0x10],
    ]);
    const { registers } = image.threads[0];
    // rbx, rbp, rsp, and r15, which comes first in the kernel's order
    expect([3, 6, 7, 15].map((register) => registerAddress(registers, register))).toEqual([
      5,
      0x1234,
      RSP,
      0,
    ]);
  });

  it("has the files that were mapped, with build ids from their first pages", () => {
    expect(image.files).toEqual([
      { start: 0x400000, end: 0x402000, fileOffset: 0, path: "/bin/app", buildId: undefined },
      { start: LIBRARY, end: LIBRARY + 0x1000, fileOffset: 0, path: "/lib/libx.so", buildId: "abcdef01" },
      {
        start: LIBRARY + 0x1000,
        end: LIBRARY + 0x3000,
        fileOffset: 0x1000,
        path: "/lib/libx.so",
        buildId: "abcdef01",
      },
    ]);
  });

  it("has memory, across neighbouring pieces and not across gaps", () => {
    const read = (address: number, length: number) =>
      new TextDecoder().decode(image.readMemory(address, length));
    expect(read(RSP + 9, 6)).toBe("the pr");
    expect(read(RSP + 13, 15)).toBe("program goes on");
    expect(read(RSP + 24, 100)).toBe("s on");
    expect(read(RSP - 1, 4)).toBe("");
  });

  it("of AArch64 has its registers, and the bits of signed addresses", () => {
    const mask = new DumpWriter().u64(0).u32(0).u32(0x7f0000).finish();
    const arm = coreOf(drawCore([drawThread(5, RIP, AARCH64), drawNote("LINUX", 0x406, mask)], [], AARCH64));
    expect(arm.architecture).toBe("aarch64");
    const { registers } = arm.threads[0];
    expect([29, 30, 31, 32].map((register) => registerAddress(registers, register))).toEqual([
      29,
      30,
      RSP,
      RIP,
    ]);
    expect(arm.pointerAuthenticationMask).toEqual([0, 0x7f0000]);
  });

  it("without a list of files gets them from the auxiliary vector and the linker's list", () => {
    const entry = 0x9000;
    const aux = new DumpWriter()
      .u64(3)
      .u64(0x555000 + 64)
      .u64(4)
      .u64(56)
      .u64(5)
      .u64(3)
      .u64(0)
      .u64(0)
      .finish();
    const header = (type: number, offset: number, address: number, size: number) =>
      new DumpWriter()
        .u32(type)
        .u32(5)
        .u64(offset)
        .u64(address)
        .u64(address)
        .u64(size)
        .u64(size)
        .u64(4096)
        .finish();
    const headers = [header(6, 64, 64, 168), header(1, 0, 0, 0x1800), header(2, 0x200, 0x200, 32)];
    const page = new DumpWriter().to(64).bytes(headers[0]).bytes(headers[1]).bytes(headers[2]);
    // DT_DEBUG points to r_debug, which points to the list: the executable, then a library.
    page.to(0x200).u64(21).u64(entry).u64(0).u64(0).to(0x300);
    const list = new DumpWriter().u64(1).u64(entry + 16);
    list
      .u64(0x555000)
      .u64(0)
      .u64(0)
      .u64(entry + 56)
      .u64(0);
    list
      .u64(LIBRARY)
      .u64(entry + 96)
      .u64(0)
      .u64(0)
      .u64(0)
      .text("/lib/libx.so\0");
    const notes = [
      drawThread(1, RIP),
      drawNote("CORE", 3, new DumpWriter().to(56).text("/bin/app").to(136).finish()),
    ];
    const image = coreOf(
      drawCore(
        [...notes, drawNote("CORE", 6, aux)],
        [
          [0x555000, page.finish()],
          [entry, list.finish()],
        ],
      ),
    );
    expect(image.files).toEqual([
      { start: 0x555000, end: 0x557000, fileOffset: 0, path: "/bin/app" },
      { start: LIBRARY, end: LIBRARY + 0x1000, fileOffset: 0, path: "/lib/libx.so" },
    ]);
    expect(image.gaps).toHaveLength(1);
  });

  it("that was cut off says so, and keeps what is there", () => {
    const cut = drawCore([drawThread(1, RIP)], [[RSP, new Uint8Array(64)]]);
    // Section headers and program headers are behind the memory in this picture.
    const view = new DataView(cut.buffer, cut.byteOffset);
    view.setBigUint64(Number(view.getBigUint64(32, true)) + 56 + 32, 1n << 20n, true);
    const image = coreOf(cut);
    expect(image.gaps.join()).toContain("cut off");
    expect(image.readMemory(RSP, 64)).toHaveLength(64);
  });

  it("is not every ELF file", () => {
    expect(isElfCore(sourceOfBytes(core))).toBe(true);
    expect(isElfCore(sourceOfBytes(FIRST_PAGE))).toBe(false);
    expect(() => coreOf(FIRST_PAGE)).toThrow("not a dump");
    expect(() => coreOf(drawCore([], []))).toThrow("no threads");
    expect(() => coreOf(drawElf({ bits: 32, machine: 3, type: 4 }))).toThrow("i386");
  });
});

describe("a minidump", () => {
  const guid = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
  const codeView = new DumpWriter().u32(0x4270454c).bytes(BUILD_ID).finish();
  const oldCodeView = new DumpWriter().u32(0x53445352).bytes(guid).u32(0).text("libx.so\0").finish();
  const picture = {
    threads: [
      { id: 10, pc: 0x1000 },
      { id: 11, pc: 0x2000 },
    ],
    crashed: { id: 11, pc: RIP },
    modules: [
      { base: 0x400000, size: 0x1000, path: "/bin/äpp", codeView },
      { base: LIBRARY, size: 0x1000, path: "/lib/libx.so", codeView: oldCodeView },
      { base: LIBRARY + 0x2000, size: 0x1000, path: "/lib/libx.so", codeView: oldCodeView },
    ],
    stack: text("stack"),
  };

  it.each([false, true])(
    "has its threads, the crashed one as it was at the crash (padded lists: %s)",
    (padLists) => {
      const image = minidumpOf(drawMinidump({ ...picture, padLists }));
      expect(image).toMatchObject({ architecture: "x86_64", signal: 11, gaps: [] });
      expect(image.threads.map(({ lwp, registers }) => [lwp, registerAddress(registers, 16)])).toEqual([
        [11, RIP],
        [10, 0x1000],
      ]);
      const [{ registers }] = image.threads;
      expect([3, 7, 6].map((register) => registerAddress(registers, register))).toEqual([0x1234, RSP, 6]);
    },
  );

  it("has its modules with their build ids, one per file", () => {
    const { files } = minidumpOf(drawMinidump(picture));
    expect(files).toEqual([
      { start: 0x400000, end: 0x401000, fileOffset: 0, path: "/bin/äpp", buildId: "abcdef01" },
      {
        start: LIBRARY,
        end: LIBRARY + 0x3000,
        fileOffset: 0,
        path: "/lib/libx.so",
        buildId: "0403020106050807090a0b0c0d0e0f10",
      },
    ]);
  });

  it("has the stacks of its threads, or memory with 64-bit sizes", () => {
    const decode = (image: ProcessImage, address: number, length: number) =>
      new TextDecoder().decode(image.readMemory(address, length));
    expect(decode(minidumpOf(drawMinidump(picture)), RSP + 2, 10)).toBe("ack");
    const memory64: [number, Uint8Array][] = [
      [0x5000, text("first")],
      [RSP, text("second")],
    ];
    const full = minidumpOf(drawMinidump({ ...picture, stack: new Uint8Array(0), memory64 }));
    expect(decode(full, 0x5001, 10)).toBe("irst");
    expect(decode(full, RSP, 6)).toBe("second");
    expect(decode(full, 0x4fff, 6)).toBe("");
  });

  it.each([12, 0x8003])("of AArch64 has its registers (processor %d)", (processor) => {
    const image = minidumpOf(drawMinidump({ processor, threads: [{ id: 1, pc: RIP }] }));
    const [{ registers }] = image.threads;
    expect(image.architecture).toBe("aarch64");
    expect([0, 30, 31, 32].map((register) => registerAddress(registers, register))).toEqual([
      0xa0,
      0xa30,
      RSP,
      RIP,
    ]);
  });

  it("of other processors or without threads is refused", () => {
    expect(isMinidump(sourceOfBytes(drawMinidump({})))).toBe(true);
    expect(isMinidump(sourceOfBytes(text("MDM")))).toBe(false);
    expect(() => minidumpOf(drawMinidump({ processor: 5 }))).toThrow("dumps of 32-bit ARM are not supported");
    expect(() => minidumpOf(drawMinidump({}))).toThrow("no thread");
  });
});

describe("damaged dumps", () => {
  const core = drawCore(
    [drawThread(1, RIP), drawFiles([[LIBRARY, LIBRARY + 0x1000, 0, "/lib/libx.so"]])],
    [
      [LIBRARY, FIRST_PAGE],
      [RSP, new Uint8Array(32)],
    ],
  );
  const minidump = drawMinidump({
    threads: [{ id: 1, pc: RIP }],
    crashed: { id: 1, pc: RIP },
    modules: [
      {
        base: 0x1000,
        size: 16,
        path: "/bin/app",
        codeView: new DumpWriter().u32(0x4270454c).u32(7).finish(),
      },
    ],
    stack: new Uint8Array(32),
    memory64: [[0x9000, new Uint8Array(16)]],
  });

  it.each([
    ["core", core, coreOf],
    ["minidump", minidump, minidumpOf],
  ])("end in an answer or a FormatError (%s)", (_, file, read) => {
    const survive = (bytes: Uint8Array) => {
      try {
        const image = read(bytes);
        expect(image.threads.length).toBeGreaterThan(0);
        for (const { start } of image.files)
          expect(image.readMemory(start, 64).length).toBeLessThanOrEqual(64);
        image.readMemory(RSP, 4096);
      } catch (error) {
        expect(error).toBeInstanceOf(FormatError);
      }
    };
    for (let length = 0; length < file.length; length += 7) survive(file.subarray(0, length));
    const change = fc.tuple(fc.nat(file.length - 1), fc.oneof(fc.nat(255), fc.constantFrom(0, 0x80, 0xff)));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), (changes) => {
        const damaged = file.slice();
        for (const [at, value] of changes) damaged[at] = value;
        survive(damaged);
      }),
      { numRuns: 400 },
    );
  });
});
