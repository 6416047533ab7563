// Finds the host's callers of the module. A request for the host's stack takes as long as thousands of
// allocations. So most entries of a kind are left out once some are known. The choice is random but the same
// in every run.
import { HostSite, STACK_FRAME_BYTES, StackFrame } from "../../../contexts/assembly/layout.generated";
import { HOST_ENTRIES, HOST_STACKS, STACK, askHost } from "./imports";
import { HOST_KIND_BYTES, HOST_KINDS, HOST_PATHS, HostEntries, HostKind } from "./layout.generated";

/**
 * Requests in the whole run before entries are left out. A sample of few entries contradicts itself, and that
 * many requests are cheap.
 */
const FREELY_ASKED: u32 = 2048;
/** Least number of requests in each stage of a kind. The next stage requests a quarter as many entries. */
const FEWEST_PER_STAGE: u32 = 32;
/**
 * Requests in a stage for each caller beyond the first. The error of a sample grows with the square root of
 * callers / requests.
 */
const ASKED_PER_CALLER: u32 = 128;
/** First stage in which `ASKED_PER_CALLER` applies, because few entries are requested. */
const FIRST_SPARSE_STAGE: u32 = 2;
const LAST_STAGE: u32 = 14;
/** Requests for each path that was not seen before, whatever the stage. */
const ASKED_OUT_OF_TURN: u32 = 4;
const FIRST_RANDOM: u32 = 0x9e3779b9;

@inline
export function isHostSite(site: u32): boolean {
  return site >>> 31 !== 0;
}

/** True if an entry was settled without a request for its caller. */
@inline
function isLeftOut(site: u32): boolean {
  return isHostSite(site) && site !== HostSite.unsettled && (site & HostSite.numberMask) === 0;
}

/**
 * Returns the call site in the frame at `at` of a stack up to `frame`. An entry of the host is settled first.
 */
export function siteOf(at: u32, frame: u32): u32 {
  const site = load<u32>(at, StackFrame.site);
  if (HOST_STACKS === 0 || site !== HostSite.unsettled) return site;
  const settled = settle(at, frame);
  store<u32>(at, settled, StackFrame.site);
  return settled;
}

/**
 * Requests the caller of the innermost entry that was left out, if the path from there to `frame` is rare.
 * Calls of a kind have their first allocation in common, but the code behind it may run rarely. False if
 * nothing changed.
 */
export function askOutOfTurn(frame: u32): boolean {
  let at = frame;
  while (at >= STACK && !isHostSite(load<u32>(at, StackFrame.site))) at -= STACK_FRAME_BYTES;
  if (at < STACK || !isLeftOut(load<u32>(at, StackFrame.site))) return false;
  const counter: usize = HOST_ENTRIES + HostEntries.paths + ((pathHash(at, frame) >>> 7) & (HOST_PATHS - 1));
  const requests: u32 = load<u8>(counter);
  if (requests >= ASKED_OUT_OF_TURN) return false;
  store<u8>(counter, requests + 1);
  const site = ask(at, frame, 0);
  if ((site & HostSite.numberMask) === HostSite.unknown) return false;
  // The entry may be older than the counter, which is reset when ended blocks are cleared.
  if (load<u32>(HOST_ENTRIES, HostEntries.leftOut) !== 0) count(HostEntries.leftOut, -1);
  store<u32>(at, site, StackFrame.site);
  for (; at <= frame; at += STACK_FRAME_BYTES) store<u32>(at, 0, StackFrame.node);
  return true;
}

function settle(at: u32, frame: u32): u32 {
  if (HOST_STACKS === 2) return ask(at, frame, 0);
  const kind: usize =
    HOST_ENTRIES + HostEntries.kinds + (pathHash(at, frame) & (HOST_KINDS - 1)) * HOST_KIND_BYTES;
  const skip = load<u32>(kind, HostKind.skip);
  let stage: u32 = load<u16>(kind, HostKind.stage);
  if (skip !== 0) {
    store<u32>(kind, skip - 1, HostKind.skip);
    count(HostEntries.leftOut, 1);
    return HostSite.unsettled | (stage << HostSite.stageShift);
  }
  const site = ask(at, frame, stage);
  if ((site & HostSite.numberMask) === HostSite.unknown) return site;
  let requests: u32 = <u32>load<u16>(kind, HostKind.asked) + 1;
  if (requests >= enoughFor(kind, site & HostSite.numberMask, stage) && stage < LAST_STAGE) {
    requests = 0;
    stage++;
    store<u16>(kind, <u16>stage, HostKind.stage);
  }
  store<u16>(kind, <u16>min<u32>(requests, 0xffff), HostKind.asked);
  store<u32>(kind, stage === 0 ? 0 : random() % ((2 << (2 * stage)) - 1), HostKind.skip);
  return site;
}

/**
 * Returns how many entries of a kind are to be requested in this stage. `caller`: number of the caller that
 * was found just now.
 */
function enoughFor(kind: usize, caller: u32, stage: u32): u32 {
  const callers = load<u64>(kind, HostKind.callers) | ((<u64>1) << ((caller * 0x9e3779b1) >>> 26));
  store<u64>(kind, callers, HostKind.callers);
  if (stage === 0 && load<u32>(HOST_ENTRIES, HostEntries.asked) < FREELY_ASKED) return u32.MAX_VALUE;
  if (stage < FIRST_SPARSE_STAGE) return FEWEST_PER_STAGE;
  return max(FEWEST_PER_STAGE, (<u32>popcnt<u64>(callers) - 1) * ASKED_PER_CALLER);
}

function ask(at: u32, frame: u32, stage: u32): u32 {
  let above: u32 = 0;
  for (let next = at + STACK_FRAME_BYTES; next <= frame; next += STACK_FRAME_BYTES)
    if (isHostSite(load<u32>(next, StackFrame.site))) above++;
  store<u32>(HOST_ENTRIES, above, HostEntries.above);
  store<u32>(HOST_ENTRIES, HostSite.unknown, HostEntries.answer);
  const number: u32 = askHost() === 0 ? HostSite.unknown : load<u32>(HOST_ENTRIES, HostEntries.answer);
  if (number === HostSite.unknown) return HostSite.unsettled | number;
  count(HostEntries.asked, 1);
  return HostSite.unsettled | (stage << HostSite.stageShift) | number;
}

@inline
function count(field: u32, change: i32): void {
  store<u32>(HOST_ENTRIES + field, load<u32>(HOST_ENTRIES + field) + change);
}

/** Hashes the calls between the frame of an entry and the next entry, or the newest frame. */
function pathHash(at: u32, frame: u32): u32 {
  let hash: u32 = 0;
  for (let next = at + STACK_FRAME_BYTES; next <= frame; next += STACK_FRAME_BYTES) {
    const site = load<u32>(next, StackFrame.site);
    if (isHostSite(site)) break;
    hash = (hash ^ site) * 0x9e3779b1;
    hash ^= hash >>> 15;
  }
  return hash;
}

function random(): u32 {
  let state = load<u32>(HOST_ENTRIES, HostEntries.random);
  if (state === 0) state = FIRST_RANDOM;
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  store<u32>(HOST_ENTRIES, state, HostEntries.random);
  return state;
}
