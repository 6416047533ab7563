import { describe, expect, it } from "vitest";
import { decodeModule } from "../../../src/code/wasm/index.ts";
import type { FormatError, FormatErrorKind } from "../../../src/ground/bytes/errors.ts";
import { ByteWriter } from "../../../src/ground/bytes/writer.ts";
import { iterateOperators } from "./reference/operators.ts";

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

function moduleOf(...sections: [id: number, ...payload: number[]][]): Uint8Array {
  const writer = new ByteWriter().bytes(HEADER);
  for (const [id, ...payload] of sections) writer.u8(id).vector(Uint8Array.from(payload));
  return writer.finish();
}

function functionOf(...code: number[]): Uint8Array {
  return moduleOf([1, 1, 0x60, 0, 0], [3, 1, 0], [10, 1, code.length + 1, 0, ...code]);
}

function errorOf(run: () => unknown): Pick<FormatError, "kind" | "offset" | "construct" | "message"> {
  try {
    run();
  } catch (error) {
    const { kind, offset, construct, message } = error as FormatError;
    return { kind, offset, construct, message };
  }
  throw new Error("no error was thrown");
}

describe("decodeModule on what is not a module", () => {
  const text = (content: string) => new TextEncoder().encode(content);
  it.each<[what: string, bytes: Uint8Array, kind: FormatErrorKind, sentence: RegExp]>([
    ["nothing", new Uint8Array(), "truncated", /empty/],
    ["half a header", Uint8Array.from(HEADER.slice(0, 6)), "truncated", /inside the header/],
    ["half a magic", Uint8Array.from(HEADER.slice(0, 2)), "truncated", /inside the header/],
    ["an ELF file", text("\x7fELF"), "bad-magic", /does not begin with/],
    ["the text format", text("(module (func))"), "bad-magic", /text format/],
    [
      "a component",
      Uint8Array.of(0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0),
      "unsupported",
      /components are not supported/,
    ],
    [
      "a later version",
      Uint8Array.of(0, 0x61, 0x73, 0x6d, 2, 0, 0, 0),
      "unsupported-version",
      /version 2 .*only version 1/,
    ],
    [
      "an old version",
      Uint8Array.of(0, 0x61, 0x73, 0x6d, 0x0d, 0, 0, 0),
      "unsupported-version",
      /version 13/,
    ],
  ])("%s", (_, bytes, kind, sentence) => {
    const error = errorOf(() => decodeModule(bytes));
    expect(error.kind).toBe(kind);
    expect(error.message).toMatch(sentence);
  });
});

describe("decodeModule on broken modules", () => {
  it.each<[what: string, bytes: Uint8Array, kind: FormatErrorKind, construct: string, sentence: RegExp]>([
    ["an unknown section", moduleOf([14, 0]), "malformed", "unknown (id 14) section", /no such section/],
    ["sections out of order", moduleOf([3, 0], [1, 0]), "malformed", "type section", /out of order/],
    ["a section twice", moduleOf([1, 0], [1, 0]), "malformed", "type section", /twice/],
    ["a tag section after globals", moduleOf([6, 0], [13, 0]), "malformed", "tag section", /out of order/],
    ["bytes behind the last entry", moduleOf([1, 0, 0]), "malformed", "type section", /1 bytes are left/],
    ["a section that is cut off", moduleOf([1, 0]).slice(0, -1), "truncated", "type section", /are needed/],
    ["a count that cannot be", moduleOf([1, 0xff, 0xff, 3]), "truncated", "type section", /65535 entries/],
    ["an entry across the end", moduleOf([1, 1, 0x60, 0]), "truncated", "LEB128 integer", /ends inside/],
    ["an unknown type form", moduleOf([1, 1, 0x40, 0, 0]), "malformed", "type", /form 0x40/],
    ["an unknown value type", moduleOf([1, 1, 0x60, 1, 0x10, 0]), "malformed", "value type", /0x10/],
    ["an unknown external kind", moduleOf([2, 1, 0, 0, 9, 0]), "malformed", "external kind", /no kind 9/],
    [
      "a name that is not UTF-8",
      moduleOf([2, 1, 1, 0xff, 0, 0, 0]),
      "malformed",
      "import module name",
      /UTF-8/,
    ],
    ["a custom section without a name", moduleOf([0]), "truncated", "LEB128 integer", /ends inside/],
    ["unknown limits", moduleOf([5, 1, 0x10, 0]), "malformed", "memory limits", /flags 0x10/],
    [
      "mutability 2",
      moduleOf([6, 1, 0x7f, 2, 0x41, 0, 0x0b]),
      "malformed",
      "global mutability",
      /2, not 0 or 1/,
    ],
    ["an endless constant", moduleOf([6, 1, 0x7f, 0, 0x41, 0]), "truncated", "constant expression", /no end/],
    [
      "a block in a constant",
      moduleOf([6, 1, 0x7f, 0, 2, 0x40, 0xb]),
      "malformed",
      "constant expression",
      /block/,
    ],
    ["a table of numbers", moduleOf([4, 1, 0x7f, 0, 0]), "malformed", "reference type", /numeric/],
    ["element kind 8", moduleOf([9, 1, 8, 0]), "malformed", "element segment", /no kind 8/],
    ["data kind 3", moduleOf([11, 1, 3, 0]), "malformed", "data segment", /no kind 3/],
    [
      "a function without body",
      moduleOf([1, 1, 0x60, 0, 0], [3, 1, 0]),
      "malformed",
      "code section",
      /1 functions .* 0 have/,
    ],
    [
      "segments uncounted",
      moduleOf([12, 2], [11, 1, 1, 0]),
      "malformed",
      "data section",
      /2 segments .* 1 follow/,
    ],
    ["a body that does not end", functionOf(0x01), "malformed", "function body", /`end`/],
    [
      "a body of locals only",
      moduleOf([1, 1, 0x60, 0, 0], [3, 1, 0], [10, 1, 2, 0x0b, 0x0b]),
      "truncated",
      "locals",
      /11 entries/,
    ],
    [
      "more locals than an index can name",
      moduleOf(
        [1, 1, 0x60, 0, 0],
        [3, 1, 0],
        [10, 1, 14, 2, 0xff, 0xff, 0xff, 0xff, 0xf, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xf, 0x7f, 0x0b],
      ),
      "malformed",
      "locals",
      /too many/,
    ],
  ])("%s", (_, bytes, kind, construct, sentence) => {
    const error = errorOf(() => decodeModule(bytes));
    expect(error).toMatchObject({ kind, construct });
    expect(error.message).toMatch(sentence);
  });

  it("names the offset where the broken construct starts", () => {
    expect(errorOf(() => decodeModule(moduleOf([1, 0], [1, 0]))).offset).toBe(11);
    expect(errorOf(() => decodeModule(moduleOf([1, 1, 0x60, 1, 0x10, 0]))).offset).toBe(13);
  });
});

describe("an instruction that is not in the table", () => {
  it.each<[opcode: string, code: number[], feature: RegExp]>([
    ["0xfb 0x20", [0xfb, 0x20], /custom descriptors/],
    ["0xfb 0x82", [0xfb, 0x82, 0x01], /stringref/],
    ["0xfc 0x12", [0xfc, 0x12], /memory control/],
    ["0xfc 0x40", [0xfc, 0x40], /wide arithmetic/],
    ["0xfd 0x9a", [0xfd, 0x9a, 0x01], /SIMD/],
    ["0xfd 0x130", [0xfd, 0xb0, 0x02], /half-precision/],
    ["0xfd 0x300", [0xfd, 0x80, 0x06], /half-precision/],
    ["0xfe 0x50", [0xfe, 0x50], /shared-everything threads/],
    ["0xfe 0x180", [0xfe, 0x80, 0x03], /shared-everything threads/],
    ["0x16", [0x16], /multi-byte array access/],
    ["0xe3", [0xe3], /stack switching/],
    ["0x27", [0x27], /not supported$/],
  ])("%s is refused with its likely origin", (opcode, code, feature) => {
    const module = decodeModule(functionOf(0x01, ...code, 0x0b));
    const error = errorOf(() => [...iterateOperators(module, module.bodies[0])]);
    expect(error).toMatchObject({ kind: "unknown-opcode", offset: module.bodies[0].codeStart + 1 });
    expect(error.message).toContain(`opcode ${opcode} is not supported`);
    expect(error.message).toMatch(feature);
  });

  it("is refused in a constant expression when the module is decoded", () => {
    expect(errorOf(() => decodeModule(moduleOf([6, 1, 0x7f, 0, 0xe0, 0x0b]))).kind).toBe("unknown-opcode");
  });
});

describe("broken immediates", () => {
  it.each<[what: string, code: number[], kind: FormatErrorKind, construct: string]>([
    ["a constant across the body's end", [0x43, 0, 0, 0x0b], "truncated", "constant"],
    ["an integer that swallows the end", [0x41, 0x80, 0x0b], "malformed", "function body"],
    ["a fence's memory order", [0xfe, 0x03, 0x01, 0x0b], "unsupported", "reserved byte"],
    ["an access's memory order", [0x41, 0, 0xfe, 0x10, 0x22, 1, 0, 0x0b], "unsupported", "memarg"],
    ["an alignment", [0x41, 0, 0x28, 0x80, 0x01, 0, 0x0b], "malformed", "memarg"],
    ["a block type", [0x02, 0x41, 0x0b, 0x0b], "malformed", "value type"],
    ["a heap type", [0xd0, 0x40, 0x0b], "malformed", "heap type"],
    ["a catch clause", [0x1f, 0x40, 1, 4, 0, 0x0b, 0x0b], "malformed", "catch clause"],
    ["cast flags", [0xfb, 0x18, 4, 0, 0x6e, 0x6e, 0x0b], "malformed", "cast flags"],
    ["a branch table's length", [0x0e, 0xff, 0x7f, 0, 0x0b], "truncated", "labels"],
  ])("%s", (_, code, kind, construct) => {
    const module = decodeModule(functionOf(...code));
    const error = errorOf(() => [...iterateOperators(module, module.bodies[0])]);
    expect(error).toMatchObject({ kind, construct });
  });
});
