import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as magick from "@imagemagick/magick-wasm";
import { work } from "./work.mjs";

const require = createRequire(import.meta.url);
console.log(await work(magick, readFileSync(require.resolve("@imagemagick/magick-wasm/magick.wasm"))));
