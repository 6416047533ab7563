import { dispensable } from "../../ground/bytes/dispensable.ts";
import { demangleItanium } from "./itanium/parser.ts";
import { demangleMoonbit } from "./moonbit.ts";

/** Turns a linker's name of a function into the source's, and leaves every other name as it is. */
export type Demangle = (name: string) => string;

/** C++ names of the Itanium ABI, on some systems with more underscores in front. */
const ITANIUM = /^_{1,4}Z/;
/** Rust's older names are C++ names by their spelling: `_ZN4core3ptr4read17h<16 digits>E`. */
const LEGACY_RUST = /^_{1,2}ZN.*17h[0-9a-f]{16}E(?:\.|$)/s;
// Rust v0 (_R) and Microsoft C++ (?). Anything else must not reach the library: it takes the underscore off a plain
// `__wbindgen_malloc`.
const RUST_V0 = /^_{1,2}R[A-Z0-9]/;
const MICROSOFT = /^\?/;
const MOONBIT = /^_M0[A-Z]/;
/** wasm-ld undoes the outer layer of Rust's older names alone: `core::ptr::drop$LT$T$GT$::h<16 digits>`. */
const HALF_DEMANGLED_RUST = /::h[0-9a-f]{16}$/;
/** wasm-bindgen and others leave the hash of each crate in names that they have read: `alloc[597d984130f21c3e]::vec`. */
const CRATE_HASH = /(?<=\w)\[[0-9a-f]{12,16}\](?=::)/g;
/** Emscripten's rewriters put it in front of functions that they have replaced, or made for another one. */
const WRAPPED = /^(?:orig|legalstub|legalfunc)\$/;

/** The library's work is not linear for adversarial names; real ones stay far below. */
const LONGEST_NAME = 16384;
/** Readable names that are kept: most frames are in functions that were met before. */
const MOST_NAMES = 1 << 17;

/** The two files of the package gecko-profiler-demangle. */
export interface DemanglerFiles {
  /** `index_bg.wasm`, compiled */
  readonly module: WebAssembly.Module;
  /** `index_bg.js` */
  readonly glue: DemanglerGlue;
}

/** What the package's JavaScript exports. */
export interface DemanglerGlue {
  demangle_any(name: string): string;
  __wbg_set_wasm(exports: WebAssembly.Exports): void;
  __wbindgen_init_externref_table(): void;
}

/**
 * A demangler for the names of clang, gcc, rustc, MSVC and MoonBit. It writes C++ names of clang and gcc as `llvm-cxxfilt` does.
 *
 * @param load gives the library that reads names of Rust and MSVC. It is called when the first of these comes.
 */
export function createDemangler(load: () => DemanglerFiles): Demangle {
  const known = new Map<string, string>();
  const others = new OtherNames(load);
  return (name) => {
    let readable = known.get(name);
    if (readable === undefined) {
      // The linker's name will do where a name is hostile.
      readable =
        dispensable(
          () => demangleOne(name, others),
          () => {},
        ) ?? name;
      // Names are built of hundreds of pieces; engines join these for good when a character is asked for.
      readable.charCodeAt(0);
      if (known.size >= MOST_NAMES) known.clear();
      known.set(name, readable);
    }
    return readable;
  };
}

function demangleOne(name: string, others: OtherNames): string {
  const wrapped = WRAPPED.exec(name)?.[0];
  if (wrapped !== undefined) return wrapped + demangleOne(name.slice(wrapped.length), others);
  if (HALF_DEMANGLED_RUST.test(name))
    return others.read(mangleAgain(name)) ?? name.replace(HALF_DEMANGLED_RUST, "");
  if (LEGACY_RUST.test(name)) return withSuffix(name, others) ?? name;
  if (ITANIUM.test(name)) return demangleItanium(name) ?? name;
  if (RUST_V0.test(name)) return withSuffix(name, others) ?? name;
  if (MOONBIT.test(name)) return demangleMoonbit(name);
  if (MICROSOFT.test(name)) return others.read(name) ?? name;
  return name.includes("]::") ? name.replaceAll(CRATE_HASH, "") : name;
}

/** What compilers append to names of Rust (`.llvm.123`, `.cold`) stands in parentheses behind them, as with C++. */
function withSuffix(name: string, others: OtherNames): string | undefined {
  // The older names have dots inside: `$LT$alloc..string..String$GT$`.
  const [mangled, suffix] = /^(.*17h[0-9a-f]{16}E|_{1,2}R[^.]*)(\..*)?$/s.exec(name)!.slice(1) as [
    string,
    string | undefined,
  ];
  const readable = others.read(mangled);
  return readable === undefined || suffix === undefined ? readable : `${readable} (${suffix})`;
}

function mangleAgain(name: string): string {
  return `_ZN${name
    .split("::")
    .map((part) => `${new TextEncoder().encode(part).length}${part}`)
    .join("")}E`;
}

/** Names of Rust and MSVC. */
class OtherNames {
  readonly #load: () => DemanglerFiles;
  #files: DemanglerFiles | undefined;

  constructor(load: () => DemanglerFiles) {
    this.#load = load;
  }

  /** Undefined for a name that the library cannot read. */
  read(name: string): string | undefined {
    if (name.length > LONGEST_NAME) return undefined;
    if (this.#files === undefined) this.#start();
    try {
      const readable = this.#files!.glue.demangle_any(name);
      // A name that it cannot read comes back without its underscores.
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
