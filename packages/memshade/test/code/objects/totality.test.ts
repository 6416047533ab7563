import { readFileSync } from "node:fs";
import { inflateSync, zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ObjectFile, openObject } from "../../../src/code/objects/index.ts";
import { FormatError } from "../../../src/ground/bytes/errors.ts";
import { drawElf, drawNote, drawSymbols } from "./elf-picture.ts";

const decompressors = {
  inflate: (bytes: Uint8Array, size: number) => inflateSync(bytes, { maxOutputLength: size }),
  zstd: (bytes: Uint8Array, size: number) => zstdDecompressSync(bytes, { maxOutputLength: size }),
};

const { symbols, strings } = drawSymbols([
  { name: "main", address: 0x1000, size: 16 },
  { name: "other", address: 0x1010, size: 8 },
]);

const elf = drawElf({
  sections: [
    { name: ".text", type: 1, flags: 2, address: 0x1000, content: new Uint8Array(32) },
    { name: ".note", type: 7, content: drawNote("GNU", 3, new Uint8Array(20).fill(7)) },
    { name: ".symtab", type: 2, link: ".strtab", content: symbols },
    { name: ".strtab", type: 3, content: strings },
    { name: ".debug_info", type: 1, flags: 0x800, content: new Uint8Array(40).fill(1) },
    { name: ".gnu_debuglink", type: 1, content: new TextEncoder().encode("a.debug\0crc ") },
  ],
  segments: [{ type: 1, flags: 5, address: 0x1000, section: ".text" }],
});
const wasm = readFileSync(new URL("../../fixtures/programs/kernels/hashmap.wasm", import.meta.url));

function askForAll(object: ObjectFile): void {
  for (const section of object.sections) {
    const content = object.contentOf(section);
    if (section.compression === undefined) expect(content?.length ?? 0).toBeLessThanOrEqual(object.size);
    object.section(section.name);
  }
  const table = object.symbols();
  expect(table.length).toBeLessThanOrEqual(object.size);
  for (const { address } of table) table.find(address);
  for (const { address } of object.segments) object.bytesAt(address, 64);
  const { buildId, debugLink, debugAltLink, miniDebugInfo, externalDebugInfo, sourceMappingUrl } = object;
  expect([buildId, debugLink, debugAltLink, miniDebugInfo, externalDebugInfo, sourceMappingUrl]).toHaveLength(
    6,
  );
  for (const problem of object.problems) expect(problem).toBeInstanceOf(FormatError);
}

/** Opens a file and reads all of it; only a FormatError of the opening is allowed. */
function survive(bytes: Uint8Array): void {
  let object: ObjectFile;
  try {
    object = openObject(bytes, decompressors);
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    return;
  }
  askForAll(object);
}

describe("damaged objects", () => {
  it.each([
    ["ELF", elf],
    ["wasm", wasm.subarray(0, 2000)],
  ])("end in an answer or a FormatError, wherever they are cut (%s)", (_, file) => {
    for (let length = 0; length <= file.length; length++) survive(file.subarray(0, length));
  });

  it.each([
    ["ELF", elf],
    ["wasm", new Uint8Array(wasm)],
  ])("end in an answer or a FormatError, whatever bytes are changed (%s)", (_, file) => {
    const change = fc.tuple(
      fc.nat(file.length - 1),
      fc.oneof(fc.nat(255), fc.constantFrom(0, 0x7f, 0x80, 0xff)),
    );
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), (changes) => {
        const damaged = file.slice();
        for (const [at, value] of changes) damaged[at] = value;
        survive(damaged);
      }),
      { numRuns: 300 },
    );
  });

  it("that never were objects are refused with a reason", () => {
    expect(() => openObject(new Uint8Array(0))).toThrow("the file is empty");
    expect(() => openObject(new TextEncoder().encode("#!/bin/sh\n"))).toThrow("neither ELF nor wasm");
    const bigEndian = elf.slice();
    bigEndian[5] = 2;
    expect(() => openObject(bigEndian)).toThrow("only little-endian");
    expect(() => openObject(Uint8Array.of(0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0))).toThrow("components");
  });
});
