import type { ObjectsProfile } from "../src/profile/model/objects.ts";

const field = (name: string, reads: number, writes: number) => ({
  name,
  type: "i32",
  bytes: 4,
  mutable: true,
  reads,
  writes,
  unread: reads === 0,
  unwritten: writes === 0,
});

/** Nodes, half of them in use, with a name that is never read, and texts whose content is never read. */
export function someObjects(): ObjectsProfile {
  const make = { function: 3, offset: 40, name: "make", file: "src/tree.kt", line: 7 };
  const main = { function: 1, offset: 9, name: "main" };
  return {
    schema: "memshade-objects",
    version: 1,
    memshade: "0.1.0",
    command: ["app.mjs"],
    program: "app",
    sizes: { engine: "V8", references: 4, structHeader: 8, arrayHeader: 12 },
    fields: true,
    contexts: true,
    sampleBytes: 1024,
    modules: [{ index: 0, name: "app.wasm", buildId: "00" }],
    parts: [
      {
        module: 0,
        instances: 1,
        types: [
          {
            index: 0,
            name: "Node",
            kind: "struct",
            objects: 1000,
            constant: 0,
            elements: 0,
            bytes: 16_000,
            fields: [field("value", 500, 2), field("debugName", 0, 0)],
          },
          {
            index: 1,
            name: "Text",
            kind: "array",
            objects: 10,
            constant: 0,
            elements: 1000,
            bytes: 4120,
            fields: [field("", 0, 0)].map(({ name: _, ...rest }) => rest),
          },
        ],
        sites: [
          {
            offset: 40,
            type: 0,
            instruction: "struct.new",
            objects: 1000,
            elements: 0,
            bytes: 16_000,
            frame: make,
          },
          { offset: 60, type: 1, instruction: "array.new", objects: 10, elements: 1000, bytes: 4120 },
        ],
        frames: [make, main, { function: 4, offset: 60 }],
        paths: { frame: [1, 0, 2], caller: [-1, 0, -1] },
        contexts: {
          site: [0, 1],
          path: [1, 2],
          objects: [1000, 10],
          elements: [0, 1000],
          bytes: [16_000, 4120],
        },
        samples: {
          site: [0, 0],
          size: [16, 16],
          weight: [500, 500],
          birth: [1000, 9000],
          death: [5000, -1],
          unknown: [false, false],
          context: [0, 0],
          host: [-1, -1],
          now: [20_000, 20_000],
          settled: true,
        },
      },
    ],
    notTracked: ["app.wasm: one thing was not seen."],
  };
}
