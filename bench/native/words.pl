# Words of a text that is made up, counted and sorted: hashes, arrays and strings.
use strict;
my ($seed, %count, @lines) = (1);
for my $line (1 .. 600_000) {
  my @words = map { $seed = ($seed * 1103515245 + 12345) % 2147483648; "word" . ($seed >> 16) % 5000 } 1 .. 8;
  push @lines, join " ", @words if $line % 10 == 0;
  $count{$_}++ for @words;
}
my @most = (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count)[0 .. 4];
print "$_ $count{$_}\n" for @most;
print scalar(@lines), " lines, ", length(join "\n", map { ucfirst } @lines), " characters\n";
