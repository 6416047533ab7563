// What a program of a page is called. Emscripten copies it into the memory, twice and more.
process.argv[1] = "./this.program";
const { readFileSync } = require("node:fs");
const wasm = readFileSync(require.resolve("7z-wasm/7zz.wasm"));
require("./work.cjs")(require("7z-wasm"), wasm).then(console.log);
