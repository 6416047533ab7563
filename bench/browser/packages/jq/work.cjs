/** Queries a made-up document. */
const workWithJq = async (jq) => {
  const { json, raw } = await jq;
  const rows = Array.from({ length: 400 }, (_, i) => ({ id: i, city: `city ${i % 7}`, tags: [i % 3, i % 5] }));
  const groups = json({ rows }, '.rows | group_by(.city) | map({city: .[0].city, sum: map(.id) | add})');
  return `${JSON.stringify(groups)} ${raw(JSON.stringify(rows), "[.[].tags[]] | unique | length", ["-c"])}`;
};
if (typeof module === "object") module.exports = workWithJq;
