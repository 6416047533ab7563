import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "@noble/hashes/sha2.js";
import { compile } from "../../aot/index.ts";
import { bytesOfBase64 } from "../../bytes/base64.ts";
import { writeWholeFile } from "../../load/whole-file.ts";
import { NATIVE_RUNTIME_BASE64 } from "../runtime.generated.ts";
import { NATIVE_WALL_RUNTIME_BASE64 } from "../runtime-wall.generated.ts";
import { hasSum, SUM_BYTES, sumOf } from "../tables/sum.ts";
import { buildImage } from "./build-image.ts";
import { type Hooked, NEXT, nextNames, symbolsOf } from "./functions.ts";

/** What an image is made for. */
export interface KeptImage extends Hooked {
  /** Unit of lifetimes: allocations made so far, or milliseconds. */
  clock: "virtual" | "wall";
}

/** Sources that run as they are change under one name. */
const BUILT_FILE = /-([\w-]{8})\.js$/;
const DIGEST_BYTES = 8;

/**
 * The image without what is of one run. Compiling takes as long as all else before the program starts, so it is kept: under the name
 * of the built file that this is part of, as the compiler and the runtime are, which has a hash of the contents in it.
 */
export function keptImage(folder: string, options: KeptImage): Uint8Array {
  const runtime = options.clock === "wall" ? NATIVE_WALL_RUNTIME_BASE64 : NATIVE_RUNTIME_BASE64;
  const build = () => buildImage(compile(bytesOfBase64(runtime)), options);
  const [, version] = BUILT_FILE.exec(import.meta.url) ?? [];
  if (version === undefined) return build();
  const path = join(folder, `image-${version}-${digestOf(options)}`);
  const kept = readKept(path);
  if (kept !== undefined) return kept;
  const image = build();
  writeKept(path, image);
  return image;
}

/** Writes an image with its sum in front: files that are kept outlive full disks and lost power. */
export function writeKept(path: string, image: Uint8Array): void {
  writeWholeFile(path, (file) => {
    file.write(sumOf(image));
    file.write(image);
  });
}

/** Undefined where there is none, or it is not what was written. */
export function readKept(path: string): Uint8Array | undefined {
  try {
    const bytes = readFileSync(path);
    const image = bytes.subarray(SUM_BYTES);
    return hasSum(image, bytes.subarray(0, SUM_BYTES)) ? image : undefined;
  } catch {
    return undefined;
  }
}

/** Of all that one image differs from another by: the clock, what is looked for, and the names of what is there. */
function digestOf({ clock, ...hooked }: KeptImage): string {
  const symbols = NEXT.map(({ name }) => symbolsOf(name, hooked));
  const text = JSON.stringify([clock, nextNames(hooked), symbols]);
  return Buffer.from(sha256(new TextEncoder().encode(text)).subarray(0, DIGEST_BYTES)).toString("hex");
}
