# Objects that are made, grouped and added up.
[range(120000) | {id: ., group: "g\(. % 100)", values: [., . * 2, "v\(.)"]}]
| group_by(.group)
| map({group: .[0].group, count: length, sum: (map(.values[1]) | add), last: (.[-1] | tostring | length)})
| sort_by(-.sum)
| .[0:3][]
