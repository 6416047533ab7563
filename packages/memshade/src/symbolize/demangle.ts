import { demangleItanium } from "./itanium/demangle-itanium.ts";

/** Turns a linker's name of a function into the source's, and leaves every other name as it is. */
export type Demangle = (name: string) => string;

// Names of C++ and C++-like Rust (_Z), Rust v0 (_R), and Microsoft C++ (?). Anything else must not reach the
// demangler: it takes the underscore off a plain `__wbindgen_malloc`.
const MANGLED = /^_{1,4}Z|^_{1,2}R[A-Z0-9]|^\?/;

// wasm-ld undoes the outer layer of Rust's legacy mangling alone: `core::ptr::drop$LT$T$GT$::h<16 digits>`.
const HALF_DEMANGLED_RUST = /::h[0-9a-f]{16}$/;

// Demangling is not linear for adversarial names; real ones stay far below.
const LONGEST_NAME = 16384;

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

/** A demangler for the names of clang, gcc, rustc and MSVC. */
export function createDemangler(demangler: DemanglerFiles): Demangle {
  const known = new Map<string, string>();
  start(demangler);
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) {
      return found;
    }
    const readable = demangleOne(name, demangler);
    known.set(name, readable);
    return readable;
  };
}

function start({ module, glue }: DemanglerFiles): void {
  const { exports } = new WebAssembly.Instance(module, { "./index_bg.js": { ...glue } });
  glue.__wbg_set_wasm(exports);
  (exports.__wbindgen_start as () => void)();
}

function demangleOne(name: string, demangler: DemanglerFiles): string {
  if (name.length > LONGEST_NAME) {
    return name;
  }
  if (HALF_DEMANGLED_RUST.test(name)) {
    const mangled = mangleAgain(name);
    const readable = callDemangler(mangled, demangler);
    return readable === mangled ? name.replace(HALF_DEMANGLED_RUST, "") : readable;
  }
  if (!MANGLED.test(name)) return name;
  const readable = callDemangler(name, demangler);
  return readable === name ? (demangleItanium(name) ?? name) : readable;
}

function mangleAgain(name: string): string {
  return `_ZN${name
    .split("::")
    .map((part) => `${new TextEncoder().encode(part).length}${part}`)
    .join("")}E`;
}

function callDemangler(name: string, demangler: DemanglerFiles): string {
  try {
    const readable = demangler.glue.demangle_any(name);
    // A name that it cannot read comes back without its underscores.
    return readable === "" || name.endsWith(readable) ? name : readable;
  } catch {
    // A trap leaves the instance in an unknown state.
    start(demangler);
    return name;
  }
}
