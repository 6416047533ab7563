import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseInputLine, Symbolization } from "../../../src/cli/symbolize/symbolization.ts";
import { loadObject } from "../../../src/names/load/objects.ts";
import { newFolder } from "../support/command-line.ts";

const folder = newFolder();
const fixture = (name: string) =>
  fileURLToPath(new URL(`../../fixtures/programs/debug/${name}.wasm`, import.meta.url));

function symbolizationOf(binary: string): Symbolization {
  return new Symbolization({
    binary,
    adjustment: 0,
    fileOffsets: false,
    symbolizer: { starts: false },
    output: {
      style: "LLVM",
      printFunctions: true,
      printAddress: false,
      pretty: true,
      verbose: false,
      contextLines: 0,
    },
  });
}

function sectionsOf(bytes: Uint8Array): { isDebug: boolean; bytes: Uint8Array }[] {
  const sections: { isDebug: boolean; bytes: Uint8Array }[] = [];
  for (let at = 8; at < bytes.length; ) {
    let [size, shift, body] = [0, 0, at + 1];
    do {
      size |= (bytes[body]! & 0x7f) << shift;
      shift += 7;
    } while (bytes[body++]! >= 0x80);
    const text = Buffer.from(bytes.subarray(body, body + 20)).toString("latin1");
    sections.push({
      isDebug: bytes[at] === 0 && text.includes(".debug_"),
      bytes: bytes.subarray(at, body + size),
    });
    at = body + size;
  }
  return sections;
}

describe("debug information that was made for other code", () => {
  it("is told once, and nothing is told of a module with its own", () => {
    const [code, debug] = ["blocks", "lines"].map((name) => new Uint8Array(readFileSync(fixture(name))));
    const mixed = path.join(folder, "mixed.wasm");
    writeFileSync(
      mixed,
      Buffer.concat([
        code!.subarray(0, 8),
        ...sectionsOf(code!).flatMap(({ isDebug, bytes }) => (isDebug ? [] : [bytes])),
        ...sectionsOf(debug!).flatMap(({ isDebug, bytes }) => (isDebug ? [bytes] : [])),
      ]),
    );
    const complaints = (file: string) => {
      const symbolization = symbolizationOf(file);
      for (let address = 0; address < 4000; address++) symbolization.answer(`0x${address.toString(16)}`);
      return symbolization.complaints();
    };
    expect(complaints(mixed)).toEqual([
      expect.stringMatching(/mixed\.wasm: The debug information does not match the code/),
    ]);
    expect(complaints(fixture("lines"))).toEqual([]);
  });
});

describe("a stack trace of an engine as input", () => {
  const file = fixture("lines");
  const { codeOffset } = loadObject(file).object;
  const inFile = `0x${(codeOffset! + 0x40).toString(16)}`;
  const symbolization = symbolizationOf(file);
  const expected = symbolization.answer("0x40");

  it.each([
    ["V8", `    at app.wasm.parse (wasm://wasm/app.wasm-0008:wasm-function[5]:${inFile})`],
    ["V8, without a name", `    at wasm://wasm/0008:wasm-function[5]:${inFile}`],
    ["V8, a name with blanks", `    at of(int, int) (wasm://wasm/0008:wasm-function[5]:${inFile})`],
    ["SpiderMonkey", `parse@http://localhost/app.wasm:wasm-function[5]:${inFile}`],
    ["wasmtime", `           1: ${inFile.padStart(8)} - app.wasm!parse`],
    ["Wasmer", `    at parse (app[5]:${inFile})`],
  ])("has offsets in the file: %s", (_engine, line) => {
    expect(expected).not.toMatch(/^\?\?/);
    expect(symbolization.answer(line)).toBe(expected);
  });

  it("is read where the file is known alone, and other lines stay what they are", () => {
    expect(parseInputLine("0x40", true)).not.toHaveProperty("inFile");
    expect(parseInputLine("at main (file:///app.mjs:3:9)", true)).not.toHaveProperty("inFile");
    expect(parseInputLine(`a.wasm ${inFile}`, false)).not.toHaveProperty("inFile");
  });
});
