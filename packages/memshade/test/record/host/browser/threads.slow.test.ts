import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { browse, isInstalled } from "./support/browse.ts";

const MAILBOX = new URL("../../../fixtures/programs/threads/mailbox.wasm", import.meta.url);

/** `join` makes an instance for a thread, with a stack of its own. */
const JOIN = `
const join = (module, memory, number) => {
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  exports.__stack_pointer.value = 1048576 - 65536 * number;
  return exports;
};`;

/** Starts two threads besides its own that exchange blocks, and reports the program's own counts. */
const MAIN = `${JOIN}
const exchange = async (module) => {
  const memory = new WebAssembly.Memory({ initial: 17, maximum: 1024, shared: true });
  const wasm = join(module, memory, 0);
  const others = [1, 2].map((number) => new Promise((done) => {
    const worker = new Worker("/worker.js");
    worker.onmessage = done;
    worker.postMessage({ module, memory, number });
  }));
  wasm.exchange(3000, 99);
  await Promise.all(others);
  const [allocations, frees, reallocations] = [0, 1, 2].map((what) => wasm.count_of(what));
  return JSON.stringify({ allocations: allocations + reallocations, frees: frees + reallocations, liveBlocks: wasm.live() });
};`;

const SITE = {
  "/mailbox.wasm": new Uint8Array(readFileSync(MAILBOX)),
  "/worker.js": `${JOIN}
    onmessage = ({ data: { module, memory, number } }) => {
      join(module, memory, number).exchange(3000, number);
      postMessage("done");
    };`,
  "/main.js": `${MAIN}
    onmessage = async () => postMessage(await exchange(await WebAssembly.compileStreaming(fetch("/mailbox.wasm"))));`,
};
const TELL = `const tell = (body) => fetch("/told", { method: "POST", body });`;

describe.skipIf(!isInstalled)("threads of a page that share a memory", () => {
  it.each([
    [
      "the page's own among them, which must not stand still",
      `${MAIN} WebAssembly.compileStreaming(fetch("/mailbox.wasm")).then(exchange).then(tell);`,
    ],
    [
      "started by a worker",
      `const worker = new Worker("/main.js"); worker.onmessage = ({ data }) => tell(data); worker.postMessage("go");`,
    ],
  ])("free each other's blocks: the counts are the program's own, %s", async (_how, script) => {
    const page = `<!doctype html><script>${TELL}${script}</script>`;
    const { told, run, stderr } = await browse({ ...SITE, "/": page }, { isolated: true });
    const counted = JSON.parse(told);
    expect(counted.allocations).toBeGreaterThan(9000);
    expect(run?.heap, stderr).toMatchObject(counted);
    expect(run?.modules).toMatchObject([{ instances: 3, allocator: { confirmed: true } }]);
    expect(run?.notTracked).toEqual([]);
  });
});
