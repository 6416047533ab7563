import type { HostCode } from "../../../profile/model/heap-profile.ts";
import { bareName } from "./function-names.ts";

const NOT_ASKED = "callers not asked";
const NOT_KNOWN = "callers not known";
const NODE = "Node.js";
const ENGINE = "JavaScript's library";

const PACKAGE = /(?:^|[\\/])node_modules[\\/](?!.*[\\/]node_modules[\\/])((?:@[^\\/]+[\\/])?[^\\/]+)/;

/** Returns the name of the library that a host frame belongs to; undefined for the program's own code. */
function libraryOfHost(host: HostCode, file: string | undefined): string | undefined {
  if (host === "left-out") return NOT_ASKED;
  if (host === "unknown") return NOT_KNOWN;
  if (file === undefined) return ENGINE;
  if (file.startsWith("node:")) return NODE;
  return packageOf(file) ?? (host === "script" ? undefined : `${host.slice("glue: ".length)}'s glue`);
}

/** Returns the name of the npm package that a file belongs to; undefined for files of the program. */
export function packageOf(file: string): string | undefined {
  const name = PACKAGE.exec(file)?.[1];
  return name === undefined ? undefined : `package ${name.replaceAll("\\", "/")}`;
}

export interface NamedFrame {
  readonly function?: string | undefined;
  readonly file?: string | undefined;
  /** Path or name of the file that contains the code, for native programs. */
  readonly module?: string | undefined;
  /** Kind of host code, if the frame is in the host. */
  readonly host?: HostCode | undefined;
}

/**
 * Name of the code that calls a program's main function. Compilers may inline main into it, so it counts as the
 * program's own if no other frame does.
 */
export const START_UP = "the start-up code";

/**
 * Name of the program's functions that pass on memory of its allocator. As an allocation site they are not the
 * program's own; otherwise they are ordinary functions.
 */
export const LAYER = "a layer on the allocator";

/** Returns true if a frame among the callers of a place is marked as a library's. */
export function isLibraryCaller(library: string | undefined): boolean {
  return library !== undefined && library !== LAYER;
}

/** Functions that copy a value for any caller: compiler-generated as a rule, with the lines of the value's fields. */
const COPIES: readonly (readonly [string, RegExp])[] = [
  ["Rust's copies of values", /^<.+ as core::clone::Clone>::clone(_from)?$/],
];

const CPP = "the C++ library";
const RUST = "Rust's standard library";
export const C = "the C library";
const GO = "Go's runtime";
const ASSEMBLYSCRIPT = "AssemblyScript's library";
const KOTLIN = "Kotlin's library";
const DART = "Dart's library";
const MOONBIT = "MoonBit's library";
const COMPILED_IN: ReadonlySet<string | undefined> = new Set([
  CPP,
  RUST,
  ASSEMBLYSCRIPT,
  KOTLIN,
  DART,
  MOONBIT,
]);

/**
 * Returns true for libraries that are compiled into their user. Their small functions correspond to operators of other
 * languages.
 */
export function isCompiledIn(library: string | undefined): boolean {
  return COMPILED_IN.has(library);
}

const GO_PACKAGES =
  "runtime|internal|reflect|syscall|sync|os|io|fmt|strings|bytes|strconv|sort|slices|maps|bufio|encoding|errors|math|regexp|time|unicode|context|container|compress|crypto|hash|net|path|text|unique|weak";

/** Parts of source file paths, as compilers record them. */
const FILES: readonly (readonly [string, RegExp])[] = [
  [CPP, /(^|\/)(c\+\+\/(v1|\d[\d.]*)|libcxx(abi)?|libunwind|libstdc\+\+(-v3)?)\//],
  [
    RUST,
    // Dependencies of the library itself are in `/rust/deps`.
    /(^|\/)(rustc\/[0-9a-f.]+|rustlib\/src\/rust)\/|(^|\/)library\/(core|alloc|std)\/src\/|^\/rust\/deps\//,
  ],
  [
    C,
    /(^|\/)(wasi-libc[^/]*|libc-(top|bottom)-half|glibc[-\d.]*|musl|dlmalloc|emmalloc|compiler-rt|(emscripten|upstream)[^/]*\/system\/lib)\/|(^|\/)system\/lib\/(libc|pthread|compiler-rt|wasmfs|(em|dl|mi)malloc)/,
  ],
  [GO, new RegExp(String.raw`(^|/)(tiny)?go[-\d.]*/src/(${GO_PACKAGES})/`)],
  [ASSEMBLYSCRIPT, /(^|\/)~lib\//],
  [DART, /^org-dartlang-sdk:|(^|\/)dart-sdk\/lib\//],
  [MOONBIT, /^moonbit-core:|(^|\/)\.moon\/lib\/core\//],
];

/** Names of shared libraries that native programs load. Their code is never the program's own, whoever built them. */
const MODULES: readonly (readonly [string, RegExp])[] = [
  [
    C,
    /(^|\/)(lib(c|m|mvec|pthread|dl|rt|resolv|util|anl|nsl|nss_\w+)|ld-linux[-\w]*|ld-musl[-\w]*|ld)(-\d[\d.]*)?\.so[.\d]*$|(^|\/)gconv\/[-\w]+\.so$|(^|\/)(libSystem\.B|libsystem_\w+)\.dylib$/,
  ],
  [CPP, /(^|\/)lib(stdc\+\+|c\+\+|c\+\+abi|gcc_s|unwind)(\.so[.\d]*|[.\d]*\.dylib)$/],
];

const RUST_STD_MODULES =
  "alloc|backtrace|collections|env|error|ffi|fs|hash|io|net|os|panic|panicking|path|process|rt|string|sync|sys|sys_common|thread|time";
const RUST_CRATES = "core|alloc|std|hashbrown|compiler_builtins|dlmalloc|wasm_bindgen";

const NAMES: readonly (readonly [string, RegExp])[] = [
  // Code made at run time, or a wrong address on a stack without frame pointers. Its callees are more informative.
  ["unknown code", /^\[unknown code\]$/],
  [
    START_UP,
    /^(_start(\.command_export)?|_initialize|__main_void|__original_main|__wasm_call_ctors|__libc_(start_main|start_call_main)(_impl)?|start_thread|clone3?)$/,
  ],
  [
    RUST,
    new RegExp(
      `^((core|alloc|hashbrown|compiler_builtins|dlmalloc|wasm_bindgen)::|std::(${RUST_STD_MODULES})::|(_+)?(rust|rg|rdl|rustc|wbindgen)_)`,
    ),
  ],
  // A trait implementation belongs to the program if its type does; the library's own types do not.
  [
    RUST,
    new RegExp(
      String.raw`^<[&*\[ ]*((mut|dyn|const) )*((${RUST_CRATES})::.*|[A-Z]\w?|str|bool|char|[iuf]\d+|[iu]size|[\])(]).* as (${RUST_CRATES})::|^<(${RUST_CRATES})::[^ ]*>::`,
    ),
  ],
  [CPP, /^(std|__gnu_cxx|__cxxabiv1)::|^operator (new|delete)(\[\])?$|^__(cxa|gxx)_/],
  [GO, new RegExp(String.raw`^(${GO_PACKAGES})(/[\w/]+)?\.[\w(]`)],
  [ASSEMBLYSCRIPT, /^~lib\//],
  [KOTLIN, /^kotlinx?\./],
  [MOONBIT, /^_M0[A-Z]P[BC]/],
  [
    C,
    /^(mem(cpy|set|move|cmp|chr|align)|(aligned_alloc|posix_memalign|reallocarray|valloc)|str(len|cpy|cmp|chr|ncpy|ncmp|cat|n?dup|tol.*)|__?(fwritex|towrite|toread|stdio_.*|wasi_.*|wasilibc_.*|libc_.*|init_.*|ofl_.*|lockfile|unlockfile|fdopen)|v?s?n?f?printf(_core)?|v?asprintf|printf_core|pop_arg|fmt_[a-z]+|pad|out|f(open|read|write|puts|putc|getc|gets|seek|tell|close|flush)(_.*)?|put(s|char)|get(c|char|line|delim)|dl(malloc|free|realloc|calloc|memalign)|(m|c|re)alloc|free|q?sort(_r)?|a(toi|tof|tol)|exit|_Exit|wctomb|wcrtomb|mbrtowc|frexp|_*emscripten_.*|stackAlloc|dynCall_.*)$/,
  ],
];

/**
 * Returns the library or runtime that a function belongs to; undefined for the program's own. The module decides first,
 * then the source file if known, else the function name. A program's `pad` in its own file is therefore not part of the
 * C library, and the types that a function takes do not matter.
 */
export function libraryOf({ function: name, file, module, host }: NamedFrame): string | undefined {
  if (host !== undefined) return libraryOfHost(host, file);
  const shared = module === undefined ? undefined : find(MODULES, module);
  if (shared !== undefined) return shared;
  const bare = name === undefined ? "" : bareName(name);
  const library = file === undefined ? find(NAMES, bare) : find(FILES, file.replaceAll("\\", "/"));
  return library ?? find(COPIES, bare);
}

function find(table: readonly (readonly [string, RegExp])[], text: string): string | undefined {
  return table.find(([, pattern]) => pattern.test(text))?.[0];
}
