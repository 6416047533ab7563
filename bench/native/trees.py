"""Trees that are built and summed up, records of dictionaries, and JSON of them."""
import json


class Node:
    def __init__(self, depth):
        self.children = [Node(depth - 1) for _ in range(4)] if depth else []

    def count(self):
        return 1 + sum(child.count() for child in self.children)


total = sum(Node(6).count() for _ in range(100))
records = [{"id": i, "name": f"record {i}", "tags": [str(j) for j in range(i % 7)]} for i in range(150_000)]
text = json.dumps(records)
again = json.loads(text)
print(total, len(text), sum(len(record["tags"]) for record in again))
