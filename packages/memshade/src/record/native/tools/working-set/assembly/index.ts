// Program of the mark reader, a process of its own. It reads and clears marks of the shared file in one atomic step, so
// that no mark is lost while the profiled program runs. Each byte of its input requests a snapshot.
export { memory_open, read_marks } from "./reader";
