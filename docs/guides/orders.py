# Keeps 50,000 orders, for docs/guides/interpreters.md.
import zlib

history = []


def archive(number):
    history.append({"number": number, "text": "order " * 20 + str(number)})


for number in range(50_000):
    archive(number)
packed = zlib.compress(repr(history).encode())
print(len(history), len(packed) > 0)
