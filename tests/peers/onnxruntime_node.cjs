// SPDX-License-Identifier: BSD-3-Clause
// Runs models on tensors that network_tensors wrote, whole and by onnxruntime-node, and compares with the rows it made:
//   node onnxruntime_node.cjs MODULE FOLDER < lines of network_tensors
// The largest difference must be below 1e-5 of the largest value: graphs are rewritten for other outputs, sums have
// another order.
"use strict";
const fs = require("fs");
const ort = require(process.argv[2]);
const folder = process.argv[3];

// What a layer becomes: a vector stays, of tokens the first, of a map the mean of its places.
function pooled(tensor) {
  const [, a, b, c] = tensor.dims;
  if (tensor.dims.length === 2) return Array.from(tensor.data);
  if (tensor.dims.length === 3) return Array.from(tensor.data.slice(0, b));
  const out = [];
  for (let i = 0; i < a; ++i) out.push(tensor.data.slice(i * b * c, (i + 1) * b * c).reduce((s, x) => s + x, 0) / (b * c));
  return out;
}

async function compare(line, k) {
  const about = JSON.parse(line);
  const session = await ort.InferenceSession.create(about.model, { intraOpNumThreads: 1 });
  const all = fs.readFileSync(`${folder}/${k}.in`), rows = fs.readFileSync(`${folder}/${k}.out`);
  const ours = new Float32Array(rows.buffer.slice(rows.byteOffset, rows.byteOffset + rows.length));
  const size = all.length / about.count;
  let most = 0, difference = 0;
  for (let i = 0; i < about.count; ++i) {
    const bytes = all.buffer.slice(all.byteOffset + i * size, all.byteOffset + (i + 1) * size);
    const data = about.bytes ? new Uint8Array(bytes) : new Float32Array(bytes);
    const tensor = new ort.Tensor(about.bytes ? "uint8" : "float32", data, about.dims);
    const result = await session.run({ [about.input]: tensor }, [about.layer]);
    const theirs = pooled(result[about.layer]);
    if (theirs.length !== about.values) throw new Error(`${about.model}: ${theirs.length} values, ours ${about.values}`);
    theirs.forEach((x, j) => {
      most = Math.max(most, Math.abs(x));
      difference = Math.max(difference, Math.abs(x - ours[i * about.values + j]));
    });
  }
  const relative = difference / most;
  console.log(`${about.model.split("/").pop()}: ${about.count} pictures, ${about.values} values, largest difference ${relative.toExponential(1)}`);
  return most > 0 && relative <= 1e-5;
}

async function main() {
  const lines = fs.readFileSync(0, "utf8").trim().split("\n");
  let fine = lines.length > 0;
  for (let k = 0; k < lines.length; ++k) fine = (await compare(lines[k], k)) && fine;
  process.exit(fine ? 0 : 1);
}
main().catch((e) => { console.error(e.message); process.exit(1); });
