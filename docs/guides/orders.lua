-- Keeps 50,000 orders, for docs/guides/interpreters.md.
local history = {}
local function archive(number) history[#history + 1] = { number = number, text = ("order "):rep(20) .. number } end
for number = 1, 50000 do archive(number) end
print(#history)
