import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { canonicalName } from "../../../../src/profile/formats/memprof/guid.ts";
import { blake3Of64Bits, callStackId, frameIds } from "../../../../src/profile/formats/memprof/ids.ts";
import { functionGuid } from "../../../../src/profile/formats/memprof/index.ts";
import { buildCallStackArray } from "../../../../src/profile/formats/memprof-indexed/call-stack-array.ts";
import { classifyAllocation } from "../../../../src/profile/model/memprof/hot-cold.ts";
import { framesOf } from "../../../../src/profile/model/memprof/index.ts";
import { StackTree } from "../../../../src/profile/model/memprof/stack-tree.ts";
import { sharedPath } from "../../../shared-path.ts";

const shared = sharedPath("fixtures/memprof/vectors.json");
// biome-ignore lint/suspicious/noExplicitAny: the vectors have no types of their own
const vectors: any = shared === undefined ? undefined : JSON.parse(readFileSync(shared, "utf8"));

describe.skipIf(vectors === undefined)("the vectors of hashes and orders", () => {
  it("hold for BLAKE3", () => {
    for (const { inputHex, le64 } of vectors.blake3_64)
      expect(blake3Of64Bits(Buffer.from(inputHex, "hex"))).toBe(BigInt(le64));
  });

  it("hold for names and GUIDs of functions", () => {
    for (const { name, canonical, guid } of vectors.guid) {
      expect(canonicalName(name)).toBe(canonical);
      expect(functionGuid(name)).toBe(BigInt(guid));
    }
  });

  it("hold for ids of frames", () => {
    for (const vector of vectors.frameId) {
      const { lineOffset, column, inline } = vector;
      const guid = BigInt(vector.function);
      expect(frameIds(framesOf([{ guid, lineOffset, column, inline }], false))[0]).toBe(
        BigInt(vector.frameId),
      );
    }
  });

  it("hold for ids of call stacks, also very deep ones", () => {
    for (const vector of vectors.callStackId)
      expect(callStackId(vector.frameIds.map(BigInt))).toBe(BigInt(vector.callStackId));
  });

  it("hold for the rule of cold allocations", () => {
    for (const { allocCount, totalLifetime, totalLifetimeAccessDensity, type } of vectors.coldRule)
      expect(classifyAllocation(allocCount, BigInt(totalLifetime), BigInt(totalLifetimeAccessDensity))).toBe(
        type,
      );
  });

  it("hold for the order of frames and call stacks", () => {
    const { stacks, frameOrder, array, positions } = vectors.radix;
    const tree = new StackTree();
    const numbers = Object.entries<number[]>(stacks).map(([name, frames]) => {
      return [name, frames.toReversed().reduce((stack, frame) => tree.child(stack, frame), 0)] as const;
    });
    const isUsed = new Uint8Array(tree.length);
    for (const [, stack] of numbers) isUsed[stack] = 1;
    const ids = BigUint64Array.from({ length: 10 }, (_, frame) => BigInt(frame));
    const built = buildCallStackArray(tree.view(), isUsed, ids);
    expect([...built.frames]).toEqual(frameOrder);
    expect([...built.elements]).toEqual(array);
    for (const [name, stack] of numbers) expect(built.positions[stack]).toBe(positions[name]);
  });
});
