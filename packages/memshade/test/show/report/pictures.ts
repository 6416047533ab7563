/** A program with all problems that a report can find. */
export const DATABASE = `
  main > exec > step > run > nextRow > fetchPage > allocPage                2000 x 4360  life 40000  access 900   peak 1800  live 3  touched 900000
  main > exec > step > run > insertRow > balance > fetchPage > allocPage     400 x 4360  life 38000  access 1900  peak 390  touched 200000
  main > exec > prepare > parse > newExpression                            90000 x 72    life 30     access 12    peak 120
  main > exec > prepare > parse > copyExpression > newExpression@2         12000 x 72    life 90     access 12    peak 20   unread 500
  main > exec > prepare > tokenize(char const*) > std::vector<Token, std::allocator<Token> >::_M_realloc_insert<Token const&>(__gnu_cxx::__normal_iterator<Token*, std::vector<Token> >, Token const&)  25000 x 24  life 1  access 6
  main > loadConfig > newConfig                                                1 x 65536 life 350000             peak 1  live 1  unused 1
  main > zstd!decompress > zstd!newContext                                    12 x 95000 life 9      access 150000  peak 1
  zstd!release > ^malloc                                                       3 x 100   life 700
  main > log > strdup                                                        800 x 40    life 100    access 5  unread 800  live 40
`;

export const TIDY = "main > parse > newNode  1000 x 48  life 12  access 30  peak 7";
