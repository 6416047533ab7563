# A small service in Perl. It has a leak: find it with memshade.
use strict;
use warnings;

my %cache;

sub price {
    my ($item) = @_;
    # No later order uses this key again.
    return $cache{"$item->{name} $item->{order}"} //= length($item->{name}) * 7 % 100;
}

sub take_order {
    my ($number) = @_;
    my $order = { number => $number, items => [] };
    for my $i (1 .. $number % 5 + 1) {
        # Order and item refer to each other: their reference counts never reach 0.
        push @{ $order->{items} }, { name => "item $i", order => $number, of => $order };
    }
    return $order;
}

my $sum = 0;
for my $number (1 .. 4000) {
    my $order = take_order($number);
    $sum += price($_) for @{ $order->{items} };
    my $letter = join "\n", map { sprintf "%-20s %6d", $_->{name}, $number } @{ $order->{items} };
    $sum += length $letter;
}
print "$sum\n";
