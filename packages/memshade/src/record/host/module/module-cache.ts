import { utimesSync } from "node:fs";
import { join } from "node:path";
import { FormatError } from "../../../ground/bytes/errors.ts";
import {
  type Instrumented,
  type InstrumentedInfo,
  type InstrumentOptions,
  instrument,
  instrumentValid,
} from "../../tools/index.ts";
import { builtVersion, readKept, tryKeepModule } from "../run/kept-files.ts";
import { customSectionsOf } from "./custom-sections.ts";
import { nativeSha256, nativeSha256Hex } from "./native-sha256.ts";

const KEY_DIGITS = 32;
const LONGEST_NAME = 60;

/** Rewrites modules, or takes the results of earlier runs. A rewritten module has its description in a section. */
export class ModuleCache {
  readonly #folder: string | undefined;
  readonly #version: string | undefined;
  readonly #store: (path: string, bytes: Uint8Array) => void;

  /**
   * @param folder undefined if nothing is cached @param store writes a file of the cache
   * @param version identifies the code of the rewriter, which this file imports; undefined for sources
   */
  constructor(folder: string | undefined, store = tryKeepModule, version = builtVersion(import.meta.url)) {
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
  if (isValid === undefined) return instrument(original, all);
  if (!isValid()) throw new FormatError("malformed", 0, "module", "the engine refuses it");
  return instrumentValid(original, all);
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
