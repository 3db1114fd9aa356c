// SPDX-License-Identifier: BSD-3-Clause
// Pictures per second of onnxruntime-node: runs on tensors that are there, without decoding and resizing.
//   node networks_peer.cjs MODULE MODEL SIDE RUNS THREADS TOGETHER BATCH       prints {"seconds", "pictures", "cpu"}
"use strict";
const ort = require(process.argv[2]);
const [, , , model, side, runs, threads, together, batch] = process.argv;

async function main() {
  const session = await ort.InferenceSession.create(model, { intraOpNumThreads: +threads, interOpNumThreads: 1 });
  const metadata = session.inputMetadata ? session.inputMetadata[0] : null;
  const bytes = !metadata || metadata.type === "uint8";
  const n = +batch * side * side * 3;
  const data = bytes ? new Uint8Array(n).map((_, i) => (i * 7919) % 256) : new Float32Array(n).map((_, i) => Math.sin(i));
  const dims = bytes ? [+batch, +side, +side, 3] : [+batch, 3, +side, +side];
  const feeds = () => ({ [session.inputNames[0]]: new ort.Tensor(bytes ? "uint8" : "float32", data, dims) });
  const output = session.outputNames.filter((name) => name.startsWith("feat")).concat(session.outputNames)[0];
  let left = Math.ceil(+runs / +batch);
  const worker = async () => { while (left-- > 0) await session.run(feeds(), [output]); };
  await session.run(feeds(), [output]);
  const total = left * +batch, before = process.cpuUsage(), start = process.hrtime.bigint();
  await Promise.all(Array.from({ length: +together }, worker));
  const seconds = Number(process.hrtime.bigint() - start) / 1e9, cpu = process.cpuUsage(before);
  console.log(JSON.stringify({ seconds, pictures: total, cpu: (cpu.user + cpu.system) / 1e6 }));
}
main();
