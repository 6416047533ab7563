import { expect, it } from "vitest";
import { placeTables } from "../../../src/explain/diff/place-diff.ts";
import { someObjects } from "../../objects-picture.ts";

it("adds up exact counts of callers that share them before it makes whole numbers of them", () => {
  const profile = someObjects();
  const part = profile.parts[0]!;
  const entered = ["a", "b", "c"].map((name, index) => ({ function: 10 + index, offset: -1, name }));
  const frame = part.frames.length;
  const path = part.paths.frame.length;
  const shared = {
    ...part,
    frames: [...part.frames, ...entered],
    paths: {
      frame: [...part.paths.frame, frame, frame + 1, frame + 2],
      caller: [...part.paths.caller, -1, -1, -1],
    },
    samples: {
      site: [0, 0, 0],
      size: [16, 16, 16],
      weight: [300, 300, 300],
      birth: [1, 2, 3],
      death: [-1, -1, -1],
      unknown: [false, false, false],
      context: [0, 0, 0],
      host: [path, path + 1, path + 2],
      now: [9, 9, 9],
      settled: true,
    },
  };
  const objects = { ...profile, parts: [shared] };
  const [table] = placeTables("objects", [{ objects }], "function");
  const column = table!.measures.findIndex(({ id }) => id === "objects");
  expect(table!.places.find(({ path: [own] }) => own!.function === "make")!.values[column]).toBe(1000);
});
