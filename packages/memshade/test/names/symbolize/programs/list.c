// A freestanding program for wasm, without a library; compiled by the tests, never run.
struct node {
  struct node* next;
  int value;
  char tag;
};

static struct node pool[100];
static int used;

static inline struct node* take(void) { return used < 100 ? &pool[used++] : 0; }

static struct node* push(struct node* head, int value) {
  struct node* node = take();
  if (!node) return head;
  node->next = head;
  node->value = value * 2;
  node->tag = 'a';
  return node;
}

__attribute__((export_name("sum"))) int sum(int count) {
  struct node* head = 0;
  for (int i = 0; i < count; i++) head = push(head, i);
  int total = 0;
  for (; head; head = head->next) total += head->value;
  return total;
}
