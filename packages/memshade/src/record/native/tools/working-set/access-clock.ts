import {
  Assembler,
  place,
  R8,
  R9,
  R10,
  R11,
  RAX,
  RCX,
  RDI,
  RDX,
  RSI,
  relative,
} from "../../../../code/x64/index.ts";
import { int32, placeBytes } from "../../../../code/x64/operands.ts";
import { LEAVE_RED_ZONE, SKIP_RED_ZONE } from "../../rewrite/insertion/red-zone.ts";
import type { InsertedDistance } from "../../rewrite/plan.ts";
import { systemCall } from "../../start/system-calls.ts";
import { Clock, PATIENCE, SHARED } from "./layout.ts";

const FUTEX = 202;
const [WAIT, WAKE] = [0, 1];
const TIMED_OUT = -110;
/** More accesses than any program makes. */
const FOREVER = 2n ** 62n;
const [CALL, JUMP] = [0xe8, 0xe9];
const IF_NEGATIVE = [0x0f, 0x88];
const SUBTRACT_PLACE = 5;
/** What system calls take and overwrite. */
const KEPT = [RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11];

const left = place(undefined, SHARED + Clock.left);
const isWatched = place(undefined, SHARED + Clock.isWatched);
const asked = place(undefined, SHARED + Clock.asked);
const answered = place(undefined, SHARED + Clock.answered);

/** Calls the routine, and goes on. */
const WAIT_AND_RETURN = [...SKIP_RED_ZONE, CALL, ...int32(0), ...LEAVE_RED_ZONE, JUMP, ...int32(0)];

/** Takes accesses off those that are left of an interval, and calls the routine where none are. Overwrites the flags. */
export function countDown(accesses: number): {
  bytes: number[];
  cold: readonly number[];
  distances: InsertedDistance[];
} {
  const isShort = accesses < 128;
  const subtraction = [
    0x48,
    isShort ? 0x83 : 0x81,
    ...placeBytes(left, SUBTRACT_PLACE),
    ...(isShort ? [accesses] : int32(accesses)),
  ];
  const bytes = [...subtraction, ...IF_NEGATIVE, ...int32(0)];
  return {
    bytes,
    cold: WAIT_AND_RETURN,
    distances: [
      { part: "bytes", at: bytes.length - 4, tail: 0, to: "cold", offset: 0 },
      { part: "cold", at: SKIP_RED_ZONE.length + 1, tail: 0, to: "common", offset: 0 },
      { part: "cold", at: WAIT_AND_RETURN.length - 4, tail: 0, to: "bytes", offset: bytes.length },
    ],
  };
}

/** Waits until somebody has ended the interval, once in a file. Overwrites the flags. */
export function awaitNextInterval(): Uint8Array {
  const asm = new Assembler();
  const [again, alone, done] = [asm.label(), asm.label(), asm.label()];
  for (const register of KEPT) asm.put("push", 8, register);
  asm.bind(again);
  asm.put("cmp", 4, isWatched, 0);
  asm.jump(alone, "e");
  asm.put("mov", 4, RDX, answered);
  asm.put("cmp", 8, left, 0);
  asm.jump(done, "ge");
  asm.put("mov", 4, asked, 1);
  asm.put("push", 8, RDX);
  asm.put("mov", 4, RDI, SHARED + Clock.asked);
  asm.put("mov", 4, RSI, WAKE);
  asm.put("mov", 4, RDX, 1);
  systemCall(asm, FUTEX);
  asm.put("pop", 8, RDX);
  asm.put("mov", 4, RDI, SHARED + Clock.answered);
  asm.put("mov", 4, RSI, WAIT);
  asm.put(
    "lea",
    8,
    R10,
    relative(asm.literal(Uint8Array.from([...int32(PATIENCE), ...new Array(12).fill(0)]))),
  );
  systemCall(asm, FUTEX);
  asm.put("cmp", 8, RAX, TIMED_OUT);
  asm.jump(again, "ne");
  asm.put("mov", 4, isWatched, 0);
  asm.bind(alone);
  asm.put("movabs", 8, RAX, FOREVER);
  asm.put("mov", 8, left, RAX);
  asm.bind(done);
  for (const register of KEPT.toReversed()) asm.put("pop", 8, register);
  asm.put("ret", 8);
  return asm.finish().bytes;
}
