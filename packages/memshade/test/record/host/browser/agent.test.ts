import { readFileSync } from "node:fs";
import vm from "node:vm";
import { brotliDecompressSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { bundleAgent } from "../../../../scripts/bundle.ts";

describe("the agent's scripts", () => {
  let scripts: Record<"agent" | "reader", string>;
  beforeAll(async () => {
    await bundleAgent();
    const file = new URL("../../../../dist/browser-agent.br", import.meta.url);
    scripts = JSON.parse(brotliDecompressSync(readFileSync(file)).toString());
  });

  it("are small: every page and worker gets the first", () => {
    expect(scripts.agent.length).toBeLessThanOrEqual(53 * 1024);
  });

  it("ask for neither an address nor a shared memory, which crash workers that have not started, and need little to load", () => {
    const asked: string[] = [];
    const sent: string[] = [];
    const context = vm.createContext({
      console: { debug: () => {} },
      run: (text: string) => void sent.push(text),
      DedicatedWorkerGlobalScope: class {},
      addEventListener: () => {},
      get location() {
        return asked.push("location");
      },
      get SharedArrayBuffer() {
        return asked.push("SharedArrayBuffer");
      },
    });
    vm.runInContext(
      `{ const { Memory } = WebAssembly; WebAssembly.Memory = new Proxy(Memory, { construct(target, [options]) {
         if (options.shared) throw new Error("a shared memory"); return new target(options); } }); }`,
      context,
    );
    vm.runInContext(`{const memshadeSettings={token:"run",isWorker:true};${scripts.agent}}`, context);
    expect(sent).toEqual([expect.stringMatching(/^hello /)]);
    expect(asked).toEqual([]);
    expect(vm.runInContext("typeof run", context)).toBe("undefined");
    expect(vm.runInContext(`${scripts.reader};typeof memshadeReader.reader.usedParts`, context)).toBe(
      "function",
    );
  });
});
