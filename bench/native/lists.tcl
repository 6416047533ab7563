# Dictionaries, lists and strings.
set d [dict create]
for {set i 0} {$i < 1500000} {incr i} {
  dict lappend d key[expr {$i % 1000}] "value $i"
}
set sum 0
dict for {key values} $d {
  foreach value [lsort $values] {incr sum [string length [string toupper $value]]}
}
puts "[dict size $d] $sum"
