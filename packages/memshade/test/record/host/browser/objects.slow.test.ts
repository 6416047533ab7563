import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { survivalBy } from "../../../../src/explain/analyses/objects.ts";
import { type ObjectsProfile, readObjects } from "../../../../src/profile/model/objects.ts";
import { browse, isInstalled } from "./support/browse.ts";

const MODULE = new Uint8Array(
  readFileSync(new URL("../../../fixtures/programs/objects/kotlin.wasm", import.meta.url)),
);
const ARGS = ["--tool", "objects", "--sample-bytes", "1024"];
const POINTS = 20_000;
/** A point has 36 bytes. The program keeps one in eight. */
const KEPT_BYTES = (POINTS / 8) * 36;

const RUN = `async function run() {
  const { instance } = await WebAssembly.instantiateStreaming(fetch("/kotlin.wasm"));
  globalThis.kept = instance;
  return instance.exports.run(${POINTS});
}`;

/** Pages: the page also runs the program in a worker, or navigates to another page. */
function siteOf(page: string) {
  return {
    "/": `<!doctype html><script>${RUN}\n${page}</script>`,
    "/worker.js": `${RUN}\nrun().then((result) => postMessage(result));`,
    "/next/": `<!doctype html><script>fetch("/told", { method: "POST", body: "left" });</script>`,
    "/kotlin.wasm": MODULE,
  };
}

const TELL = `(body) => fetch("/told", { method: "POST", body })`;
const IN_BOTH = siteOf(`
const worker = new Worker("/worker.js");
const answered = new Promise((done) => { worker.onmessage = ({ data }) => done(data); });
run().then(async (result) => JSON.stringify([result, await answered])).then(${TELL});`);
const LEFT = siteOf(`run().then(() => location.assign("/next/"));`);

function objectsOf(folder: string): ObjectsProfile {
  return readObjects(readFileSync(join(folder, "objects.json"), "utf8"));
}

describe.skipIf(!isInstalled)("objects of a web page and of its workers", () => {
  it("are in use if they are there when the browser has collected garbage", async () => {
    const { folder, told } = await browse(IN_BOTH, { args: ARGS });
    const [inPage, inWorker] = JSON.parse(told) as [number, number];
    expect(inPage).toBe(inWorker);
    const { parts, notTracked } = objectsOf(folder);
    const [part] = parts;
    expect(part!.instances).toBe(2);
    expect(part!.samples.settled).toBe(true);
    expect(notTracked.join()).not.toContain("garbage");
    const point = part!.types.find(({ name }) => name === "Point")!;
    expect(point.objects).toBe(2 * POINTS);
    const live = survivalBy(part!, (sample) => part!.sites[part!.samples.site[sample]!]!.type).get(
      point.index,
    )!;
    expect(Math.abs(live.bytes - 2 * KEPT_BYTES)).toBeLessThan(4 * live.error);
  });

  it("count as in use at most where the page has gone to another one before", async () => {
    const { folder } = await browse(LEFT, { args: ARGS });
    const { parts, notTracked } = objectsOf(folder);
    expect(parts[0]!.samples.settled).toBe(false);
    expect(notTracked.join()).toContain("The engine did not collect all garbage");
  });
});
