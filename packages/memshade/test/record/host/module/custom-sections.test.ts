import fc from "fast-check";
import { expect, it } from "vitest";
import { customSectionsOf } from "../../../../src/record/host/module/custom-sections.ts";

const u32 = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...u32(value >>> 7)]);
const text = (value: string): number[] => {
  const bytes = new TextEncoder().encode(value);
  return [...u32(bytes.length), ...bytes];
};
const section = (name: string, contents: Uint8Array): number[] => {
  const payload = [...text(name), ...contents];
  return [0, ...u32(payload.length), ...payload];
};

it("custom sections are found as the engine finds them", () => {
  const entry = fc.tuple(fc.constantFrom("a", "name", "größe", ""), fc.uint8Array({ maxLength: 200 }));
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 5 }), (entries) => {
      const bytes = Uint8Array.from([
        0,
        0x61,
        0x73,
        0x6d,
        1,
        0,
        0,
        0,
        ...entries.flatMap(([name, contents]) => section(name, contents)),
      ]);
      const module = new WebAssembly.Module(bytes);
      for (const name of ["a", "name", "größe", "", "other"]) {
        const sections = WebAssembly.Module.customSections(module, name);
        expect(customSectionsOf(bytes, name)).toEqual(sections);
        // Slices of a Buffer are views of it.
        expect(customSectionsOf(Buffer.from(bytes), name)).toEqual(sections);
      }
    }),
  );
});
