import { sha256 } from "@noble/hashes/sha2.js";
import { compile } from "../../aot/index.ts";
import { bytesOfBase64 } from "../../bytes/base64.ts";
import { NATIVE_RUNTIME_BASE64 } from "../runtime.generated.ts";
import { NATIVE_WALL_RUNTIME_BASE64 } from "../runtime-wall.generated.ts";
import { kept } from "../tables/kept.ts";
import { buildImage } from "./build-image.ts";
import { type Hooked, NEXT, nextNames, symbolsOf } from "./functions.ts";

/** What an image is made for. */
export interface KeptImage extends Hooked {
  /** Unit of lifetimes: allocations made so far, or milliseconds. */
  clock: "virtual" | "wall";
}

const DIGEST_BYTES = 8;

/** The image without what is of one run. Compiling takes as long as all else before the program starts, so it is kept. */
export function keptImage(folder: string, options: KeptImage): Uint8Array {
  const runtime = options.clock === "wall" ? NATIVE_WALL_RUNTIME_BASE64 : NATIVE_RUNTIME_BASE64;
  return kept(folder, `image-${digestOf(options)}`, () =>
    buildImage(compile(bytesOfBase64(runtime)), options),
  );
}

/** Of all that one image differs from another by: the clock, what is looked for, and the names of what is there. */
function digestOf({ clock, ...hooked }: KeptImage): string {
  const symbols = NEXT.map(({ name }) => symbolsOf(name, hooked));
  const text = JSON.stringify([clock, nextNames(hooked), symbols]);
  return Buffer.from(sha256(new TextEncoder().encode(text)).subarray(0, DIGEST_BYTES)).toString("hex");
}
