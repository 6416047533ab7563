import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeModule } from "../../../src/code/wasm/index.ts";
import { AppendedFunctions } from "../../../src/record/rewrite/write/appended-functions.ts";
import { FunctionWriter } from "../../../src/record/rewrite/write/function-writer.ts";
import { Insertions } from "../../../src/record/rewrite/write/insertions.ts";

const EMPTY = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

it("functions that are written late stand where their numbers say, and marks stay with their code", () => {
  const kind = fc.record({ isLate: fc.boolean(), size: fc.integer({ min: 2, max: 200 }) });
  fc.assert(
    fc.property(fc.array(kind, { maxLength: 30 }), (kinds) => {
      const module = decodeModule(EMPTY);
      const appended = new AppendedFunctions(module);
      const writer = new FunctionWriter(EMPTY, new Insertions(), { memory64: false, capacity: 10 });
      const written: number[] = [];
      kinds.forEach(({ isLate, size }, index) => {
        const body = () => {
          written.push(index);
          return new Uint8Array(size).fill(index);
        };
        if (isLate) appended.addLate(0, body);
        else
          appended.addWritten(0, (to) => {
            to.writeBody(body());
            to.marks.push(to.length - 1, to.length);
            to.markPositions.push(index, -1);
            to.rare.push(to.length - 1);
          });
      });
      appended.writeBodies(writer);
      const isLateAt = (index: number) => kinds[index].isLate;
      const indices = [...kinds.keys()];
      expect(written).toEqual([...indices.filter((index) => !isLateAt(index)), ...indices.filter(isLateAt)]);
      const marks = new Map(writer.marks.map((offset, i) => [offset, writer.markPositions[i]]));
      const expected: number[] = [];
      const ends: number[] = [];
      kinds.forEach(({ isLate, size }, index) => {
        expected.push(
          ...(size < 128 ? [size] : [(size & 127) | 128, size >>> 7]),
          ...Array(size).fill(index),
        );
        if (isLate) return;
        ends.push(expected.length);
        expect(marks.get(5 + expected.length - 1)).toBe(index);
        expect(marks.get(5 + expected.length)).toBe(-1);
      });
      expect([...writer.bodies]).toEqual(expected);
      expect(writer.rare).toEqual(ends.map((end) => 5 + end - 1));
      expect(writer.marks).toEqual(ends.flatMap((end) => [5 + end - 1, 5 + end]));
    }),
  );
});
