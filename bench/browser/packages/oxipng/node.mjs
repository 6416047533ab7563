import { readFileSync } from "node:fs";
import init, * as oxipng from "@jsquash/oxipng/codec/pkg/squoosh_oxipng.js";
import { work } from "./work.mjs";

const wasm = new URL("squoosh_oxipng_bg.wasm", import.meta.resolve("@jsquash/oxipng/codec/pkg/squoosh_oxipng.js"));
await init(readFileSync(wasm));
console.log(work(oxipng));
