/** Names of functions that belong to a language's library, by the library. */
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

/** The library that a function's name shows it to be of, undefined for the program's own. */
export function libraryOf(name: string | undefined): string | undefined {
  return name === undefined ? undefined : LIBRARIES.find(([, pattern]) => pattern.test(name))?.[0];
}
