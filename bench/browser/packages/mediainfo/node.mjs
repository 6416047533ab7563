import { createRequire } from "node:module";
import mediaInfoFactory from "mediainfo.js";
import { work } from "./work.mjs";

// What a program of a page is called. Emscripten copies it into the memory, twice and more.
process.argv[1] = "./this.program";
const require = createRequire(import.meta.url);
console.log(await work(mediaInfoFactory, () => require.resolve("mediainfo.js/MediaInfoModule.wasm")));
