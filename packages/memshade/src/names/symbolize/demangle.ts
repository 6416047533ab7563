import { dispensable } from "../../ground/bytes/dispensable.ts";
import { demangleItanium } from "./itanium/parser.ts";
import { demangleMoonbit } from "./moonbit.ts";

/** Turns a function's linker name into the source name, and returns every other name unchanged. */
export type Demangle = (name: string) => string;

/** C++ names of the Itanium ABI, on some systems with more leading underscores. */
const ITANIUM = /^_{1,4}Z/;
/** Legacy Rust names, spelled like C++ names: `_ZN4core3ptr4read17h<16 digits>E`. */
const LEGACY_RUST = /^_{1,2}ZN.*17h[0-9a-f]{16}E(?:\.|$)/s;
// Rust v0 (_R) and Microsoft C++ (?). Other names must not reach the library: it takes the underscore off a plain
// `__wbindgen_malloc`.
const RUST_V0 = /^_{1,2}R[A-Z0-9]/;
const MICROSOFT = /^\?/;
const MOONBIT = /^_M0[A-Z]/;
/** Legacy Rust names of which wasm-ld has undone only the outer layer: `core::ptr::drop$LT$T$GT$::h<16 digits>`. */
const HALF_DEMANGLED_RUST = /::h[0-9a-f]{16}$/;
/** Crate hashes that wasm-bindgen and others leave in demangled names: `alloc[597d984130f21c3e]::vec`. */
const CRATE_HASH = /(?<=\w)\[[0-9a-f]{12,16}\](?=::)/g;
/** Prefix of Emscripten's tools for functions that were replaced, or generated for another one. */
const WRAPPED = /^(?:orig|legalstub|legalfunc)\$/;

/** The library's time is not linear for adversarial names; real names are far shorter. */
const LONGEST_NAME = 16384;
/** Number of cached readable names; most frames are in functions that occurred before. */
const MOST_NAMES = 1 << 17;

export interface DemanglerFiles {
  /** `index_bg.wasm`, compiled */
  readonly module: WebAssembly.Module;
  /** `index_bg.js` */
  readonly glue: DemanglerGlue;
}

export interface DemanglerGlue {
  demangle_any(name: string): string;
  __wbg_set_wasm(exports: WebAssembly.Exports): void;
  __wbindgen_init_externref_table(): void;
}

/**
 * Creates a demangler for the names of clang, gcc, rustc, MSVC and MoonBit. It writes C++ names of clang and gcc as
 * `llvm-cxxfilt` does.
 *
 * @param load returns the library for names of Rust and MSVC; it is called at the first such name
 */
export function createDemangler(load: () => DemanglerFiles): Demangle {
  const cache = new Map<string, string>();
  const library = new OtherNames(load);
  return (name) => {
    let readable = cache.get(name);
    if (readable === undefined) {
      // The linker name is the fallback for a hostile name.
      readable =
        dispensable(
          () => demangleOne(name, library),
          () => {},
        ) ?? name;
      // A name is built of hundreds of pieces, which engines join permanently when a character is read.
      readable.charCodeAt(0);
      if (cache.size >= MOST_NAMES) cache.clear();
      cache.set(name, readable);
    }
    return readable;
  };
}

function demangleOne(name: string, library: OtherNames): string {
  const wrapped = WRAPPED.exec(name)?.[0];
  if (wrapped !== undefined) return wrapped + demangleOne(name.slice(wrapped.length), library);
  if (HALF_DEMANGLED_RUST.test(name))
    return library.read(mangleAgain(name)) ?? name.replace(HALF_DEMANGLED_RUST, "");
  if (LEGACY_RUST.test(name)) return withSuffix(name, library) ?? name;
  if (ITANIUM.test(name)) return demangleItanium(name) ?? name;
  if (RUST_V0.test(name)) return withSuffix(name, library) ?? name;
  if (MOONBIT.test(name)) return demangleMoonbit(name);
  if (MICROSOFT.test(name)) return library.read(name) ?? name;
  return name.includes("]::") ? name.replaceAll(CRATE_HASH, "") : name;
}

/** Puts suffixes of Rust's compiler (`.llvm.123`, `.cold`) in parentheses after the name, as for C++. */
function withSuffix(name: string, library: OtherNames): string | undefined {
  // Legacy names have dots inside: `$LT$alloc..string..String$GT$`.
  const [mangled, suffix] = /^(.*17h[0-9a-f]{16}E|_{1,2}R[^.]*)(\..*)?$/s.exec(name)!.slice(1) as [
    string,
    string | undefined,
  ];
  const readable = library.read(mangled);
  return readable === undefined || suffix === undefined ? readable : `${readable} (${suffix})`;
}

function mangleAgain(name: string): string {
  return `_ZN${name
    .split("::")
    .map((part) => `${new TextEncoder().encode(part).length}${part}`)
    .join("")}E`;
}

class OtherNames {
  readonly #load: () => DemanglerFiles;
  #files: DemanglerFiles | undefined;

  constructor(load: () => DemanglerFiles) {
    this.#load = load;
  }

  read(name: string): string | undefined {
    if (name.length > LONGEST_NAME) return undefined;
    if (this.#files === undefined) this.#start();
    try {
      const readable = this.#files!.glue.demangle_any(name);
      // The library returns a name that it cannot demangle without its underscores.
      return readable === "" || name.endsWith(readable) ? undefined : readable;
    } catch {
      // A trap leaves the instance in an unknown state.
      this.#start();
      return undefined;
    }
  }

  #start(): void {
    this.#files ??= this.#load();
    const { module, glue } = this.#files;
    const { exports } = new WebAssembly.Instance(module, { "./index_bg.js": { ...glue } });
    glue.__wbg_set_wasm(exports);
    (exports.__wbindgen_start as () => void)();
  }
}
