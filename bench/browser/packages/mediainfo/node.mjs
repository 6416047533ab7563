import { createRequire } from "node:module";
import mediaInfoFactory from "mediainfo.js";
import { work } from "./work.mjs";

const require = createRequire(import.meta.url);
console.log(await work(mediaInfoFactory, () => require.resolve("mediainfo.js/MediaInfoModule.wasm")));
