import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isCopyOrFillName,
  isOperatorNew,
  isProgramCpp,
  meaningOfSymbol,
  splitName,
} from "../../../../src/record/allocator/find/symbol-names.ts";

/** "role" or "role@positions of pointer, count, size" for a function with this number of parameters; "-" for no role. */
function meaning(symbol: string, parameters: number): string {
  const found = meaningOfSymbol(symbol);
  if (found === undefined) return "-";
  if (found.part !== "entry") return found.part;
  const operands = found.operandsOf(parameters);
  if (operands === undefined) return `${found.role} does not fit`;
  const positions = [operands.pointerParam, operands.countParam, operands.sizeParam].filter((at) => at >= 0);
  return `${found.role}@${positions.join(",")}`;
}

describe("names of allocator functions", () => {
  it.each([
    ["malloc", 1, "malloc@0"],
    ["_malloc", 1, "malloc@0"],
    ["dlmalloc", 1, "malloc@0"],
    ["__libc_malloc", 1, "malloc@0"],
    ["emscripten_builtin_malloc", 1, "malloc@0"],
    ["emmalloc_malloc", 1, "malloc@0"],
    ["mi_malloc", 1, "malloc@0"],
    ["__wrap___libc_malloc", 1, "malloc@0"],
    ["malloc.llvm.4711", 1, "malloc@0"],
    ["free.1", 1, "free@0"],
    ["dlcalloc", 2, "calloc@0,1"],
    ["emscripten_builtin_calloc", 2, "calloc@0,1"],
    ["realloc", 2, "realloc@0,1"],
    ["__reallocarray", 3, "reallocarray@0,1,2"],
    ["aligned_alloc", 2, "aligned_alloc@1"],
    ["emscripten_builtin_memalign", 2, "memalign@1"],
    ["posix_memalign", 3, "posix_memalign@2"],
    ["internal_memalign", 2, "memalign@1"],
    ["free", 1, "free@0"],
    ["malloc", 2, "malloc does not fit"],
  ])("C: %s with %i parameters", (symbol, parameters, expected) => {
    expect(meaning(symbol, parameters)).toBe(expected);
  });

  it.each([
    ["_Znwm", 1, "new@0"],
    ["_Znwj", 1, "new@0"],
    ["_Znam", 1, "new@0"],
    ["_ZnwmSt11align_val_t", 2, "new@0"],
    ["_ZnwjRKSt9nothrow_t", 2, "new@0"],
    ["_ZnamSt11align_val_tRKSt9nothrow_t", 3, "new@0"],
    ["_ZdlPv", 1, "delete@0"],
    ["_ZdlPvm", 2, "delete@0"],
    ["_ZdaPvjSt11align_val_t", 3, "delete@0"],
    ["operator new(unsigned long)", 1, "new@0"],
    ["operator new[](unsigned long, std::align_val_t)", 2, "new@0"],
    ["operator new(unsigned long, std::nothrow_t const&)", 2, "new@0"],
    ["operator delete(void*)", 1, "delete@0"],
    ["operator delete[](void*, unsigned long, std::align_val_t)", 3, "delete@0"],
    ["operator new[abi:nqn220108](unsigned long, void*)", 2, "inner"],
    ["operator new(unsigned long, void*)", 2, "inner"],
    ["_ZnwmPv", 2, "inner"],
    ["Widget::operator new(unsigned long)", 1, "-"],
    ["void* std::__2::__libcpp_operator_new[abi:nqn220108](unsigned long)", 1, "wrapper"],
    ["std::__2::allocator<std::__2::pair<int, char> >::allocate[abi:nqn220108](unsigned long)", 2, "wrapper"],
    ["std::__2::vector<int, std::__2::allocator<int> >::push_back(int const&)", 2, "-"],
  ])("C++: %s with %i parameters", (symbol, parameters, expected) => {
    expect(meaning(symbol, parameters)).toBe(expected);
  });

  it.each([
    ["__rust_alloc", 2, "rust_alloc@0"],
    ["__rust_alloc_zeroed", 2, "rust_alloc_zeroed@0"],
    ["__rust_realloc", 4, "rust_realloc@0,3"],
    ["__rust_dealloc", 3, "rust_dealloc@0"],
    ["__rdl_alloc", 2, "rust_alloc@0"],
    ["__rg_dealloc", 3, "rust_dealloc@0"],
    ["__rustc::__rust_alloc", 2, "rust_alloc@0"],
    ["__rustc[a1b2c3]::__rust_realloc", 4, "rust_realloc@0,3"],
    ["_RNvCs1njKG4L9aB3_7___rustc12___rust_alloc", 2, "rust_alloc@0"],
    ["_RNvCs1njKG4L9aB3_7___rustc19___rust_alloc_zeroed", 2, "rust_alloc_zeroed@0"],
    ["__rustc::__rust_alloc_error_handler", 2, "-"],
    [
      "_RNvMs0_NtCsi6WBrLFLuLB_8dlmalloc8dlmallocINtB5_8DlmallocNtNtB7_3sys6SystemE6mallocCs7L774UPzF0f_3std",
      1,
      "malloc@0",
    ],
    [
      "_RNvMs0_NtCsi6WBrLFLuLB_8dlmalloc8dlmallocINtB5_8DlmallocNtNtB7_3sys6SystemE8memalignCs7L774UPzF0f_3std",
      3,
      "memalign@2",
    ],
    [
      "_RNvMs0_NtCsi6WBrLFLuLB_8dlmalloc8dlmallocINtB5_8DlmallocNtNtB7_3sys6SystemE13dispose_chunkCs7L774UPzF0f_3std",
      2,
      "inner",
    ],
    ["_ZN8dlmalloc8dlmalloc17Dlmalloc$LT$A$GT$6malloc17h0123456789abcdefE", 2, "malloc@1"],
    ["_ZN8dlmalloc8dlmalloc17Dlmalloc$LT$A$GT$7realloc17h0123456789abcdefE", 3, "realloc@1,2"],
    ["dlmalloc::dlmalloc::Dlmalloc<A>::malloc::h0123456789abcdef", 2, "malloc@1"],
    ["<dlmalloc::dlmalloc::Dlmalloc<_>>::free", 1, "free@0"],
    ["dlmalloc::dlmalloc::Dlmalloc<A>::unlink_chunk::h0123456789abcdef", 3, "inner"],
    ["alloc::alloc::exchange_malloc::h0123456789abcdef", 2, "wrapper"],
    ["<alloc::alloc::Global as core::alloc::Allocator>::deallocate", 3, "wrapper"],
    ["alloc::alloc::handle_alloc_error::hfe7d39ac186073be", 2, "-"],
    ["alloc::raw_vec::RawVec<T,A>::reserve_for_push", 2, "-"],
  ])("Rust: %s with %i parameters", (symbol, parameters, expected) => {
    expect(meaning(symbol, parameters)).toBe(expected);
  });

  it.each([
    "sqlite3_malloc",
    "sqlite3_free",
    "BrotliDecoderMallocU8",
    "my_malloc",
    "malloc_usable_size",
    "freelist",
    "QTS_FreeRuntime",
    "emscripten_stack_get_free",
    "_emscripten_stack_alloc",
    "stackAlloc",
    "__wbg_tiktoken_free",
    "parse_segments",
    "",
  ])("means nothing: %s", (symbol) => expect(meaning(symbol, 1)).toBe("-"));

  it("folds the thunks that linkers put around exports", () => {
    expect(meaning("malloc.command_export", 1)).toBe("wrapper");
    expect(meaning("__wbindgen_malloc.command_export", 2)).toBe("wrapper");
    expect(meaning("legalstub$free", 1)).toBe("wrapper");
    expect(meaning("run.command_export", 1)).toBe("-");
  });

  it("knows the copy functions of C and Rust", () => {
    expect(["memcpy", "memset", "compiler_builtins::mem::memmove", "memcpy.1"].every(isCopyOrFillName)).toBe(
      true,
    );
    expect(["memcmp", "copy", "strcpy"].some(isCopyOrFillName)).toBe(false);
  });

  it("tells a program's C++ functions from those of the standard library and from C", () => {
    const own = [
      "level(int)",
      "char* fresh<std::string>(int)",
      "a::B::make(std::pair<int, int>)",
      "_Z5freshi",
    ];
    const others = [
      "std::allocator<char>::allocate(unsigned long)",
      "void* std::__2::__libcpp_operator_new[abi:nqn220108](unsigned long)",
      "_ZNSt9allocatorIcE8allocateEm",
      "_ZSt4copyv",
      "operator new[](unsigned long)",
      "_Znam",
      "xmalloc",
    ];
    expect(own.every(isProgramCpp)).toBe(true);
    expect(others.filter(isProgramCpp)).toEqual([]);
    expect(["operator new(unsigned long)", "_Znwm", "_Znaj"].every(isOperatorNew)).toBe(true);
    expect(isOperatorNew("operator newest(int)")).toBe(false);
  });

  it("splits demangled names at their last identifier", () => {
    expect(splitName("a::b<c::d>::f[abi:x]<int>(char const*) const")).toEqual({
      scope: "a::b<c::d>",
      base: "f",
    });
    expect(splitName("main")).toEqual({ scope: "", base: "main" });
  });

  it("reads any text as a name", () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom("alloc", "::", "<", ">", "(", "dlmalloc::", "8dlmalloc", "_Zn", "free"),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), fc.nat(6), (pieces, parameters) => {
        expect(typeof meaning(pieces.join(""), parameters)).toBe("string");
      }),
    );
  });
});
