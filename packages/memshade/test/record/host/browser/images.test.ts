import { expect, it } from "vitest";
import type { AgentMessage } from "../../../../src/record/host/browser/messages.ts";
import { Images } from "../../../../src/record/host/browser/module-service.ts";
import type { ShadowMemories } from "../../../../src/record/host/instance/host-calls.ts";
import type { Recorder } from "../../../../src/record/host/run/recorder.ts";

const CONTEXT = 1;
const INSTANCE: AgentMessage & { kind: "instance" } = {
  kind: "instance",
  id: 1,
  path: null,
  place: undefined,
  info: { name: "some.wasm" } as never,
  memories: { heap: 65536 },
};

function follow(): { images: Images; tables: Uint8Array } {
  let tables!: Uint8Array;
  const recorder = {
    addInstance(memories: ShadowMemories) {
      tables = new Uint8Array(memories.heap!.buffer);
      return {};
    },
    setReach() {},
    releaseInstance() {},
  } as unknown as Recorder;
  const images = new Images(recorder, () => undefined);
  images.add(CONTEXT, INSTANCE);
  return { images, tables };
}

const begin = { kind: "begin", id: 1, memory: "heap", from: 0, to: 65536 } as const;
const done = { kind: "done", id: 1, memory: "heap" } as const;
const data = (at: number) => ({ kind: "data", id: 1, memory: "heap", runs: [at, 4] }) as const;

it("what a context had sent stays whole when it ends in the middle of sending again", () => {
  const { images, tables } = follow();
  images.begin(CONTEXT, begin);
  images.write(CONTEXT, data(0), Uint8Array.of(1, 2, 3, 4));
  images.finish(CONTEXT, done);
  images.begin(CONTEXT, begin);
  images.write(CONTEXT, data(8), Uint8Array.of(5, 6, 7, 8));
  expect(images.releaseAll(CONTEXT)).toEqual([{ name: "some.wasm", isRead: true, isComing: true }]);
  expect([...tables.subarray(0, 12)]).toEqual([1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
});

it("what is sent again stands in place of what was there", () => {
  const { images, tables } = follow();
  for (const at of [0, 8]) {
    images.begin(CONTEXT, begin);
    images.write(CONTEXT, data(at), Uint8Array.of(1, 2, 3, 4));
    images.finish(CONTEXT, done);
  }
  expect([...tables.subarray(0, 12)]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
  expect(images.releaseAll(CONTEXT)).toEqual([{ name: "some.wasm", isRead: true, isComing: false }]);
});

it("an instance of which only a half has come is lost", () => {
  const { images } = follow();
  images.begin(CONTEXT, begin);
  images.write(CONTEXT, data(0), Uint8Array.of(1, 2, 3, 4));
  expect(images.releaseAll(CONTEXT)).toEqual([{ name: "some.wasm", isRead: false, isComing: true }]);
});
