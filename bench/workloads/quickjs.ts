import { Digest, packageFile, require, runAsScript, type Workload } from "./workload.ts";

const PROGRAM = `
function Vector(x, y) { this.x = x; this.y = y; }
Vector.prototype.plus = function (other) { return new Vector(this.x + other.x, this.y + other.y); };
function primes(limit) {
  const sieve = new Uint8Array(limit), found = [];
  for (let n = 2; n < limit; n++) {
    if (sieve[n]) continue;
    found.push(n);
    for (let m = n * n; m < limit; m += n) sieve[m] = 1;
  }
  return found.length;
}
function vectors(count) {
  let sum = new Vector(0, 0);
  for (let i = 0; i < count; i++) sum = sum.plus(new Vector(i % 7, i % 11));
  return [sum.x, sum.y];
}
function words(count) {
  const counts = new Map();
  for (let i = 0; i < count; i++) {
    const word = "w" + (i * i) % 97;
    counts.set(word, (counts.get(word) || 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 5);
}
function text(count) {
  const parts = [];
  for (let i = 0; i < count; i++) parts.push({ id: i, name: "item " + i, tags: ["a", "b" + i % 3] });
  return JSON.parse(JSON.stringify(parts)).filter((part) => /7$/.test(part.name)).length;
}
JSON.stringify({ primes: primes(400 * N), vectors: vectors(300 * N), words: words(150 * N), text: text(20 * N) });
`;

/** QuickJS: a JavaScript engine in C runs a program with objects, maps, strings, JSON and regular expressions. */
export const quickjs: Workload = {
  name: "quickjs",
  files: () => [
    {
      wasm: packageFile("@jitl/quickjs-wasmfile-release-sync", "dist/emscripten-module.wasm"),
      glue: packageFile("@jitl/quickjs-wasmfile-release-sync", "dist/emscripten-module.cjs"),
    },
  ],
  load: async () => {
    const { newQuickJSWASMModule, RELEASE_SYNC } = require("quickjs-emscripten");
    const quickJs = await newQuickJSWASMModule(RELEASE_SYNC);
    return {
      run: (scale) => {
        const context = quickJs.newContext();
        const value = context.unwrapResult(
          context.evalCode(`const N = ${scale === "full" ? 350 : 10};\n${PROGRAM}`),
        );
        const answer = context.getString(value);
        value.dispose();
        context.dispose();
        return new Digest().add(answer).finish(answer.slice(0, 60));
      },
    };
  },
};

if (import.meta.main) await runAsScript(quickjs);
