import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { sourceOfBytes } from "../../../../src/ground/bytes/byte-source.ts";
import { isElfCore, readElfCore } from "../../../../src/profile/formats/elf-core.ts";
import { isMinidump, readMinidump } from "../../../../src/profile/formats/minidump/index.ts";
import { sharedPath } from "../../../shared-path.ts";
import { drawMinidump, RIP } from "./dump-pictures.ts";

const [LINUX, MACOS, IOS, WINDOWS, ANDROID] = [0x8201, 0x8101, 0x8102, 2, 0x8203];

function endOf(platform: number, code: number, flags = 0): unknown {
  const crashed = { id: 1, pc: RIP, code, flags };
  const { signal, exception } = readMinidump(
    sourceOfBytes(drawMinidump({ platform, threads: [{ id: 1, pc: RIP }], crashed })),
  );
  return exception ?? signal;
}

describe("what a minidump says of the end", () => {
  it.each<[number, number, number, unknown]>([
    [LINUX, 11, 0, 11],
    [ANDROID, 6, 0, 6],
    [LINUX, 0xffffffff, 0, "none: the dump was asked for"],
    [MACOS, 1, 1, "EXC_BAD_ACCESS (KERN_INVALID_ADDRESS)"],
    [IOS, 1, 2, "EXC_BAD_ACCESS (KERN_PROTECTION_FAILURE)"],
    [MACOS, 6, 2, "EXC_BREAKPOINT"],
    [MACOS, 77, 0, "0x0000004d"],
    [WINDOWS, 0xc0000005, 0, "STATUS_ACCESS_VIOLATION (0xc0000005)"],
    [WINDOWS, 0xc000000d, 0, "STATUS_INVALID_PARAMETER (0xc000000d)"],
    [WINDOWS, 0xc0001234, 0, "0xc0001234"],
    [0x8206, 0x1002, 0, "0x00001002"],
  ])("is in the words of its system: platform %i, code %i", (platform, code, flags, end) => {
    expect(endOf(platform, code, flags)).toBe(end);
  });

  it.each([
    [
      "pipeline-inlines-macos-segv.dmp",
      { exception: "EXC_BAD_ACCESS (KERN_INVALID_ADDRESS)", signal: undefined },
    ],
    ["linux-mini.dmp", { exception: undefined, signal: 11 }],
  ])("is right in a dump of others: %s", (name, end) => {
    const file = sharedPath(`fixtures/outside/minidump/${name}`);
    if (file === undefined) return;
    const { signal, exception } = readMinidump(sourceOfBytes(readFileSync(file)));
    expect({ signal, exception }).toEqual(end);
  });
});

describe("dumps that are not read", () => {
  it.each([
    [0, "32-bit x86"],
    [5, "32-bit ARM"],
    [0x8006, "64-bit RISC-V"],
    [999, "processor 999"],
  ])("are named by their processor: %i", (processor, name) => {
    const dump = sourceOfBytes(drawMinidump({ processor, threads: [{ id: 1, pc: RIP }] }));
    expect(() => readMinidump(dump)).toThrow(`dumps of ${name} are not supported`);
  });

  it("are named where they are of big-endian machines", () => {
    const minidump = sourceOfBytes(Uint8Array.from([..."PMDM"].map((letter) => letter.charCodeAt(0))));
    expect(isMinidump(minidump)).toBe(true);
    expect(() => readMinidump(minidump)).toThrow("dumps of big-endian machines are not supported");
    const core = Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4);
    expect(isElfCore(sourceOfBytes(core))).toBe(true);
    expect(() => readElfCore(sourceOfBytes(core))).toThrow("dumps of big-endian machines are not supported");
  });

  it("are named where they are of x32 programs", () => {
    const note = new Uint8Array(356);
    new DataView(note.buffer).setUint32(0, 5, true);
    new DataView(note.buffer).setUint32(4, 336, true);
    new DataView(note.buffer).setUint32(8, 1, true);
    const header = new DataView(new ArrayBuffer(84));
    new Uint8Array(header.buffer).set([0x7f, 0x45, 0x4c, 0x46, 1, 1, 1]);
    const halves: [number, number][] = [
      [16, 4],
      [18, 62],
      [40, 52],
      [42, 32],
      [44, 1],
      [46, 40],
    ];
    for (const [at, half] of halves) header.setUint16(at, half, true);
    const words: [number, number][] = [
      [20, 1],
      [28, 52],
      [52, 4],
      [56, 84],
      [68, note.length],
    ];
    for (const [at, word] of words) header.setUint32(at, word, true);
    const core = sourceOfBytes(Uint8Array.from([...new Uint8Array(header.buffer), ...note]));
    expect(() => readElfCore(core)).toThrow(
      "dumps of x32 programs (32-bit addresses on x86_64) are not supported",
    );
  });
});
