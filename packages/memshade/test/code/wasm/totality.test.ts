import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  buildId,
  decodeLocals,
  decodeModule,
  functionName,
  IMMEDIATE_KIND,
  opcodeIdAt,
  readNames,
  skipImmediates,
  skipOpcode,
} from "../../../src/code/wasm/index.ts";
import { FormatError } from "../../../src/ground/bytes/errors.ts";
import { iterateOperators } from "./reference/operators.ts";
import { reencodeModule } from "./reference/reencode.ts";
import { assemble, installedModules, KITCHEN_SINK } from "./support.ts";

/** Time limit: these tests do much, and do not measure speed. */

const sink = assemble(KITCHEN_SINK, { names: true });
const zstd = installedModules()
  .find(({ name }) => name.startsWith("@bokuweb"))
  ?.read() as Uint8Array;

/** Runs `use`; false after a `FormatError`. Any other error fails the test. */
function survives(use: () => void): boolean {
  try {
    use();
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    return false;
  }
}

/** Uses a module in every way. Each step may fail on its own. */
function useEverything(bytes: Uint8Array): void {
  survives(() => {
    const module = decodeModule(bytes);
    const names = readNames(module);
    buildId(module);
    reencodeModule(module);
    module.bodies.forEach((body, index) => {
      const functionIndex = module.importedFunctionCount + index;
      functionName(module, names, functionIndex);
      survives(() => decodeLocals(module, body));
      const decoded = survives(() => [...iterateOperators(module, body)]);
      const skipped = survives(() => {
        let position = body.codeStart;
        while (position < body.end) {
          const id = opcodeIdAt(bytes, position);
          position = skipImmediates(bytes, skipOpcode(bytes, position), IMMEDIATE_KIND[id]);
        }
      });
      // Skipping may accept more than decoding, never less.
      expect(skipped || !decoded).toBe(true);
    });
  });
}

const edit = fc.record({
  at: fc.nat(1 << 20),
  kind: fc.constantFrom("set", "insert", "remove", "fill"),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 6 }),
});

function applyEdits(
  original: Uint8Array,
  edits: { at: number; kind: string; bytes: Uint8Array }[],
): Uint8Array {
  let bytes = Array.from(original);
  for (const { at, kind, bytes: content } of edits) {
    const place = at % (bytes.length + 1);
    if (kind === "set") bytes[Math.min(place, bytes.length - 1)] = content[0];
    else if (kind === "insert") bytes.splice(place, 0, ...content);
    else if (kind === "remove") bytes.splice(place, content.length);
    else
      bytes = [...bytes.slice(0, place), ...content.map(() => 0xff), ...bytes.slice(place + content.length)];
    if (bytes.length === 0) return new Uint8Array();
  }
  return Uint8Array.from(bytes);
}

describe("any bytes", () => {
  it("are decoded or refused with a FormatError", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), useEverything));
  });

  it("behind a good header are decoded or refused with a FormatError", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(14), fc.uint8Array({ maxLength: 60 })), { maxLength: 6 }),
        (parts) => {
          const sections = parts
            .sort(([a], [b]) => a - b)
            .flatMap(([id, payload]) => [id, payload.length, ...payload]);
          useEverything(Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...sections]));
        },
      ),
      { numRuns: 1000 },
    );
  });

  it("of code can be walked or are refused with a FormatError", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (code) => {
        const size = code.length + 2;
        const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0];
        useEverything(Uint8Array.from([...header, 10, size + 2, 1, size, 0, ...code, 0x0b]));
      }),
      { numRuns: 2000 },
    );
  });
});

describe("a module with one of everything", () => {
  it("is refused with a FormatError when cut off anywhere but between its sections", () => {
    const boundaries = new Set(decodeModule(sink).sections.map(({ start }) => start));
    for (let length = 0; length < sink.length; length++) {
      const cut = sink.slice(0, length);
      const whole = survives(() => decodeModule(cut));
      if (whole) expect(boundaries.has(length)).toBe(true);
    }
  });

  it("stays harmless when any single byte is changed", () => {
    for (let at = 0; at < sink.length; at++)
      for (const value of [0x00, 0x80, 0xff, sink[at] ^ 1]) {
        const changed = sink.slice();
        changed[at] = value;
        useEverything(changed);
      }
  });

  it("stays harmless when edited at random", () => {
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 5 }), (edits) => {
        useEverything(applyEdits(sink, edits));
      }),
      { numRuns: 1000 },
    );
  });
});

describe("a real program", () => {
  it("stays harmless when cut off or overwritten", () => {
    fc.assert(
      fc.property(
        fc.nat(zstd.length),
        fc.uint8Array({ minLength: 1, maxLength: 8 }),
        fc.boolean(),
        (at, content, cut) => {
          const changed = cut ? zstd.slice(0, at) : zstd.slice();
          if (!cut) changed.set(content.subarray(0, zstd.length - at), at);
        },
      ),
      { numRuns: 60 },
    );
  });
});
