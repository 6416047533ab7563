import { describe, expect, it } from "vitest";
import { FrameRules } from "../../../../src/explain/analyses/frames/frame-rules.ts";
import { libraryOf, START_UP } from "../../../../src/explain/analyses/frames/libraries.ts";

const nameOnly = (name: string) => libraryOf({ function: name });

describe("a function whose file is not known", () => {
  it.each([
    ["memcpy", "the C library"],
    ["posix_memalign", "the C library"],
    ["emscripten_builtin_malloc", "the C library"],
    ["void std::__2::sort<int>(int*)", "the C++ library"],
    ["std::vector<app::Order, std::allocator<app::Order> >::push_back(app::Order const&)", "the C++ library"],
    ["std::unique_ptr<int> std::make_unique<int>(int&&)", "the C++ library"],
    ["operator new(unsigned long)", "the C++ library"],
    ["std::io::Write::write_all", "Rust's standard library"],
    ["<alloc::vec::Vec<T> as core::clone::Clone>::clone", "Rust's standard library"],
    ["alloc::raw_vec::RawVec<T,A>::grow_one", "Rust's standard library"],
    ["core::ptr::drop_in_place<app::Order>", "Rust's standard library"],
    ["__rust_alloc", "Rust's standard library"],
    ["runtime.mallocgc", "Go's runtime"],
    ["~lib/array/Array<i32>#push", "AssemblyScript's library"],
  ])("is of a library by its own name: %s", (name, library) => {
    expect(nameOnly(name)).toBe(library);
  });

  it.each([
    "memory_pool_get",
    "fill(std::__2::vector<int, std::__2::allocator<int> >&, int)",
    "void f(std::vector<int>&)",
    "std::vector<int, std::allocator<int> > app::load<int>(std::string const&)",
    "app::Queue<std::string>::push(std::string)",
    "app::stdx::run(int)",
    "<app::Order as core::fmt::Display>::fmt",
    "<app::Order as core::convert::From<alloc::string::String>>::from",
    "<alloc::string::String as app::Labelled>::label",
    "app::collect::<alloc::vec::Vec<u8>>",
    "main.load",
    "assembly/index/build",
  ])("is the program's own whatever it takes, returns or implements: %s", (name) => {
    expect(nameOnly(name)).toBeUndefined();
  });

  it("is no place of the program where it is in no module", () => {
    expect(nameOnly("[unknown code]")).toBe("unknown code");
    expect(nameOnly("[libapp.so]+0x1a2b")).toBeUndefined();
  });

  it("leads to the main function where toolchains call it so", () => {
    for (const name of ["_start", "__main_void", "__original_main"]) expect(nameOnly(name)).toBe(START_UP);
  });
});

describe("a function that copies a value for whoever asks", () => {
  it("has the line of a field, and is not where the program asked for the copy", () => {
    const clone = { function: "<shop::Route as core::clone::Clone>::clone", file: "./src/shop.rs" };
    expect(libraryOf(clone)).toBe("Rust's copies of values");
    expect(libraryOf({ ...clone, file: undefined })).toBe("Rust's copies of values");
    expect(libraryOf({ ...clone, function: "shop::Route::clone_towns" })).toBeUndefined();
    expect(new FrameRules({ own: ["shop.rs"] }).libraryOf(clone)).toBeUndefined();
  });
});

describe("a function whose file is known", () => {
  it.each([
    ["/build/wasi-libc-0.0/libc-top-half/musl/src/stdio/vfprintf.c", "the C library"],
    ["/emsdk/emscripten/system/lib/libc/musl/src/string/memcpy.c", "the C library"],
    ["/rustc/90b35a623/library/core/src/slice/mod.rs", "Rust's standard library"],
    ["/rust/deps/gimli-0.32.3/src/read/abbrev.rs", "Rust's standard library"],
    ["library/alloc/src/raw_vec.rs", "Rust's standard library"],
    ["/usr/lib/llvm-22/include/wasm32-wasi/c++/v1/vector", "the C++ library"],
    ["C:\\tools\\include\\c++\\v1\\vector", "the C++ library"],
    ["/usr/include/c++/14/bits/stl_vector.h", "the C++ library"],
    ["/usr/local/go/src/runtime/malloc.go", "Go's runtime"],
    ["~lib/rt/tlsf.ts", "AssemblyScript's library"],
  ])("is of a library by that, whatever it is called: %s", (file, library) => {
    expect(libraryOf({ function: "anything", file })).toBe(library);
  });

  it("is the program's own in a file of its own, even with a name that libraries have too", () => {
    expect(nameOnly("pad")).toBe("the C library");
    expect(libraryOf({ function: "pad", file: "/home/me/editor/pad.c" })).toBeUndefined();
    expect(libraryOf({ function: "memcpy", file: "/home/me/kernel/memory.c" })).toBeUndefined();
    expect(libraryOf({ function: "__main_void", file: "main.c" })).toBeUndefined();
    expect(libraryOf({ function: "main", file: "/home/me/go/src/app/main.go" })).toBeUndefined();
    expect(libraryOf({ function: "std::hash<Key>::operator()(Key) const", file: "key.h" })).toBeUndefined();
  });
});

describe("a function of a shared library that programs run with", () => {
  it.each([
    ["/usr/lib/x86_64-linux-gnu/libc.so.6", "the C library"],
    ["libc-2.31.so", "the C library"],
    ["/lib64/ld-linux-x86-64.so.2", "the C library"],
    ["/lib/ld-musl-aarch64.so.1", "the C library"],
    ["/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.33", "the C++ library"],
    ["/usr/lib/libc++.1.dylib", "the C++ library"],
  ])("is that library's with lines or without: %s", (module, library) => {
    const file = "./libio/filedoalloc.c";
    expect(libraryOf({ function: "__GI__IO_file_doallocate", file, module })).toBe(library);
    expect(libraryOf({ module })).toBe(library);
  });

  it("is the program's own in its own module, and where the user says so", () => {
    const file = "./libio/filedoalloc.c";
    for (const module of ["/opt/app/libcache.so.6", "/opt/app/libc.so.d/app", "libmine.so"])
      expect(libraryOf({ function: "load", file, module })).toBeUndefined();
    const rules = new FrameRules({ own: ["libio/"] });
    expect(rules.libraryOf({ function: "load", file, module: "libc.so.6" })).toBeUndefined();
    expect(new FrameRules().libraryOf({ function: "load", file, module: "libc.so.6" })).toBe("the C library");
    expect(new FrameRules().libraryOf({ function: "load", file, module: "app" })).toBeUndefined();
  });
});

describe("what the user says", () => {
  it("makes a folder a library, or a family of functions", () => {
    const rules = new FrameRules({ library: ["vendor/", "sqlite3*"] });
    expect(rules.libraryOf({ function: "inflate", file: "/build/app/vendor/zlib/inflate.c" })).toBe(
      "a library",
    );
    expect(rules.libraryOf({ function: "sqlite3Malloc", file: "sqlite3.c" })).toBe("a library");
    expect(rules.libraryOf({ function: "load", file: "/build/app/src/load.c" })).toBeUndefined();
    expect(rules.libraryOf({ function: "inflate", file: "/build/my-vendor/inflate.c" })).toBeUndefined();
  });

  it("makes a library's code the program's own, for those who write the library", () => {
    const rules = new FrameRules({ own: ["libcxx/*", "alloc::raw_vec::*"], library: ["libcxx/*"] });
    expect(rules.libraryOf({ function: "f", file: "/llvm/libcxx/src/string.cpp" })).toBeUndefined();
    expect(rules.libraryOf({ function: "alloc::raw_vec::RawVec<T,A>::grow_one" })).toBeUndefined();
    expect(rules.libraryOf({ function: "alloc::vec::Vec<T>::push" })).toBe("Rust's standard library");
  });

  it("is no pattern but for stars and question marks", () => {
    const rules = new FrameRules({ library: ["a.c", "operator()", "b?.c"] });
    expect(rules.libraryOf({ function: "f", file: "abc" })).toBeUndefined();
    expect(rules.libraryOf({ function: "f", file: "src/b1.c" })).toBe("a library");
  });
});
