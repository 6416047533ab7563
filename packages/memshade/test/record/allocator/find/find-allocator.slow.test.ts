import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeModule } from "../../../../src/code/wasm/index.ts";
import { FormatError } from "../../../../src/ground/bytes/errors.ts";
import { findAllocator } from "../../../../src/record/allocator/find/index.ts";
import {
  fixture,
  indexOf,
  moduleFromText,
  namesOf,
  pictureOf,
  withCustomSection,
  withoutNames,
} from "./support.ts";

/** A minimal allocator that works: a bump pointer, and a free that does nothing. */
const BUMP = `
  (memory 1)
  (global $top (mut i32) (i32.const 1024))
  (func $malloc (export "malloc") (param $size i32) (result i32)
    (local $block i32)
    (local.set $block (call $bump (local.get $size)))
    (local.get $block))
  (func $bump (param $size i32) (result i32)
    (i32.store (i32.const 512) (local.get $size))
    (global.get $top)
    (global.set $top (i32.add (global.get $top) (i32.and (i32.add (local.get $size) (i32.const 15)) (i32.const -16)))))
  (func $free (export "free") (param $block i32)
    (i32.store (i32.const 516) (local.get $block)))`;

describe("a C and C++ program with names", () => {
  const family = fixture("family.wasm");
  const plan = findAllocator(family);

  it("hooks every entry of the family with its operands", () => {
    expect(plan.how).toBe("names");
    expect(plan.needsConfirmation).toBe(false);
    expect(pictureOf(plan)).toEqual([
      "new operator new(unsigned long) size 0",
      "new operator new[](unsigned long) size 0",
      "new operator new[](unsigned long, std::nothrow_t const&) size 0",
      "delete operator delete(void*) pointer 0",
      "delete operator delete(void*, unsigned long) pointer 0",
      "delete operator delete[](void*) pointer 0",
      "new operator new(unsigned long, std::align_val_t) size 0",
      "new operator new[](unsigned long, std::align_val_t) size 0",
      "delete operator delete(void*, std::align_val_t) pointer 0",
      "delete operator delete(void*, unsigned long, std::align_val_t) pointer 0",
      "delete operator delete[](void*, std::align_val_t) pointer 0",
      "malloc malloc size 0",
      "malloc dlmalloc size 0",
      "free free pointer 0",
      "free dlfree pointer 0",
      "calloc calloc count 0 size 1",
      "realloc realloc pointer 0 size 1",
      "posix_memalign posix_memalign size 2 stored at 0",
      "memalign internal_memalign size 1",
      "aligned_alloc aligned_alloc size 1",
      "reallocarray __reallocarray pointer 0 count 1 size 2",
    ]);
  });

  it("folds what only passes on, and nothing that decides a size or changes the pointer", () => {
    expect(namesOf(family, plan.wrappers)).toEqual(["xfree", "xmalloc"]);
  });

  it("counts what only the allocator calls as part of it", () => {
    const internals = namesOf(family, plan.internals);
    expect(internals).toEqual(
      expect.arrayContaining(["dispose_chunk", "sbrk", "std::get_new_handler()", "malloc"]),
    );
    for (const name of ["exercise", "make_pair", "with_header", "pool_get", "strlen"])
      expect(internals).not.toContain(name);
  });

  it("finds the same work horses without any name, and the rest of the family as wrappers of them", () => {
    const stripped = findAllocator(withoutNames(family));
    expect(stripped.how).toBe("structure");
    expect(stripped.needsConfirmation).toBe(true);
    const found = stripped.functions.map(({ role, index }) => `${role} ${namesOf(family, [index])}`);
    expect(found).toEqual([
      "malloc dlmalloc",
      "free dlfree",
      "calloc calloc",
      "realloc realloc",
      "memalign internal_memalign",
    ]);
    expect(namesOf(family, stripped.wrappers)).toEqual(
      expect.arrayContaining([
        "malloc",
        "free",
        "posix_memalign",
        "aligned_alloc",
        "operator new(unsigned long)",
        "xmalloc",
      ]),
    );
    expect(namesOf(family, stripped.wrappers)).not.toContain("make_pair");
    expect(namesOf(family, stripped.wrappers)).not.toContain("with_header");
    expect(namesOf(family, stripped.sharedHelpers)).toEqual(["memcpy", "memset"]);
  });
});

describe("wrappers", () => {
  const wrappersOf = (functions: string) => {
    const module = moduleFromText(`(module ${BUMP} ${functions})`);
    return namesOf(module, findAllocator(module).wrappers);
  };

  it("are folded one over the other", () => {
    expect(
      wrappersOf(`
        (func $safe (param i32) (result i32) (local $p i32)
          (local.tee $p (call $malloc (local.get 0)))
          (if (i32.eqz) (then unreachable))
          (local.get $p))
        (func $with_context (param $context i32) (param $size i32) (result i32) (call $safe (local.get $size)))
        (func $never_empty (param i32) (result i32)
          (call $malloc (select (local.get 0) (i32.const 1) (local.get 0))))
        (func $tail (param i32) (result i32) (return_call $malloc (local.get 0)))
        (func $release (param i32) (if (local.get 0) (then (call $free (local.get 0)))))`),
    ).toEqual(["never_empty", "release", "safe", "tail", "with_context"]);
  });

  it("are not: C++ functions of the program with a new expression, which a profile can guide", () => {
    expect(
      wrappersOf(`
        (func $_Znwm (param i32) (result i32) (call $malloc (local.get 0)))
        (func $_ZNSt9allocatorIcE8allocateEm (param i32) (result i32) (call $_Znwm (local.get 0)))
        (func $_Z5freshISsEPT_i (param i32) (result i32) (call $_Znwm (local.get 0)))
        (func $_Z9passed_oni (param i32) (result i32) (call $_Z5freshISsEPT_i (local.get 0)))
        (func $_Z9on_malloci (param i32) (result i32) (call $malloc (local.get 0)))`),
    ).toEqual(["_Z9on_malloci", "_ZNSt9allocatorIcE8allocateEm"]);
  });

  it("are not: sites, headers, constructors, caches, destructors", () => {
    expect(
      wrappersOf(`
        (func $site (result i32) (call $malloc (i32.const 24)))
        (func $array (param i32) (result i32) (call $malloc (i32.shl (local.get 0) (i32.const 2))))
        (func $header (param i32) (result i32) (i32.add (call $malloc (local.get 0)) (i32.const 8)))
        (func $construct (param i32) (result i32) (local $p i32)
          (i32.store (local.tee $p (call $malloc (local.get 0))) (i32.const 7))
          (local.get $p))
        (func $cached (param i32) (result i32)
          (if (result i32) (i32.load (i32.const 0))
            (then (i32.load (i32.const 0))) (else (call $malloc (local.get 0)))))
        (func $destroy (param i32) (call $free (i32.load (local.get 0))) (call $free (local.get 0)))`),
    ).toEqual([]);
  });
});

describe("internals", () => {
  const planOf = (functions: string) => {
    const module = moduleFromText(`(module ${BUMP} ${functions})`);
    return { module, plan: findAllocator(module) };
  };

  it("take in what only the allocator calls, not what others call or can reach", () => {
    const { module, plan } = planOf(`
      (func $realloc (export "realloc") (param i32 i32) (result i32)
        (call $split) (call $shared) (call $exported) (call $in_table) (call $copy (i32.const 0) (i32.const 0) (i32.const 0)) (drop)
        (local.get 0))
      (func $split (call $deep))
      (func $deep (drop (call $malloc (i32.const 1))))
      (func $shared)
      (func $exported (export "exported"))
      (func $in_table)
      (table 1 funcref)
      (elem (i32.const 0) $in_table)
      (func $copy (param i32 i32 i32) (result i32)
        (loop $again (i32.store8 (local.get 0) (i32.load8_u (local.get 1))) (br_if $again (i32.const 0)))
        (local.get 0))
      (func $main (export "main")
        (call $shared)
        (drop (call $copy (i32.const 0) (i32.const 8) (i32.const 8))))`);
    expect(namesOf(module, plan.internals)).toEqual(["bump", "deep", "free", "malloc", "realloc", "split"]);
    expect(namesOf(module, plan.sharedHelpers)).toEqual(["copy"]);
  });

  it("never take in a function by name whose allocations would go unseen", () => {
    const { module, plan } = planOf(`
      (func $sbrk (param i32) (result i32) (call $malloc (local.get 0)) (drop) (i32.const 8))
      (func $main (export "main") (drop (call $sbrk (i32.const 1))))`);
    expect(namesOf(module, plan.internals)).not.toContain("sbrk");
  });
});

describe("the rest of a family of which only malloc and free are known", () => {
  /** malloc and free that share three static addresses; those of dlmalloc share dozens. */
  const family = (functions: string) => {
    const touch =
      "(i32.store (i32.const 2048) (i32.add (i32.load (i32.const 2056)) (i32.load (i32.const 2064))))";
    const module = moduleFromText(
      `(module (memory 1)
        (func (export "malloc") (param i32) (result i32) ${touch} (i32.const 4096))
        (func (export "free") (param i32) ${touch})
        ${functions.replaceAll("TOUCH", touch)}
        (func $fill (param i32 i32 i32) (loop $again (i32.store8 (local.get 0) (local.get 1)) (br_if $again (i32.const 0)))))`,
      { names: false },
    );
    return pictureOf(findAllocator(module)).slice(2);
  };

  it("calloc asks for a product and fills it", () => {
    const calloc = `(func (param i32 i32) (result i32) (local $p i32)
      (call $fill (local.tee $p (call 0 (i32.mul (local.get 0) (local.get 1)))) (i32.const 0) (i32.const 8))
      (local.get $p))`;
    expect(family(calloc)).toEqual(["calloc #2 count 0 size 1"]);
  });

  it("realloc passes on the old block to free and the size to malloc", () => {
    const realloc = (touch: string) => `(func (param i32 i32) (result i32) (local $p i32)
      ${touch} (if (i32.load (i32.const 0)) (then (return (local.get 0))))
      (local.set $p (call 0 (local.get 1))) (call 1 (local.get 0)) (local.get $p))`;
    expect(family(realloc("TOUCH"))).toEqual(["realloc #2 pointer 0 size 1"]);
    // A function that never accesses the allocator's own state belongs to the program.
    expect(family(realloc(""))).toEqual([]);
  });

  it("realloc inlined into a function with a header of its own is hooked with its distances", () => {
    const resize = (
      header: number,
    ) => `(func (param $at i32) (param $size i32) (result i32) (local $block i32) (local $new i32)
      TOUCH
      (local.set $block (i32.sub (local.get $at) (i32.const ${header})))
      (local.set $new (call 0 (i32.add (local.get $size) (i32.const 8))))
      (call 1 (local.get $block))
      (i32.store (local.get $new) (local.get $size))
      (i32.add (local.get $new) (i32.const 8)))`;
    expect(family(resize(8))).toEqual(["realloc #2 pointer 0 size 1 offset -8 size offset 8"]);
    expect(family(resize(16))).toEqual([]);
  });

  it("memalign asks for more and returns a place inside", () => {
    const memalign = `(func (param $alignment i32) (param $size i32) (result i32) TOUCH
      (i32.and (i32.add (call 0 (i32.add (local.get $size) (local.get $alignment))) (local.get $alignment)) (i32.const -64)))`;
    expect(family(memalign)).toEqual(["memalign #2 size 1"]);
  });
});

describe("sources of knowledge", () => {
  it("takes exports where the name section is gone", () => {
    const module = moduleFromText(`(module ${BUMP})`, { names: false });
    const plan = findAllocator(module);
    expect(plan.how).toBe("exports");
    // malloc's callee is private to it. A hook on it would change nothing.
    expect(pictureOf(plan)).toEqual(["malloc malloc size 0", "free free pointer 0"]);
  });

  it("takes glue where exports are shortened", () => {
    const module = withoutNames(moduleFromText(`(module ${BUMP})`));
    const plan = findAllocator(module, { glue: "a._malloc=b.e0;a._free=b.e1;" });
    expect(plan.how).toBe("glue");
    expect(pictureOf(plan)).toEqual(["malloc e0 size 0", "free e1 pointer 0"]);
    expect(findAllocator(module, { glue: "a._malloc=b.e1;a._free=b.e0;" }).how).toBe("none");
  });

  it("hooks the core below malloc where other functions call it directly", () => {
    const module = moduleFromText(
      `(module ${BUMP} (func (export "direct") (param i32) (result i32) (i32.load (call $bump (local.get 0)))))`,
      { names: false },
    );
    const bump = indexOf(module, "malloc") + 1;
    expect(pictureOf(findAllocator(module))).toContain(`malloc #${bump} size 0`);
  });

  it("follows wasm-bindgen's exports to the functions that Rust code calls", () => {
    const rust = (malloc: string, realloc: string, free: string) => `(module
      (memory 1)
      (func $core (param i32) (result i32) (i32.store (i32.const 512) (local.get 0)) (i32.const 1024))
      (func $aligned (param i32 i32) (result i32) (i32.add (call $core (i32.add (local.get 0) (local.get 1))) (i32.const 8)))
      (func $resize (param i32 i32 i32 i32) (result i32) (i32.store (i32.const 512) (local.get 3)) (i32.const 2048))
      (func $release (param i32) (i32.store (i32.const 516) (local.get 0)))
      (func (export "${malloc}") (param $size i32) (param $align i32) (result i32)
        (if (i32.eqz (local.get $size)) (then (return (local.get $align))))
        (if (result i32) (i32.gt_u (local.get $align) (i32.const 8))
          (then (call $aligned (local.get $align) (local.get $size)))
          (else (call $core (local.get $size)))))
      (func (export "${realloc}") (param $old i32) (param $oldSize i32) (param $size i32) (param $align i32) (result i32)
        (call $resize (local.get $old) (local.get $oldSize) (local.get $align) (local.get $size)))
      (func (export "${free}") (param i32 i32 i32) (if (local.get 1) (then (call $release (local.get 0)))))
      (func (export "work") (drop (call $core (i32.const 5))) (call $release (i32.const 1024))))`;
    const expected = [
      "malloc #0 size 0",
      "memalign #1 size 1",
      "rust_realloc #2 pointer 0 size 3",
      "free #3 pointer 0",
    ];

    const named = moduleFromText(rust("__wbindgen_malloc", "__wbindgen_realloc", "__wbindgen_free"), {
      names: false,
    });
    expect(findAllocator(named).how).toBe("wrapper");
    expect(pictureOf(findAllocator(named))).toEqual(expected);
    expect(namesOf(named, findAllocator(named).wrappers)).toEqual([
      "__wbindgen_free",
      "__wbindgen_malloc",
      "__wbindgen_realloc",
    ]);

    const numbered = moduleFromText(
      rust("__wbindgen_export_1", "__wbindgen_export_2", "__wbindgen_export_3"),
      { names: false },
    );
    expect(pictureOf(findAllocator(numbered))).toEqual(expected);

    const withClosure = rust("__wbindgen_export_1", "__wbindgen_export_2", "__wbindgen_export_3").replace(
      /\)$/,
      `(table 1 funcref) (type $closure (func (param i32 i32)))
       (func (export "__wbindgen_export_4") (param i32 i32 i32)
         (call_indirect (type $closure) (local.get 0) (local.get 2) (local.get 1))))`,
    );
    expect(pictureOf(findAllocator(moduleFromText(withClosure, { names: false })))).toEqual(expected);

    const minified = moduleFromText(rust("a", "b", "c"), { names: false });
    expect(findAllocator(minified).how).toBe("none");
    const glue = "const p=u(s,w.a,w.b);try{return d(p,n)}finally{w.c(p,n,1)}";
    expect(pictureOf(findAllocator(minified, { glue }))).toEqual(expected);
  });

  it("follows a release past a check of the block, so that those who release without it are seen", () => {
    const text = (check: string): string => `(module (memory 1)
      (func $panic (param i32) (i32.store (i32.const 8) (local.get 0)))
      (func $check (param $block i32) (param $size i32) ${check}
        (if (i32.lt_u (i32.load (i32.sub (local.get $block) (i32.const 4))) (local.get $size))
          (then (call $panic (i32.const 46)) (unreachable))))
      (func $alloc (param $state i32) (param $size i32) (result i32)
        (i32.store (i32.const 512) (local.get $size)) (i32.const 1024))
      (func $free (param $state i32) (param $block i32) (i32.store (i32.const 516) (local.get $block)))
      (func $dealloc (param $block i32) (param $size i32) (param $align i32)
        (call $check (local.get $block) (local.get $size))
        (call $free (i32.const 64) (local.get $block)))
      (func (export "__wbindgen_malloc") (param $size i32) (param $align i32) (result i32)
        (call $alloc (i32.const 64) (local.get $size)))
      (func (export "__wbindgen_free") (param i32 i32 i32)
        (if (local.get 1) (then (call $dealloc (local.get 0) (local.get 1) (local.get 2)))))
      (func (export "drop") (param i32)
        (call $check (local.get 0) (i32.const 40)) (call $free (i32.const 64) (local.get 0))))`;
    const plan = findAllocator(moduleFromText(text(""), { names: false }));
    expect(pictureOf(plan)).toEqual(["malloc #2 size 1", "free #3 pointer 1"]);
    expect(plan.wrappers).toContain(4);
    // This function also writes to the block, so it does more than read.
    const noting = text("(i32.store (i32.const 12) (local.get $block))");
    expect(pictureOf(findAllocator(moduleFromText(noting, { names: false })))).toContain(
      "rust_dealloc #4 pointer 0",
    );
  });

  it("follows wasm-bindgen's malloc past a check that hands size and alignment back through memory", () => {
    const text = (result: string): string => `(module (memory 1)
      (func $check (param $layout i32) (param $size i32) (param $align i32)
        (i32.store offset=4 (local.get $layout) (local.get $size))
        (i32.store (local.get $layout) (local.get $align)))
      (func $alloc (param $size i32) (param $align i32) (result i32)
        (i32.store (i32.const 512) (local.get $size)) (i32.const 1024))
      (func $resize (param i32 i32 i32 i32) (result i32)
        (i32.store (i32.const 512) (local.get 3)) (i32.const 2048))
      (func $release (param i32) (i32.store (i32.const 516) (local.get 0)))
      (func (export "__wbindgen_export") (param i32 i32 i32)
        (if (local.get 1) (then (call $release (local.get 0)))))
      (func (export "__wbindgen_export2") (param $size i32) (param $align i32) (result i32) (local $n i32)
        (call $check (i32.const 64) (local.get $size) (local.get $align))
        (if (local.tee $n (i32.load (i32.const 68)))
          (then (local.set $align (call $alloc (local.get $n) (i32.load (i32.const 64))))))
        ${result})
      (func (export "__wbindgen_export3") (param i32 i32 i32 i32) (result i32)
        (call $resize (local.get 0) (local.get 1) (local.get 3) (local.get 2)))
      (func (export "work") (drop (call $alloc (i32.const 5) (i32.const 1)))))`;
    const plan = findAllocator(moduleFromText(text("(local.get $align)"), { names: false }));
    expect(pictureOf(plan)).toEqual([
      "rust_alloc #1 size 0",
      "rust_realloc #2 pointer 0 size 3",
      "free #3 pointer 0",
    ]);
    expect(plan.wrappers).toEqual([4, 5, 6]);
    // The header in front of the block makes it a different block than the allocator's.
    const headed = moduleFromText(text("(i32.add (local.get $align) (i32.const 8))"), { names: false });
    expect(pictureOf(findAllocator(headed))).toContain("wbindgen_malloc __wbindgen_export2 size 0");
  });

  it("hooks both levels of a module that mixes Rust and C", () => {
    const module = moduleFromText(`(module ${BUMP}
      (func $__rust_alloc (param $size i32) (param $align i32) (result i32) (call $malloc (local.get $size)))
      (func $__rust_dealloc (param i32 i32 i32) (call $free (local.get 0))))`);
    expect(pictureOf(findAllocator(module))).toEqual([
      "malloc malloc size 0",
      "free free pointer 0",
      "rust_alloc __rust_alloc size 0",
      "rust_dealloc __rust_dealloc pointer 0",
    ]);
  });

  it("takes 64-bit addresses", () => {
    const module = moduleFromText(`(module (memory i64 1)
      (func $malloc (param i64) (result i64) (local.get 0))
      (func $free (param i64))
      (func $posix_memalign (param i64 i64 i64) (result i32) (i32.const 12)))`);
    expect(pictureOf(findAllocator(module))).toEqual([
      "malloc malloc size 0",
      "free free pointer 0",
      "posix_memalign posix_memalign size 2 stored at 0",
    ]);
  });

  it("accepts a complete name section without free: such a program never frees", () => {
    const module = moduleFromText(
      `(module (memory 1) (func $malloc (param i32) (result i32) (i32.const 8)))`,
    );
    const plan = findAllocator(module);
    expect(plan.how).toBe("names");
    expect(plan.notes).toEqual(["The module has no free function: all blocks stay live."]);
  });
});

describe("refusals", () => {
  const sentences = (text: string, names = true) => {
    const plan = findAllocator(moduleFromText(text, { names }));
    expect(plan).toMatchObject({
      how: "none",
      functions: [],
      internals: [],
      wrappers: [],
      needsConfirmation: false,
    });
    return plan.notes.join(" ");
  };

  it("asks for names where nothing is known", () => {
    expect(sentences(`(module (memory 1) (func (export "run")))`)).toBe(
      "No allocator was found: allocations are not tracked. Name the functions with --allocator malloc=NAME|#INDEX,free=NAME|#INDEX.",
    );
  });

  it("has the functions that may allocate, as an allocation function makes the memory larger and several call it", () => {
    const text = `(module (memory 1) (type $size (func (param i32) (result i32)))
      (func $sbrk (type $size) (memory.grow (local.get 0)))
      (func $take (type $size) (call $sbrk (local.get 0)))
      (func $length (type $size) (local.get 0))
      (func (export "a") (drop (call $take (i32.const 1))))
      (func (export "b") (drop (call $take (i32.const 2))) (drop (call $length (i32.const 2))))
      (func (export "c") (drop (call $length (i32.const 2)))))`;
    expect(sentences(text)).toMatch(
      /#INDEX\. Possible allocation functions, by the number of calls: take \(func\[1\]\)\.$/,
    );
  });

  it("sends the reader of a dynamic library to the module that it is loaded into", () => {
    const { bytes } = moduleFromText(
      `(module (import "env" "memory" (memory 1)) (import "env" "palloc" (func (param i32) (result i32))))`,
    );
    const section = [0, 10, 8, ...Buffer.from("dylink.0"), 0];
    const library = decodeModule(
      Uint8Array.from([...bytes.subarray(0, 8), ...section, ...bytes.subarray(8)]),
    );
    expect(findAllocator(library).notes).toEqual([
      expect.stringMatching(/^The module is a dynamic library without an allocator: the module that/),
    ]);
  });

  it("does not track a malloc without its free", () => {
    const text = `(module (memory 1) (func (export "malloc") (param i32) (result i32) (i32.const 8)))`;
    expect(sentences(text, false)).toContain(
      "malloc is malloc (func[0]), but its free function was not found.",
    );
  });

  it("does not take functions of another type for malloc and free", () => {
    expect(
      sentences(
        `(module (memory 1) (func $malloc (param f64) (result i32) (i32.const 8)) (func $free (param f32)))`,
      ),
    ).toContain("No allocator was found");
  });

  it("says whose blocks an imported malloc makes", () => {
    const text = `(module (import "env" "malloc" (func (param i32) (result i32))) (import "env" "free" (func (param i32)))
      (memory 1) (func (export "run")))`;
    expect(sentences(text)).toContain(
      "malloc, free are imported: those blocks are recorded by the module that defines it.",
    );
  });

  it("says that there is no memory", () => {
    expect(sentences(`(module (func (export "run")))`)).toContain("no linear memory");
  });
});

describe("garbage collectors", () => {
  const plain = moduleFromText(`(module ${BUMP})`);
  const text = (value: string) => [value.length, ...new TextEncoder().encode(value)];
  const producers = (language: string) => [1, ...text("language"), 1, ...text(language), ...text("1")];

  it.each([
    ["Go", withCustomSection(plain, "producers", producers("Go"))],
    ["Go", withCustomSection(plain, "go:buildid", [0])],
    ["Go", moduleFromText(`(module (import "gojs" "runtime.wasmExit" (func (param i32))) (memory 1))`)],
    ["TinyGo", withCustomSection(plain, "producers", producers("TinyGo"))],
  ])("%s keeps its own heap", (name, module) => {
    const plan = findAllocator(module);
    expect(plan.how).toBe("none");
    expect(plan.collector).toBe(`${name} has its own garbage collector: only working set and waste apply.`);
    expect(plan.notes).toEqual([plan.collector]);
  });

  it("does not take a broken producers section or a Rust one for Go", () => {
    expect(findAllocator(withCustomSection(plain, "producers", producers("Rust"))).how).toBe("names");
    expect(findAllocator(withCustomSection(plain, "producers", [9, 9, 9])).how).toBe("names");
  });

  it("hooks what the user names all the same", () => {
    const module = withCustomSection(plain, "producers", producers("Go"));
    const plan = findAllocator(module, { allocator: "malloc=malloc,free=free" });
    expect(plan.how).toBe("option");
    expect(plan.collector).toContain("Go");
  });

  it("says that objects of the garbage-collection proposal are outside linear memory", () => {
    const withStruct = { ...plain, types: [...plain.types, { kind: "struct" as const, fields: [] }] };
    expect(findAllocator(withStruct)).toMatchObject({ how: "names" });
    expect(findAllocator(withStruct).collector).toContain("--tool objects records them");
    const withoutMemory = { ...moduleFromText(`(module (func (export "run")))`), types: withStruct.types };
    expect(findAllocator(withoutMemory).collector).toContain(
      "garbage-collected objects and no linear memory",
    );
  });

  it("tracks .NET's native allocations only, and says so", () => {
    const module = moduleFromText(`(module ${BUMP} (func (export "mono_wasm_load_runtime")))`);
    expect(findAllocator(module).how).toBe("names");
    expect(findAllocator(module).collector).toContain(".NET");
  });
});

describe("a function that asks the allocator about a new block before it clears it", () => {
  const text = (freeAsks: boolean): string => `(module (memory 1)
    (global $top (mut i32) (i32.const 1024))
    (func $header (param $block i32) (result i32) (i32.sub (local.get $block) (i32.const 8)))
    (func $malloc (export "malloc") (param $size i32) (result i32)
      (local $block i32)
      (local.set $block (global.get $top))
      (i32.store (call $header (local.get $block)) (local.get $size))
      (global.set $top (i32.add (local.get $block) (i32.add (local.get $size) (i32.const 16))))
      (local.get $block))
    (func $free (export "free") (param $block i32)
      (i32.store ${freeAsks ? "(call $header (local.get $block))" : "(i32.const 64)"} (i32.const 0)))
    (func $alloc_zeroed (param $size i32) (result i32)
      (local $block i32)
      (if (i32.eqz (local.tee $block (call $malloc (local.get $size)))) (then (return (i32.const 0))))
      (if (i32.load (call $header (local.get $block)))
        (then (memory.fill (local.get $block) (i32.const 0) (local.get $size))))
      (local.get $block))
    (func (export "program") (result i32) (call $alloc_zeroed (i32.const 40))))`;

  it("folds, as malloc and free ask the same", () => {
    const module = moduleFromText(text(true));
    expect(namesOf(module, findAllocator(module).wrappers)).toEqual(["alloc_zeroed"]);
  });

  it("is a site, if only malloc asks: that may be the program's own list of blocks", () => {
    expect(findAllocator(moduleFromText(text(false))).wrappers).toEqual([]);
  });
});

describe("damaged modules", () => {
  const bytes = fixture("family.wasm").bytes;

  it("end in a plan or a format error, and in a plan that is sound", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(bytes.length - 9), fc.nat(255)), { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        (changes, keepNames) => {
          const damaged = bytes.slice();
          for (const [at, value] of changes) damaged[at + 8] = value;
          try {
            const decoded = decodeModule(damaged);
            const plan = findAllocator(keepNames ? decoded : withoutNames(decoded));
            const count = decoded.importedFunctionCount + decoded.functions.length;
            for (const { index } of plan.functions) {
              expect(index).toBeGreaterThanOrEqual(decoded.importedFunctionCount);
              expect(index).toBeLessThan(count);
              expect(plan.internals).toContain(index);
              expect(plan.wrappers).not.toContain(index);
            }
          } catch (error) {
            if (!(error instanceof FormatError)) throw error;
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});
