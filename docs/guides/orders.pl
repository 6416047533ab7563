# Keeps 50,000 orders, for docs/guides/interpreters.md.
my @history;
sub archive { my ($number) = @_; push @history, { number => $number, text => "order " x 20 . $number }; }
archive($_) for 1 .. 50_000;
print scalar(@history), "\n";
