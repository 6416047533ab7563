import type { HostCode } from "../../../profile/model/heap-profile.ts";
import { bareName } from "./function-names.ts";

/** What stands for callers that nobody asked for. */
const NOT_ASKED = "callers not asked";
const NOT_KNOWN = "callers not known";
const NODE = "Node.js";
const ENGINE = "JavaScript's library";

const PACKAGE = /(?:^|[\\/])node_modules[\\/](?!.*[\\/]node_modules[\\/])((?:@[^\\/]+[\\/])?[^\\/]+)/;

/** The library that a frame of the host is of, in words; undefined for the program's own. */
function libraryOfHost(host: HostCode, file: string | undefined): string | undefined {
  if (host === "left-out") return NOT_ASKED;
  if (host === "unknown") return NOT_KNOWN;
  if (file === undefined) return ENGINE;
  if (file.startsWith("node:")) return NODE;
  return packageOf(file) ?? (host === "script" ? undefined : `${host.slice("glue: ".length)}'s glue`);
}

/** The npm package that a file is part of, in words; undefined for files of the program. */
export function packageOf(file: string): string | undefined {
  const name = PACKAGE.exec(file)?.[1];
  return name === undefined ? undefined : `package ${name.replaceAll("\\", "/")}`;
}

/** What is known of a frame's code. */
export interface NamedFrame {
  /** As demanglers write it, with whatever parameters. */
  readonly function?: string | undefined;
  readonly file?: string | undefined;
  /** Path or name of the file that has the code, of native programs. */
  readonly module?: string | undefined;
  /** What code of the host it is, if it is some. */
  readonly host?: HostCode | undefined;
}

/** What leads to a program's main function. Compilers may inline that into it, so it is the program's where nothing else is. */
export const START_UP = "the start-up code";

/** Functions of the program that hand on what its allocator gave them: not its own where they did so, and else as good as others. */
export const LAYER = "a layer on the allocator";

/** Whether a frame among a place's callers is of a library, as its mark says. */
export function isLibraryCaller(library: string | undefined): boolean {
  return library !== undefined && library !== LAYER;
}

/** What copies a value for whoever asks: the compiler writes it as a rule, with the lines of the value's fields. */
const COPIES: readonly (readonly [string, RegExp])[] = [
  ["Rust's copies of values", /^<.+ as core::clone::Clone>::clone(_from)?$/],
];

const CPP = "the C++ library";
const RUST = "Rust's standard library";
const C = "the C library";
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

/** Libraries that are compiled with the program that uses them: a small function of theirs does what an operator of other languages does. */
export function isCompiledIn(library: string | undefined): boolean {
  return COMPILED_IN.has(library);
}

const GO_PACKAGES =
  "runtime|internal|reflect|syscall|sync|os|io|fmt|strings|bytes|strconv|sort|slices|maps|bufio|encoding|errors|math|regexp|time|unicode|context|container|compress|crypto|hash|net|path|text|unique|weak";

/** Parts of the paths of source files, as compilers record them. */
const FILES: readonly (readonly [string, RegExp])[] = [
  [CPP, /(^|\/)(c\+\+\/(v1|\d[\d.]*)|libcxx(abi)?|libunwind|libstdc\+\+(-v3)?)\//],
  [
    RUST,
    // What the library itself is built with is in `/rust/deps`.
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

/** Names of the shared libraries that native programs run with: whoever built them, their source is no program's. */
const MODULES: readonly (readonly [string, RegExp])[] = [
  [
    C,
    /(^|\/)(lib(c|m|mvec|pthread|dl|rt|resolv|util|anl|nsl)|ld-linux[-\w]*|ld-musl[-\w]*|ld)(-\d[\d.]*)?\.so[.\d]*$|(^|\/)(libSystem\.B|libsystem_\w+)\.dylib$/,
  ],
  [CPP, /(^|\/)lib(stdc\+\+|c\+\+|c\+\+abi|gcc_s|unwind)(\.so[.\d]*|[.\d]*\.dylib)$/],
];

const RUST_STD_MODULES =
  "alloc|backtrace|collections|env|error|ffi|fs|hash|io|net|os|panic|panicking|path|process|rt|string|sync|sys|sys_common|thread|time";
const RUST_CRATES = "core|alloc|std|hashbrown|compiler_builtins|dlmalloc|wasm_bindgen";

/** Bare names of functions, for those whose file is not known. */
const NAMES: readonly (readonly [string, RegExp])[] = [
  // Made at run time, or what a stack without frame pointers had in place of an address: what it called says more.
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
  // A program's type that has a trait of the library is the program's, the library's own types are not.
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
 * The library or runtime that a function is of, undefined for the program's own. What such libraries are built as decides first,
 * then the file of source, where it is known:
 * a program's `pad` in its own file is no part of the C library, and no program's function is of the library whose
 * types it takes.
 */
export function libraryOf({ function: name, file, module, host }: NamedFrame): string | undefined {
  if (host !== undefined) return libraryOfHost(host, file);
  const shared = module === undefined ? undefined : find(MODULES, module);
  if (shared !== undefined) return shared;
  const bare = name === undefined ? "" : bareName(name);
  const known = file === undefined ? find(NAMES, bare) : find(FILES, file.replaceAll("\\", "/"));
  return known ?? find(COPIES, bare);
}

function find(table: readonly (readonly [string, RegExp])[], text: string): string | undefined {
  return table.find(([, pattern]) => pattern.test(text))?.[0];
}
