/**
 * Functions of the module with more bytes than this are large: nothing is added to them that only saves time, for engines take
 * time and memory for what they compile in proportion to the function, and at each branch to all of its locals besides.
 */
export const LARGE_FUNCTION_BYTES = 128 * 1024;
