import { utimesSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { once } from "../../../ground/bytes/entries.ts";
import * as errors from "../../../ground/bytes/errors.ts";
import type { Instrumented, InstrumentedInfo, InstrumentOptions } from "../../tools/index.ts";
import { readKept, tryKeepModule } from "../run/kept-files.ts";
import { builtInModule, builtScript } from "../sibling-module.ts";
import { customSectionsOf } from "./custom-sections.ts";
import { nativeSha256, nativeSha256Hex } from "./native-sha256.ts";

/** Name of the built rewriter beside this file, with a hash of its code; undefined for sources. */
declare const BUILT_REWRITER: string | undefined;
const BUILT = typeof BUILT_REWRITER === "undefined" ? undefined : BUILT_REWRITER;

type Rewriter = typeof import("../../tools/index.ts");

/** Returns the code that rewrites modules. Programs whose modules are in the cache do not need it. */
export const rewriter = once((): Rewriter => {
  if (BUILT === undefined) return createRequire(import.meta.url)("../../tools/index.ts") as Rewriter;
  const exported = {} as Rewriter;
  const { run } = builtScript(fileURLToPath(new URL(BUILT, import.meta.url)), ["exports", "require"]);
  run(exported, (name: string) => (name.startsWith("node:") ? builtInModule(name) : errors));
  return exported;
});

const KEY_DIGITS = 32;
const LONGEST_NAME = 60;

/** Rewrites modules, or takes the results of earlier runs. A rewritten module has its description in a section. */
export class ModuleCache {
  readonly #folder: string | undefined;
  readonly #version: string | undefined;
  readonly #store: (path: string, bytes: Uint8Array) => void;

  /**
   * @param folder undefined if nothing is cached @param store writes a file of the cache
   * @param version identifies the code of the rewriter; undefined for sources
   */
  constructor(folder: string | undefined, store = tryKeepModule, version = BUILT) {
    this.#folder = folder;
    this.#store = store;
    this.#version = version;
  }

  /**
   * Rewrites a module.
   * @param digest SHA-256 of the module in hexadecimal
   * @param isValid returns true if the engine finds the module valid; default: as `instrument` does
   * @throws FormatError, UserError as by `instrument`
   */
  instrument(
    original: Uint8Array,
    options: InstrumentOptions,
    digest = nativeSha256Hex(original),
    isValid?: () => boolean,
  ): Instrumented {
    if (this.#folder === undefined || this.#version === undefined) return rewrite(original, options, isValid);
    const path = join(this.#folder, this.#nameOf(digest, options));
    const found = read(path);
    if (found !== undefined) return found;
    const made = rewrite(original, options, isValid);
    this.#store(path, made.bytes);
    return made;
  }

  /** Returns the name of the file: a key of everything that the result depends on, then words for `memshade cache`. */
  #nameOf(digest: string, options: InstrumentOptions): string {
    // Another engine may find the module invalid.
    const inputs = [this.#version, process.versions.v8, digest, JSON.stringify(options)].join("\n");
    const key = nativeSha256Hex(Buffer.from(inputs)).slice(0, KEY_DIGITS);
    const name = (options.name ?? "").replaceAll(/[^\w.#@+-]/g, "_").slice(-LONGEST_NAME);
    return [key, (options.tools ?? []).join("+"), name].join(" ");
  }
}

function rewrite(
  original: Uint8Array,
  options: InstrumentOptions,
  isValid: (() => boolean) | undefined,
): Instrumented {
  const all = { ...options, sha256: nativeSha256 };
  if (isValid === undefined) return rewriter().instrument(original, all);
  if (!isValid()) throw new errors.FormatError("malformed", 0, "module", "the engine refuses it");
  return rewriter().instrumentValid(original, all);
}

function read(path: string): Instrumented | undefined {
  const bytes = readKept(path);
  if (bytes === undefined) return undefined;
  try {
    const [section] = customSectionsOf(bytes, "memshade");
    const info = JSON.parse(new TextDecoder().decode(section)) as InstrumentedInfo;
    const now = new Date();
    utimesSync(path, now, now);
    return { bytes, info: { ...info, rewrittenBytes: bytes.length } };
  } catch {
    // Another process has removed the file.
    return undefined;
  }
}
