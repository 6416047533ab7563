// A process of its own that takes the marks out of the file that a program shares: it reads and clears them in one step, so none gets
// lost while the program runs. For each byte of its input it hands out one snapshot.
export { memory_open, read_marks } from "./reader";
