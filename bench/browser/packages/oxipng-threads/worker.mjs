import init, * as oxipng from "@jsquash/oxipng/codec/pkg-parallel/squoosh_oxipng.js";
import { work } from "../oxipng/work.mjs";

init()
  .then(() => oxipng.initThreadPool(3))
  .then(() => work(oxipng))
  .then(postMessage, (error) => postMessage(String(error)));
