import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { answer, openReply, waitForReply } from "../../../../../src/record/host/node/recording/sync-reply.ts";

it("an answer reaches a thread that is blocked", async () => {
  const reply = openReply();
  const worker = new Worker(
    `const { workerData } = require("node:worker_threads");
     const header = new Int32Array(workerData, 0, 2);
     new Uint8Array(workerData, 8).set([104, 105]); header[1] = 2;
     setTimeout(() => { Atomics.store(header, 0, 1); Atomics.notify(header, 0); }, 50);`,
    { eval: true, workerData: reply },
  );
  expect(waitForReply(reply, () => true)).toEqual({ ok: true, text: "hi" });
  await worker.terminate();
});

it("answers keep their text, up to a bound", () => {
  const short = openReply();
  answer(short, { ok: false, text: "größer als gedacht" });
  expect(waitForReply(short, () => true)).toEqual({ ok: false, text: "größer als gedacht" });
  const long = openReply();
  answer(long, { ok: true, text: "x".repeat(10_000) });
  expect(waitForReply(long, () => true)?.text).toHaveLength(4096);
});

it("nobody waits for a thread that is gone", () => {
  expect(waitForReply(openReply(), () => false)).toBeUndefined();
});
