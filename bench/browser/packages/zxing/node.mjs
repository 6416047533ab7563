import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as zxing from "zxing-wasm/full";
import { work } from "./work.mjs";

const require = createRequire(import.meta.url);
console.log(await work(zxing, readFileSync(require.resolve("zxing-wasm/full/zxing_full.wasm"))));
