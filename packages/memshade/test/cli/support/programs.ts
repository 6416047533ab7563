import { writeFileSync } from "node:fs";
import { join } from "node:path";
import loadWabt from "wabt";

const wabt = await loadWabt();

export function assemble(text: string): Uint8Array<ArrayBuffer> {
  const module = wabt.parseWat("test.wat", text, { threads: true, exceptions: true });
  try {
    return new Uint8Array(module.toBinary({}).buffer);
  } finally {
    module.destroy();
  }
}

export function writeProgram(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, assemble(text));
  return path;
}

/** A bump allocator with the usual function names: blocks start at 4096, 16 bytes apart. */
export const ALLOCATOR = `
  (global $top (mut i32) (i32.const 4096))
  (func $malloc (export "malloc") (param $size i32) (result i32)
    (local $block i32)
    (local.set $block (global.get $top))
    (global.set $top (i32.add (global.get $top)
      (i32.and (i32.add (local.get $size) (i32.const 31)) (i32.const -16))))
    (local.get $block))
  (func $free (export "free") (param i32))`;

/** A library that allocates and touches `count` blocks of 24 bytes, and can be kept busy forever. */
export const LIBRARY = `(module
  (import "host" "notify" (func $notify (param i32)))
  (memory (export "memory") 2)
  ${ALLOCATOR}
  (func (export "fill") (param $count i32) (result i32)
    (local $block i32)
    (loop $again
      (if (i32.gt_s (local.get $count) (i32.const 0)) (then
        (local.set $block (call $malloc (i32.const 24)))
        (i32.store (local.get $block) (local.get $count))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $again))))
    (local.get $block))
  (func (export "spin")
    (call $notify (call $malloc (i32.const 40)))
    (loop $for_good (br $for_good)))
  (func (export "trap") (drop (call $malloc (i32.const 8))) unreachable)
  (func (export "answer") (param i32 i32) (result i32) (i32.const 42)))`;

/** An invalid module: its code refers to a local that only tools add. */
export const READS_A_LOCAL_TOO_MANY = `(module
  (memory (export "memory") 2)
  ${ALLOCATOR}
  (func (export "_start") (i32.store (local.get 0) (i32.const 1))))`;

export function wasiProgram(body: string): string {
  return `(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 8)
  (data (i32.const 1024) "ready\\n")
  ${ALLOCATOR}
  (func $write (param $from i32) (param $bytes i32)
    (i32.store (i32.const 0) (local.get $from))
    (i32.store (i32.const 4) (local.get $bytes))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func $say_ready (call $write (i32.const 1024) (i32.const 6)))
  (func $leak (param $bytes i32)
    (i32.store (call $malloc (local.get $bytes)) (i32.const 7)))
  (func (export "_start") ${body}))`;
}

/** Copies standard input to standard output, as many bytes at a time as the system provides. */
export const COPY_INPUT = wasiProgram(`
    (local $read i32)
    (call $leak (i32.const 100))
    (block $end (loop $more
      (i32.store (i32.const 16) (i32.const 65536))
      (i32.store (i32.const 20) (i32.const 65536))
      (drop (call $fd_read (i32.const 0) (i32.const 16) (i32.const 1) (i32.const 24)))
      (local.set $read (i32.load (i32.const 24)))
      (br_if $end (i32.eqz (local.get $read)))
      (call $write (i32.const 65536) (local.get $read))
      (br $more)))`);

/** Reports that it is ready and never ends. */
export const SPIN = wasiProgram(`
    (call $leak (i32.const 64))
    (call $say_ready)
    (loop $for_good (br $for_good))`);

export const EXIT_7 = wasiProgram(`
    (call $leak (i32.const 16))
    (call $proc_exit (i32.const 7))`);

export const TRAP = wasiProgram(`
    (call $leak (i32.const 16))
    unreachable`);

export const RECURSE = `(module
  (memory (export "memory") 2)
  ${ALLOCATOR}
  (func $down (param i32) (result i32)
    (drop (call $malloc (i32.const 8)))
    (i32.add (call $down (i32.add (local.get 0) (i32.const 1))) (i32.const 1)))
  (func (export "_start") (drop (call $down (i32.const 0)))))`;

export function manySites(count: number): string {
  const site = "(call $free (call $malloc (i32.const 32)))";
  return wasiProgram(site.repeat(count));
}
