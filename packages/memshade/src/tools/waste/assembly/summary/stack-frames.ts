// Frames of usual sizes: each has a function of its own for the beginning and for the end, without loops, which takes the place of
// setting the stack pointer where the code shows by how much that moves it. What the code does not show, as where the stack really
// is, is looked at first; whatever is unusual goes the way of all other moves.
import { stackMoved } from "./blocks";
import { endBytes, invalidate, isGone } from "./bytes";
import { COVERED, setStackPointer, stackPointer } from "../imports";

/** As a rule what was there has ended before. */
@inline
function begin(to: u32, size: u32): void {
  if (stackPointer() - to !== size || to >= COVERED - size) stackMoved(stackPointer(), to);
  else if (!isGone(to, size)) invalidate(to, size);
  setStackPointer(to);
}

@inline
function end(to: u32, size: u32): void {
  const from = to - size;
  if (stackPointer() !== from || from >= COVERED - size) stackMoved(stackPointer(), to);
  else endBytes(from, size);
  setStackPointer(to);
}

export function moved(to: u32): void {
  stackMoved(stackPointer(), to);
  setStackPointer(to);
}

export function began16(to: u32): void {
  begin(to, 16);
}
export function began32(to: u32): void {
  begin(to, 32);
}
export function began48(to: u32): void {
  begin(to, 48);
}
export function began64(to: u32): void {
  begin(to, 64);
}
export function began80(to: u32): void {
  begin(to, 80);
}
export function began96(to: u32): void {
  begin(to, 96);
}
export function began112(to: u32): void {
  begin(to, 112);
}
export function began128(to: u32): void {
  begin(to, 128);
}
export function ended16(to: u32): void {
  end(to, 16);
}
export function ended32(to: u32): void {
  end(to, 32);
}
export function ended48(to: u32): void {
  end(to, 48);
}
export function ended64(to: u32): void {
  end(to, 64);
}
export function ended80(to: u32): void {
  end(to, 80);
}
export function ended96(to: u32): void {
  end(to, 96);
}
export function ended112(to: u32): void {
  end(to, 112);
}
export function ended128(to: u32): void {
  end(to, 128);
}
