import * as magick from "/lib/@imagemagick/magick-wasm/dist/index.js";
import { work } from "./work.mjs";

const wasm = await fetch("/lib/@imagemagick/magick-wasm/dist/x86/magick.wasm");
work(magick, new Uint8Array(await wasm.arrayBuffer())).then(postMessage, (error) => postMessage(String(error)));
