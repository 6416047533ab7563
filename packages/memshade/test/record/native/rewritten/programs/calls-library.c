// Has a library print the sums of `code-read.c`.
int print_sums(const char *what);
int main(int count, char **arguments) { return print_sums(arguments[count - 1]); }
