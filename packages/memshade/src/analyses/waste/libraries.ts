import type { WasteFrame, WasteIp } from "../../model/waste/waste.ts";

/**
 * Names of functions that belong to a language's library, by the library. `_start` and `__main_void` are none of them: compilers
 * give the latter name to `int main(void)`, and inline it into the former.
 */
const LIBRARIES: readonly (readonly [string, RegExp])[] = [
  // Names may begin with the type that a template returns.
  ["the C++ library", /^(\S+ )*std::__|^(operator new|operator delete|__cxa_|__cxxabiv1)/],
  [
    "Rust's standard library",
    /^(<?(core|alloc|std|hashbrown|compiler_builtins)::|<.* as (core|alloc|std)::|__rust_)/,
  ],
  [
    "the C library",
    /^(mem(cpy|set|move|cmp|chr)|str(len|cpy|cmp|chr|ncpy|ncmp|cat|dup|tol.*)|__?(fwritex|towrite|toread|stdio_.*|wasi_.*|wasilibc_.*|wasm_call_.*|libc_.*|init_.*|ofl_.*|lockfile|unlockfile|fdopen)|v?s?n?f?printf(_core)?|printf_core|pop_arg|fmt_[a-z]+|pad|out|f(open|read|write|puts|putc|getc|gets|seek|tell|close|flush)(_.*)?|put(s|char)|get(c|char|line)|dl(malloc|free|realloc|calloc|memalign)|(m|c|re)alloc|free|q?sort(_r)?|a(toi|tof|tol)|exit|_Exit|wctomb|wcrtomb|mbrtowc|frexp|emscripten_.*)$/,
  ],
];

/** Parts of the paths of source files that belong to a language's library. */
const LIBRARY_FILES: readonly (readonly [string, RegExp])[] = [
  ["the C++ library", /(^|\/)(c\+\+\/v1|c\+\+\/\d+|libcxx(abi)?|libstdc\+\+)\//],
  [
    "Rust's standard library",
    /(^|\/)(rustc\/[0-9a-f.]+|rustlib\/src\/rust)\/|(^|\/)library\/(core|alloc|std)\/src\//,
  ],
  [
    "the C library",
    /(^|\/)(wasi-libc[^/]*|libc-(top|bottom)-half|musl|dlmalloc|emmalloc|compiler-rt|system\/lib\/(libc|pthread|compiler-rt))\//,
  ],
];

/**
 * The library that a function is of, undefined for the program's own: by its name and, where that is known, the file of
 * its source. A program's own `pad` in its own file is no part of the C library.
 */
export function libraryOf(name: string | undefined, file?: string | undefined): string | undefined {
  const byFile =
    file === undefined ? undefined : LIBRARY_FILES.find(([, pattern]) => pattern.test(file))?.[0];
  if (byFile !== undefined || name === undefined) return byFile;
  const byName = LIBRARIES.find(([, pattern]) => pattern.test(name))?.[0];
  return file !== undefined && byName === "the C library" ? undefined : byName;
}

/** The program's own place: the innermost function that is of no library, of those a place is inlined into. */
export function ownFrame(ip: WasteIp): WasteFrame | undefined {
  return [ip, ...(ip.inlined ?? [])].find((frame) => libraryOf(frame.function, frame.file) === undefined);
}

/**
 * The program's own place on the way to a place, innermost first: where it is, or where it called the library that the
 * place is in. `via` is the function of the library that it called, undefined where the place itself is the program's.
 */
export function ownPlace(
  ips: readonly WasteIp[],
): { frame: WasteFrame; depth: number; via: WasteFrame | undefined } | undefined {
  let via: WasteFrame | undefined;
  for (const [depth, ip] of ips.entries()) {
    const frames = [ip, ...(ip.inlined ?? [])];
    for (const frame of frames) {
      if (libraryOf(frame.function, frame.file) === undefined) return { frame, depth, via };
      via = frame;
    }
  }
  return undefined;
}

/** Functions that do nothing but fill and move what their caller says. */
const MOVERS = /^_*(w?mem(set|cpy|move|pcpy|ccpy)|bzero|bcopy|st[pr]n?(cpy|cat|dup))(_.*)?$/;

/**
 * The library whose code a place is, with everything it is inlined into. Undefined also where the program is known to have
 * called it for just that: a `memset` that it asks for is its own business, what `printf` does inside is not.
 */
export function libraryAt(ips: readonly WasteIp[]): string | undefined {
  const [ip] = ips;
  if (ip === undefined) return undefined;
  const depth = ownPlace(ips)?.depth;
  if (depth === 0 || (depth === 1 && MOVERS.test(ip.function ?? ""))) return undefined;
  return libraryOf(ip.function, ip.file);
}
