# Read by gdb: stops a program at allocations, and writes a line of JSON per stop with the stack that gdb finds and the one that was
# recorded. `stops` is set before: paths, numbers of the layout, and how often to stop.
import gdb
import json
import random
import re
import struct

chance = random.Random(stops["seed"])
layout = stops["layout"]
out = open(stops["out"], "w")


def base_of_memory(inferior):
    """Where the process has mapped what it shares; None: nowhere yet."""
    with open("/proc/%d/maps" % inferior.pid) as maps:
        for line in maps:
            if stops["memory"] in line:
                return int(line.split("-")[0], 16) + 0x10000
    return None


def read(at, length):
    return bytes(gdb.selected_inferior().read_memory(at, length))


def word(at, form):
    return struct.unpack(form, read(at, struct.calcsize(form)))[0]


def recorded(base, thread):
    """The last stack of a thread as the runtime has it: return addresses, innermost first, the end, and the sites of its context."""
    count = word(base + layout["threadCount"], "<I")
    for index in range(count):
        at = base + layout["threads"] + index * layout["threadBytes"]
        if word(at + layout["threadId"], "<I") != thread:
            continue
        frames = word(at + layout["threadFrames"], "<I")
        stack = read(at + layout["threadStack"], frames * layout["frameBytes"])
        entries = [stack[i * layout["frameBytes"] :] for i in range(frames)]
        addresses = [struct.unpack_from("<Q", one, layout["frameAddress"])[0] for one in entries]
        sites = []
        if frames > 0 and word(at + layout["threadSettled"], "<I") == frames:
            node = struct.unpack_from("<I", entries[-1], layout["frameSite"])[0]
            while node != layout["root"]:
                sites.append(word(base + node + layout["nodeSite"], "<I"))
                node = word(base + node + layout["nodeParent"], "<I")
        return addresses[::-1], word(at + layout["threadEnd"], "<I"), sites
    return None, None, None


def places(base, sites):
    """Addresses in the process of sites."""
    modules = []
    for index in range(word(base + layout["moduleCount"], "<I")):
        at = base + layout["modules"] + index * layout["moduleBytes"]
        start, end = struct.unpack("<QQ", read(at, 16))
        first = word(at + layout["moduleSite"], "<I")
        modules.append((first, first + end - start, start))
    return [next((start + site - first for first, end, start in modules if first <= site < end), site) for site in sites]


def real(frame):
    """The next frame outwards that has a return address of its own, from this one on."""
    while frame is not None and frame.type() in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
        frame = frame.older()
    return frame


def stack_of_gdb():
    """What called the hook: its pc, kind, function and object, from the innermost frame on; and the frame of the hook."""
    frame = gdb.newest_frame()
    hook = None
    while frame is not None and not is_ours(frame):
        frame = frame.older()
    while frame is not None and is_ours(frame):
        hook = frame
        frame = frame.older()
    frames = []
    frame = real(frame)
    while frame is not None:
        frames.append([frame.pc(), frame.type(), frame.name() or "", gdb.solib_name(frame.pc()) or ""])
        frame = real(frame.older())
    return hook, frames


def is_ours(frame):
    return (gdb.solib_name(frame.pc()) or "").endswith("/memshade.so")


def arm():
    at = int(gdb.parse_and_eval("(long)&stop_after"))
    gap = chance.randint(1, 2 * stops["gap"] - 1)
    gdb.selected_inferior().write_memory(at, struct.pack("<q", gap))


def run():
    gdb.execute("tbreak stop_begin")
    gdb.execute("run")
    arm()
    gdb.execute("continue")
    done = 0
    while done < stops["count"]:
        inferior = gdb.selected_inferior()
        if inferior.pid == 0:
            break
        base = base_of_memory(inferior)
        hook, frames = stack_of_gdb()
        if base is None or hook is None or not frames:
            arm()
            gdb.execute("continue")
            continue
        unrecorded = word(base + layout["unrecorded"], "<Q")
        thread = gdb.selected_thread()
        lwp = thread.ptid[1]
        # Where the hook returns to, this thread comes by first on the way out of it.
        end = gdb.Breakpoint("*%d" % frames[0][0], internal=True, temporary=True)
        end.thread = thread.num
        gdb.execute("continue")
        if gdb.selected_inferior().pid == 0:
            break
        thread.switch()
        addresses, end, sites = recorded(base, lwp)
        line = {
            "gdb": frames,
            "recorded": addresses,
            "end": end,
            "context": places(base, sites or []),
            "unrecorded": word(base + layout["unrecorded"], "<Q") != unrecorded,
        }
        out.write(json.dumps(line) + "\n")
        done += 1
        arm()
        gdb.execute("continue")
    if gdb.selected_inferior().pid != 0:
        gdb.execute("kill")


try:
    run()
finally:
    out.close()
