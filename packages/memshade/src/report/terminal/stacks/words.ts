import type { FrameOrigin, StackEnd } from "../../../model/native-stacks.ts";

/** How a frame was found, where it was not by call frame information. */
export function foundByMark(foundBy: FrameOrigin): string {
  switch (foundBy) {
    case "frame-pointer":
      return " [by frame pointer]";
    case "scan":
      return " [guess: by a word on the stack]";
    default:
      return "";
  }
}

/** Why a stack ends, in the manner of GDB; undefined where it simply is complete. */
export function endSentence(end: StackEnd): string | undefined {
  switch (end) {
    case "outermost":
    case "zero":
      return undefined;
    case "memory":
      return "Backtrace stopped: Cannot access memory (the stack is not all there, or damaged)";
    case "no-rule":
      return "Backtrace stopped: no call frame information for this code";
    case "loop":
      return "Backtrace stopped: previous frame inner to this frame (corrupt stack?)";
    case "limit":
      return "(More stack frames follow...)";
  }
}

const SIGNALS: Readonly<Record<number, string>> = {
  1: "SIGHUP, Hangup",
  2: "SIGINT, Interrupt",
  3: "SIGQUIT, Quit",
  4: "SIGILL, Illegal instruction",
  5: "SIGTRAP, Trace/breakpoint trap",
  6: "SIGABRT, Aborted",
  7: "SIGBUS, Bus error",
  8: "SIGFPE, Arithmetic exception",
  9: "SIGKILL, Killed",
  10: "SIGUSR1, User defined signal 1",
  11: "SIGSEGV, Segmentation fault",
  12: "SIGUSR2, User defined signal 2",
  13: "SIGPIPE, Broken pipe",
  14: "SIGALRM, Alarm clock",
  15: "SIGTERM, Terminated",
  24: "SIGXCPU, CPU time limit exceeded",
  25: "SIGXFSZ, File size limit exceeded",
  31: "SIGSYS, Bad system call",
};

/** A Linux signal as GDB calls it. */
export function signalText(signal: number): string {
  return SIGNALS[signal] ?? `${signal}`;
}
