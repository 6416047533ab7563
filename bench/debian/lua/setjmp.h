/* Errors end the program: see throw.h. */
